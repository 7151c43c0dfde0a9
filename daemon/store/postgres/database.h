// PostgreSQL behind sql.h. Each transaction checks first that this controller still leads (see
// lease.h), and each answer has a time limit. A lost connection fails at once; a thread opens a new
// one meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/store/postgres/connection.h"
#include "daemon/store/postgres/lease.h"
#include "daemon/store/postgres/url.h"
#include "daemon/store/sql.h"

namespace fabric::store {

class PostgresDatabase final : public SqlDatabase {
 public:
  // Connects. `patience`: limit of one answer; one and a half of it for a transaction. Epoch 0: for
  // reads only.
  static Result<std::unique_ptr<PostgresDatabase>> Open(const PostgresUrl& url, const Term& term,
                                                        Duration patience);

  Status Execute(const std::string& sql) override;
  Result<std::unique_ptr<SqlStatement>> Make(std::string_view sql) override;
  // UNAVAILABLE if another controller leads.
  Status Begin(bool durable) override;
  Status Commit() override;
  void Rollback() override;
  Result<std::int64_t> Bytes() override;
  Result<std::int64_t> LiveBytes() override { return std::int64_t{0}; }
  Result<bool> ReturnSpace(std::int64_t, std::int64_t) override {
    return false;
  }  // Autovacuum does
  Status CopyToFile(const std::string& path) override;
  const std::string& path() const override { return url_.shown; }

  // The connection; UNAVAILABLE without waiting if there is none, or a transaction has lost its
  // own.
  Result<Connection*> Use();
  // Whether statements without rows are queued, which takes one round trip for all of them.
  bool queues() const { return queues_; }
  // Call after each failure: drops a broken connection.
  Status After(Status status);

 private:
  PostgresDatabase(PostgresUrl url, Term term, Duration patience, Connection connection);
  void Reconnect(const std::stop_token& stop) EXCLUDES(mutex_);

  const PostgresUrl url_;
  const Term term_;
  const Duration patience_;
  std::optional<Connection> connection_;
  bool in_transaction_ = false;  // On `connection_`, or on one that broke since
  bool lost_ = false;            // The connection of the transaction broke
  bool queues_ = false;          // In a transaction that is not durable

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Connection> next_ GUARDED_BY(mutex_);  // Made by the thread
  bool wanted_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: uses all of the above
};

}  // namespace fabric::store
