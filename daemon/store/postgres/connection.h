// Connection to PostgreSQL by libpq, with a time limit for each answer. Not thread-safe.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/postgres/url.h"

namespace fabric::store {

struct ClearAnswer {
  void operator()(PGresult* answer) const { PQclear(answer); }
};
using Answer = std::unique_ptr<PGresult, ClearAnswer>;

struct PostgresText {
  std::string bytes;
};
struct PostgresBytes {
  std::string bytes;
};
using PostgresParameter = std::variant<std::int64_t, PostgresText, PostgresBytes>;

class Connection {
 public:
  // Waits at most `patience`, but 2 s to 10 s, for each host of the URL, and then `patience` for
  // each answer of the server.
  static Result<Connection> Open(const PostgresUrl& url, Duration patience);

  // One or more statements without parameters.
  Status Send(const std::string& sql);
  // One statement. Its rows come one by one.
  Status Send(const std::string& sql, const std::vector<PostgresParameter>& parameters);
  // One statement without rows, whose answer Collect() takes.
  Status Queue(const std::string& sql, const std::vector<PostgresParameter>& parameters);
  // Waits for the answers of all queued statements. The first failure. Call it before a statement
  // that is not queued.
  Status Collect();
  // The next answer; nullptr after the last one. Call until it is nullptr, also after a failure,
  // unless the connection is broken.
  Result<Answer> Next();
  // Sends and takes all answers; the last one that has rows, else nullptr.
  Result<Answer> Run(const std::string& sql);

  // No answer within the time, or closed by the server: use another connection.
  bool broken() const { return broken_; }
  // A statement of the current transaction failed: COMMIT would end it without an error.
  bool has_failed_transaction() const {
    return PQtransactionStatus(connection_.get()) == PQTRANS_INERROR;
  }
  // All answers until EndLimit() together take at most `limit`.
  void BeginLimit(Duration limit);
  void EndLimit() { limit_ = SteadyTime::max(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  Connection(PGconn* connection, std::string shown, Duration patience);
  Status SendOne(const std::string& sql, const std::vector<PostgresParameter>& parameters);
  Result<Answer> Take();
  Status Flush();
  Status Wait(bool for_writing, SteadyTime until);
  SteadyTime Until() const;
  Status Broken(std::string_view why);
  Status Failure(const PGresult* answer);

  std::unique_ptr<PGconn, Finish> connection_;
  std::string shown_;
  Duration patience_;
  SteadyTime limit_ = SteadyTime::max();
  bool broken_ = false;
  bool queued_ = false;  // In pipeline mode
};

std::int64_t NumberOf(const PGresult* answer, int row, int column);
std::string_view BytesOf(const PGresult* answer, int row, int column);

}  // namespace fabric::store
