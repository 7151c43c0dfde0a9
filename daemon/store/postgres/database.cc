#include "daemon/store/postgres/database.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"

namespace fabric::store {
namespace {

constexpr Duration kReconnectEvery = std::chrono::milliseconds(250);

// Sends its text and parameters each time, so that it works on every connection.
class PostgresStatement final : public SqlStatement {
 public:
  PostgresStatement(PostgresDatabase& database, std::string_view sql)
      : database_(database), sql_(sql) {}

  SqlStatement& Bind(int parameter, std::int64_t value) override { return Set(parameter, value); }
  SqlStatement& Text(int parameter, std::string_view value) override {
    return Set(parameter, PostgresText{std::string(value)});
  }
  SqlStatement& Blob(int parameter, std::string_view value) override {
    return Set(parameter, PostgresBytes{std::string(value)});
  }

  Result<bool> Step() override {
    const Result<bool> row = TakeRow();
    if (row.ok() && *row) return true;
    End();
    if (!row.ok()) return database_.After(row.status());
    return false;
  }

  Status Run() override {
    if (!database_.queues()) return SqlStatement::Run();
    const Result<Connection*> connection = database_.Use();
    const Status status =
        connection.ok() ? (*connection)->Queue(sql_, parameters_) : connection.status();
    End();
    return database_.After(status);
  }

  void Reset() override {
    while (running_) {
      const Result<bool> row = TakeRow();
      if (row.ok() && *row) continue;
      if (!row.ok()) (void)database_.After(row.status());
      break;
    }
    End();
  }

  std::int64_t Number(int column) const override { return NumberOf(row_.get(), 0, column); }
  std::string_view Bytes(int column) const override { return BytesOf(row_.get(), 0, column); }

 private:
  SqlStatement& Set(int parameter, PostgresParameter value) {
    const auto at = static_cast<std::size_t>(parameter);
    if (parameters_.size() <= at) parameters_.resize(at + 1);
    parameters_[at] = std::move(value);
    return *this;
  }

  // False after the last row; then all answers are taken.
  Result<bool> TakeRow() {
    ASSIGN_OR_RETURN(Connection * connection, database_.Use());
    if (!running_) {
      RETURN_IF_ERROR(connection->Collect());
      running_ = true;
      RETURN_IF_ERROR(connection->Send(sql_, parameters_));
    }
    Status failure;
    while (true) {
      Result<Answer> answer = connection->Next();
      if (!answer.ok()) {
        failure = answer.status();
        if (connection->broken()) return failure;
        continue;
      }
      if (*answer == nullptr) break;
      if (PQresultStatus(answer->get()) != PGRES_SINGLE_TUPLE) continue;
      row_ = *std::move(answer);
      return true;
    }
    if (!failure.ok()) return failure;
    return false;
  }

  void End() {
    running_ = false;
    row_.reset();
    parameters_.clear();
  }

  PostgresDatabase& database_;
  const std::string sql_;
  std::vector<PostgresParameter> parameters_;
  Answer row_;
  bool running_ = false;
};

}  // namespace

PostgresDatabase::PostgresDatabase(PostgresUrl url, Term term, Duration patience,
                                   Connection connection)
    : url_(std::move(url)),
      term_(std::move(term)),
      patience_(patience),
      connection_(std::move(connection)),
      thread_([this](const std::stop_token& stop) { Reconnect(stop); }) {}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::Open(const PostgresUrl& url,
                                                                 const Term& term,
                                                                 Duration patience) {
  ASSIGN_OR_RETURN(Connection connection, OpenSession(url, patience));
  return std::unique_ptr<PostgresDatabase>(
      new PostgresDatabase(url, term, patience, std::move(connection)));
}

// Makes a connection whenever one is wanted.
void PostgresDatabase::Reconnect(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return wanted_ && !next_; });
    }
    if (stop.stop_requested()) return;
    Result<Connection> made = OpenSession(url_, patience_);
    MutexLock lock(mutex_);
    failure_ = made.status();
    if (made.ok())
      next_ = *std::move(made);
    else
      wake_.wait_for(lock, stop, kReconnectEvery, [] { return false; });
  }
}

Result<Connection*> PostgresDatabase::Use() {
  if (connection_ && !lost_) return &*connection_;
  const MutexLock lock(mutex_);
  if (lost_) return Status(Code::kUnavailable, url_.shown + ": the transaction was interrupted");
  if (!next_)
    return failure_.ok() ? Status(Code::kUnavailable, url_.shown + ": connecting") : failure_;
  connection_ = std::exchange(next_, std::nullopt);
  wanted_ = false;
  return &*connection_;
}

Status PostgresDatabase::After(Status status) {
  if (status.ok() || !connection_ || !connection_->broken()) return status;
  connection_.reset();
  lost_ = in_transaction_;
  const MutexLock lock(mutex_);
  wanted_ = true;
  failure_ = status;
  wake_.notify_all();
  return status;
}

Status PostgresDatabase::Execute(const std::string& sql) {
  ASSIGN_OR_RETURN(Connection * connection, Use());
  Status status = connection->Collect();
  if (status.ok()) status = connection->Run(sql).status();
  return After(status);
}

Result<std::unique_ptr<SqlStatement>> PostgresDatabase::Make(std::string_view sql) {
  return std::unique_ptr<SqlStatement>(std::make_unique<PostgresStatement>(*this, sql));
}

Status PostgresDatabase::Begin(bool durable) {
  if (term_.epoch == 0)
    return {Code::kUnavailable, url_.shown + ": open for reads only: another controller leads"};
  ASSIGN_OR_RETURN(Connection * connection, Use());
  connection->BeginLimit(patience_ + patience_ / 2);
  in_transaction_ = true;
  const Result<Answer> row = connection->Run(Format("BEGIN;SET LOCAL synchronous_commit = {};{}",
                                                    durable ? "on" : "off", FenceQuery(term_)));
  Status status = After(row.status());
  if (status.ok() && (*row == nullptr || PQntuples(row->get()) != 1))
    status = {Code::kUnavailable, Format("{}: another controller leads now: expected epoch {}",
                                         url_.shown, term_.epoch)};
  if (!status.ok()) Rollback();
  queues_ = status.ok() && !durable;
  return status;
}

Status PostgresDatabase::Commit() {
  if (connection_ && connection_->has_failed_transaction())
    return {Code::kUnavailable, url_.shown + ": a statement of the transaction failed"};
  if (std::exchange(queues_, false)) {
    // The server skips it when a queued statement fails.
    ASSIGN_OR_RETURN(Connection * connection, Use());
    Status status = connection->Queue("COMMIT", {});
    if (status.ok()) status = connection->Collect();
    RETURN_IF_ERROR(After(std::move(status)));
  } else {
    RETURN_IF_ERROR(Execute("COMMIT"));
  }
  in_transaction_ = false;
  connection_->EndLimit();
  return {};
}

void PostgresDatabase::Rollback() {
  in_transaction_ = false;
  queues_ = false;
  if (std::exchange(lost_, false) || !connection_) return;
  (void)connection_->Collect();
  (void)After(connection_->Run("ROLLBACK").status());
  if (connection_) connection_->EndLimit();
}

Result<std::int64_t> PostgresDatabase::Bytes() {
  return Number(
      Format("SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
             "WHERE relkind = 'r' AND relnamespace = '{}'::regnamespace",
             kSchemaName));
}

Status PostgresDatabase::CopyToFile(const std::string&) {
  return {Code::kUnimplemented, Format("{}: the state is in PostgreSQL: use pg_dump --schema={}",
                                       url_.shown, kSchemaName)};
}

}  // namespace fabric::store
