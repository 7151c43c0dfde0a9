// The store in PostgreSQL.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/postgres/lease.h"
#include "daemon/store/postgres/url.h"
#include "daemon/store/store.h"

namespace fabric::store {

// Limit of one answer. A transaction takes at most one and a half of it; then the database counts
// as lost.
inline constexpr Duration kPostgresPatience = std::chrono::seconds(2);

// For the leader with this term: its writes fail with UNAVAILABLE after another one took the lease.
// Creates or migrates the tables. FAILED_PRECONDITION if they are of a newer version.
Result<std::unique_ptr<Store>> OpenPostgres(const PostgresUrl& url, const Term& term,
                                            Duration patience = kPostgresPatience);

// For a controller that does not lead: writes fail with UNAVAILABLE, and the epoch is 0. Changes no
// tables: FAILED_PRECONDITION if they are of another version.
Result<std::unique_ptr<Store>> OpenPostgresToRead(const PostgresUrl& url,
                                                  Duration patience = kPostgresPatience);

}  // namespace fabric::store
