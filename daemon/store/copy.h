// Copy of a whole state between SQLite and PostgreSQL.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::store {

// Copies everything from one store to the other; one is a file, the other a URL of PostgreSQL. No
// controller may use them: FAILED_PRECONDITION if one does, or if the target is not empty. All or
// nothing. Returns the number of rows.
Result<std::uint64_t> CopyState(const std::string& from, const std::string& to);

}  // namespace fabric::store
