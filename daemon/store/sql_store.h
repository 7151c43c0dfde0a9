// The store over an SQL database: the same statements for each of them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "daemon/store/sql.h"
#include "daemon/store/store.h"

namespace fabric::store {

// The database has the tables of schema.h. `epoch`: see Store::epoch.
Result<std::unique_ptr<Store>> MakeSqlStore(std::unique_ptr<SqlDatabase> database,
                                            std::uint64_t epoch, Damage damage = {});

}  // namespace fabric::store
