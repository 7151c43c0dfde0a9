#include "daemon/store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace fabric::store {
namespace {

// Of the server's catalog of types, which do not change.
constexpr Oid kBool = 16;
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;

SteadyTime Now() {
  return std::chrono::steady_clock::now();
}

std::array<char, 8> BigEndian(std::int64_t value) {
  std::array<char, 8> bytes{};
  for (int at = 0; at < 8; ++at)
    bytes[static_cast<std::size_t>(at)] =
        static_cast<char>(static_cast<std::uint64_t>(value) >> (56 - 8 * at));
  return bytes;
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// By the class of the SQLSTATE: what can succeed later is UNAVAILABLE.
Code CodeOf(std::string_view state) {
  if (state == "42501") return Code::kPermissionDenied;
  // Connection, transaction rollback, resources, not in prerequisite state, intervention of an
  // operator, system error; 25006: a standby.
  for (const std::string_view start : {"08", "40", "53", "55", "57", "58", "25006"})
    if (state.starts_with(start)) return Code::kUnavailable;
  if (state == "22001" || state == "22021") return Code::kInvalidArgument;
  return Code::kInternal;
}

}  // namespace

Connection::Connection(PGconn* connection, std::string shown, Duration patience)
    : connection_(connection), shown_(std::move(shown)), patience_(patience) {}

Result<Connection> Connection::Open(const PostgresUrl& url, Duration patience) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(patience).count();
  const std::string seconds = std::to_string(std::clamp<std::int64_t>(whole, 2, 10));
  // A vanished host is noticed without an answer of it. The URL overrides all of these.
  const std::array names = {"connect_timeout",
                            "application_name",
                            "tcp_user_timeout",
                            "keepalives_idle",
                            "keepalives_interval",
                            "keepalives_count",
                            "target_session_attrs",
                            "client_encoding",
                            "dbname",
                            static_cast<const char*>(nullptr)};
  const std::array values = {seconds.c_str(),
                             "fabricd",
                             "5000",
                             "2",
                             "1",
                             "3",
                             "read-write",
                             "UTF8",
                             url.url.c_str(),
                             static_cast<const char*>(nullptr)};
  Connection made(PQconnectdbParams(names.data(), values.data(), 1), url.shown, patience);
  if (made.connection_ == nullptr) return Status(Code::kResourceExhausted, "out of memory");
  PGconn* const connection = made.connection_.get();
  if (PQstatus(connection) != CONNECTION_OK) return made.Broken(PQerrorMessage(connection));
  PQsetnonblocking(connection, 1);
  // Notices are about things that exist already.
  PQsetNoticeProcessor(
      connection, [](void*, const char*) {}, nullptr);
  return made;
}

void Connection::BeginLimit(Duration limit) {
  limit_ = Now() + limit;
}

SteadyTime Connection::Until() const {
  return std::min<SteadyTime>(Now() + patience_, limit_);
}

Status Connection::Broken(std::string_view why) {
  broken_ = true;
  return {Code::kUnavailable, Format("{}: {}", shown_, OneLine(why))};
}

Status Connection::Wait(bool for_writing, SteadyTime until) {
  pollfd socket{.fd = PQsocket(connection_.get()),
                .events = static_cast<short>(for_writing ? POLLIN | POLLOUT : POLLIN),
                .revents = 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Now()).count();
    const int ready = left <= 0 ? 0 : poll(&socket, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready == 0)
      return Broken(Format("no answer of the database within {} ms",
                           std::chrono::ceil<std::chrono::milliseconds>(patience_).count()));
    if (errno != EINTR) return Broken(std::strerror(errno));
  }
}

Status Connection::Flush() {
  const SteadyTime until = Until();
  while (true) {
    const int left = PQflush(connection_.get());
    if (left == 0) return {};
    if (left < 0) return Broken(PQerrorMessage(connection_.get()));
    RETURN_IF_ERROR(Wait(true, until));
    if (PQconsumeInput(connection_.get()) == 0) return Broken(PQerrorMessage(connection_.get()));
  }
}

Status Connection::Send(const std::string& sql) {
  if (PQsendQuery(connection_.get(), sql.c_str()) == 0)
    return Broken(PQerrorMessage(connection_.get()));
  return Flush();
}

Status Connection::SendOne(const std::string& sql,
                           const std::vector<PostgresParameter>& parameters) {
  std::vector<std::array<char, 8>> numbers;
  numbers.reserve(parameters.size());
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  const auto add = [&](Oid type, const char* value, std::size_t length) {
    types.push_back(type);
    values.push_back(value);
    lengths.push_back(static_cast<int>(length));
  };
  for (const PostgresParameter& parameter : parameters) {
    if (const auto* number = std::get_if<std::int64_t>(&parameter)) {
      numbers.push_back(BigEndian(*number));
      add(kInt8, numbers.back().data(), 8);
    } else if (const auto* text = std::get_if<PostgresText>(&parameter)) {
      add(kText, text->bytes.data(), text->bytes.size());
    } else {
      const std::string& bytes = std::get<PostgresBytes>(parameter).bytes;
      add(kBytea, bytes.data(), bytes.size());
    }
  }
  const std::vector<int> binary(parameters.size(), 1);
  if (PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(parameters.size()),
                        types.data(), values.data(), lengths.data(), binary.data(), 1) == 0)
    return Broken(PQerrorMessage(connection_.get()));
  return {};
}

Status Connection::Send(const std::string& sql, const std::vector<PostgresParameter>& parameters) {
  RETURN_IF_ERROR(SendOne(sql, parameters));
  PQsetSingleRowMode(connection_.get());
  return Flush();
}

Status Connection::Queue(const std::string& sql, const std::vector<PostgresParameter>& parameters) {
  if (!std::exchange(queued_, true) && PQenterPipelineMode(connection_.get()) == 0)
    return Broken(PQerrorMessage(connection_.get()));
  RETURN_IF_ERROR(SendOne(sql, parameters));
  return Flush();
}

Status Connection::Collect() {
  if (broken_ || !queued_) return {};
  queued_ = false;
  if (PQpipelineSync(connection_.get()) == 0) return Broken(PQerrorMessage(connection_.get()));
  RETURN_IF_ERROR(Flush());
  Status failure;
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const Answer answer, Take());
    if (answer == nullptr) continue;  // After the answer of each statement
    switch (PQresultStatus(answer.get())) {
      case PGRES_PIPELINE_SYNC: more = false; break;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
      case PGRES_PIPELINE_ABORTED: break;
      default:
        if (failure.ok()) failure = Failure(answer.get());
        if (broken_) return failure;
    }
  }
  if (PQexitPipelineMode(connection_.get()) == 0) return Broken(PQerrorMessage(connection_.get()));
  return failure;
}

Status Connection::Failure(const PGresult* answer) {
  const char* const state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
  const char* const words = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr || PQstatus(connection_.get()) != CONNECTION_OK)
    return Broken(words != nullptr ? words : PQresultErrorMessage(answer));
  // A server that became a standby or shuts down: the next connection may find the primary.
  const std::string_view code(state);
  if (code == "25006" || code.starts_with("57P")) broken_ = true;
  return {CodeOf(code), Format("{}: {}", shown_, OneLine(words == nullptr ? state : words))};
}

// Any answer, also of a failure.
Result<Answer> Connection::Take() {
  if (broken_) return Status(Code::kUnavailable, shown_ + ": the connection is broken");
  const SteadyTime until = Until();
  while (PQisBusy(connection_.get()) != 0) {
    RETURN_IF_ERROR(Wait(false, until));
    if (PQconsumeInput(connection_.get()) == 0) return Broken(PQerrorMessage(connection_.get()));
  }
  return Answer(PQgetResult(connection_.get()));
}

Result<Answer> Connection::Next() {
  ASSIGN_OR_RETURN(Answer answer, Take());
  if (answer == nullptr) return answer;
  switch (PQresultStatus(answer.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE: return answer;
    default: return Failure(answer.get());
  }
}

Result<Answer> Connection::Run(const std::string& sql) {
  RETURN_IF_ERROR(Send(sql));
  Answer rows;
  Status failure;
  while (true) {
    Result<Answer> answer = Next();
    if (!answer.ok()) {
      if (failure.ok()) failure = answer.status();
      if (broken_) return failure;
      continue;
    }
    if (*answer == nullptr) break;
    if (PQresultStatus(answer->get()) == PGRES_TUPLES_OK) rows = *std::move(answer);
  }
  if (!failure.ok()) return failure;
  return rows;
}

std::string_view BytesOf(const PGresult* answer, int row, int column) {
  return {PQgetvalue(answer, row, column),
          static_cast<std::size_t>(PQgetlength(answer, row, column))};
}

std::int64_t NumberOf(const PGresult* answer, int row, int column) {
  const std::string_view bytes = BytesOf(answer, row, column);
  const Oid type = PQftype(answer, column);
  std::int64_t value = 0;
  if (PQfformat(answer, column) == 0) {
    if (type == kBool) return bytes == "t" ? 1 : 0;
    std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
    return value;
  }
  if (type != kInt8 && type != kInt4 && type != kBool) return 0;
  std::uint64_t bits = 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
  if (type == kInt4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  return static_cast<std::int64_t>(bits);
}

}  // namespace fabric::store
