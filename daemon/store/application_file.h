// SQLite files besides the state file, each with tables of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "daemon/store/database.h"

namespace fabric::store {

struct ApplicationFile {
  std::string_view what;     // "an audit log"
  std::int64_t application;  // In the header of the file
  std::int64_t version;      // Of the tables, in user_version
  std::string_view tables;   // SQL that creates them
};

// Opens or creates the file and takes its lock. What a transaction writes is on the disk when it
// ends. FAILED_PRECONDITION, with the path, if the file belongs to something else or has another
// version.
Result<Database> OpenApplicationFile(const std::string& path, const ApplicationFile& expected);

}  // namespace fabric::store
