// Schema of the state file: tables and version.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "daemon/store/database.h"

namespace fabric::store {

inline constexpr std::int32_t kApplicationId = 0x66616272;  // "fabr", in the file's header
inline constexpr std::int32_t kSchemaVersion = 10;          // In user_version

// Step i migrates version i to i + 1; an empty database has version 0. Written for SQLite;
// postgres/postgres.cc translates the types.
std::span<const char* const> SchemaSteps();

// Opens the file, checks its application id and version, and creates or migrates its tables.
Result<Database> OpenDatabase(const std::string& path);

}  // namespace fabric::store
