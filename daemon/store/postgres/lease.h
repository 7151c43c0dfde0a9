// Lease of the leader: one row in PostgreSQL. Who holds it leads until it expires by the clock of
// the database. Each holder gets a larger epoch. A write of the leader locks the row for its
// transaction, so that it waits for a take-over or the take-over for it, and does nothing after a
// take-over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/postgres/connection.h"
#include "daemon/store/postgres/url.h"

namespace fabric::store {

inline constexpr std::string_view kSchemaName = "fabricd";  // Of the tables in the database

// The time for which one process leads.
struct Term {
  std::string holder;  // Of this process only
  std::uint64_t epoch = 0;
};

// Of the current or the last leader.
struct LeaseRow {
  std::string holder;
  std::string address;  // Where it serves gRPC
  std::string page;     // URL of its REST listener; empty: unknown
  std::uint64_t epoch = 0;
  bool expired = true;
};

struct LeaseOptions {
  std::string holder;
  std::string address;
  Duration duration;
  std::string page = {};  // As in LeaseRow
};

// A connection on which the statements of the store and the lease work.
Result<Connection> OpenSession(const PostgresUrl& url, Duration patience);

// One row if the term has not ended. Locks it against a take-over, not against renewals.
std::string FenceQuery(const Term& term);

// Not thread-safe. Opens a new connection after a failure, which takes up to 2 s for each host.
class Lease {
 public:
  // `patience`: limit of each answer.
  Lease(PostgresUrl url, LeaseOptions options, Duration patience);

  // Takes the lease if it has expired. Absent: another one holds it, see `row`.
  Result<std::optional<Term>> Take(LeaseRow& row);
  Result<LeaseRow> Read();
  // False: the term has ended, because another one took the lease.
  Result<bool> Renew(const Term& term);
  // So that the next leader need not wait.
  Status Release(const Term& term);

 private:
  Result<Answer> Run(const std::string& sql);
  Status CreateTable();

  const PostgresUrl url_;
  const LeaseOptions options_;
  const Duration patience_;
  std::optional<Connection> connection_;
  bool created_ = false;
};

}  // namespace fabric::store
