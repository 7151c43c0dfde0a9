#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/store/database.h"
#include "daemon/store/recovery.h"
#include "daemon/store/sql_store.h"
#include "daemon/store/store.h"

namespace fabric::store {
namespace {

constexpr std::int64_t kEpochMax = 4'102'444'800;  // The wall clock counts up to the year 2100.

// Larger than that of earlier openings, and than that of an older copy of the file, unless the
// clock was set back. Opening succeeds on a full disk.
Result<std::uint64_t> NextEpoch(Database& database, WallTime now) {
  ASSIGN_OR_RETURN(
      const std::int64_t before,
      database.Number("SELECT coalesce(max(value), 0) FROM numbers WHERE name = 'epoch'"));
  const std::int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::int64_t epoch = std::max(before + 1, std::min(seconds, kEpochMax));
  (void)database.Execute(
      Format("INSERT INTO numbers VALUES ('epoch', {}) "
             "ON CONFLICT (name) DO UPDATE SET value = excluded.value;",
             epoch));
  return static_cast<std::uint64_t>(epoch);
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlite(const std::string& path, WallTime now) {
  Damage damage;
  ASSIGN_OR_RETURN(Database database, OpenOrRecover(path, now, damage));
  ASSIGN_OR_RETURN(const std::uint64_t epoch, NextEpoch(database, now));
  return MakeSqlStore(std::make_unique<Database>(std::move(database)), epoch, std::move(damage));
}

}  // namespace fabric::store
