#include "daemon/store/postgres/lease.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace fabric::store {
namespace {

constexpr std::int64_t kEpochMax = 4'102'444'800;  // The database's clock counts up to 2100.
constexpr std::int64_t kCreateLock = 0x66616272;   // Number of an advisory lock, "fabr"

constexpr Duration kLocksMax = std::chrono::seconds(2);

std::int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::string QuotedText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// The column `address` has both: HOST:PORT of gRPC, and after a space the URL.
std::string AddressColumn(const LeaseOptions& options) {
  return options.page.empty() ? options.address : options.address + " " + options.page;
}

// A URL that a header of HTTP can have.
std::string PageOf(std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  const bool url = text.starts_with("http://") || text.starts_with("https://");
  return plain && url ? std::string(text) : std::string();
}

std::uint64_t EpochOf(const PGresult* answer, int column) {
  return static_cast<std::uint64_t>(NumberOf(answer, 0, column));
}

}  // namespace

Result<Connection> OpenSession(const PostgresUrl& url, Duration patience) {
  ASSIGN_OR_RETURN(Connection connection, Connection::Open(url, patience));
  // Locks wait shorter than the client. A client that stops within a transaction must not hold the
  // lease's row for long.
  const auto set = connection.Run(
      Format("SET search_path = {0}; SET lock_timeout = {1}; "
             "SET idle_in_transaction_session_timeout = {1}; SET standard_conforming_strings = on;",
             kSchemaName, Milliseconds(std::min(patience, kLocksMax) * 3 / 4)));
  if (!set.ok()) return set.status();
  return connection;
}

std::string FenceQuery(const Term& term) {
  return Format(
      "SELECT epoch FROM lease WHERE name = 'leader' AND epoch = {} AND holder = {} "
      "FOR KEY SHARE",
      term.epoch, QuotedText(term.holder));
}

Lease::Lease(PostgresUrl url, LeaseOptions options, Duration patience)
    : url_(std::move(url)), options_(std::move(options)), patience_(patience) {}

Result<Answer> Lease::Run(const std::string& sql) {
  if (!connection_) {
    ASSIGN_OR_RETURN(connection_, OpenSession(url_, patience_));
  }
  Result<Answer> answer = connection_->Run(sql);
  // A failed statement may leave a transaction open.
  if (!answer.ok()) connection_.reset();
  return answer;
}

Status Lease::CreateTable() {
  if (created_) return {};
  ASSIGN_OR_RETURN(const Answer found,
                   Run(Format("SELECT to_regclass('{}.lease') IS NOT NULL", kSchemaName)));
  if (found != nullptr && NumberOf(found.get(), 0, 0) == 0)
    RETURN_IF_ERROR(Run(Format(R"(BEGIN;
SELECT pg_advisory_xact_lock({1});
CREATE SCHEMA IF NOT EXISTS {0};
CREATE TABLE IF NOT EXISTS {0}.lease (
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, address TEXT NOT NULL, epoch BIGINT NOT NULL,
  expires TIMESTAMPTZ NOT NULL
);
CREATE TABLE IF NOT EXISTS {0}.schema_version (version BIGINT NOT NULL);
INSERT INTO {0}.lease VALUES ('leader', '', '', 0, '-infinity') ON CONFLICT DO NOTHING;
COMMIT;)",
                               kSchemaName, kCreateLock))
                        .status());
  created_ = true;
  return {};
}

Result<std::optional<Term>> Lease::Take(LeaseRow& row) {
  RETURN_IF_ERROR(CreateTable());
  // The epoch is at least the time in seconds: a database that was restored gives none twice.
  ASSIGN_OR_RETURN(const Answer taken,
                   Run(Format("WITH old AS (SELECT epoch FROM lease WHERE name = 'leader' AND "
                              "expires < clock_timestamp() FOR UPDATE) "
                              "UPDATE lease SET holder = {0}, address = {1}, "
                              "epoch = greatest(lease.epoch + 1, "
                              "least(extract(epoch FROM clock_timestamp())::bigint, {2})), "
                              "expires = clock_timestamp() + interval '{3} milliseconds' "
                              "FROM old WHERE lease.name = 'leader' RETURNING lease.epoch",
                              QuotedText(options_.holder), QuotedText(AddressColumn(options_)),
                              kEpochMax, Milliseconds(options_.duration))));
  if (taken != nullptr && PQntuples(taken.get()) == 1)
    return std::optional<Term>(Term{.holder = options_.holder, .epoch = EpochOf(taken.get(), 0)});
  ASSIGN_OR_RETURN(row, Read());
  return std::optional<Term>();
}

Result<LeaseRow> Lease::Read() {
  ASSIGN_OR_RETURN(const Answer seen,
                   Run("SELECT holder, address, epoch, expires < clock_timestamp() FROM lease "
                       "WHERE name = 'leader'"));
  if (seen == nullptr || PQntuples(seen.get()) != 1)
    return Status(Code::kDataLoss, url_.shown + ": expected a row in the table lease, saw none");
  const std::string_view address = BytesOf(seen.get(), 0, 1);
  const std::size_t end = std::min(address.find(' '), address.size());
  return LeaseRow{.holder = std::string(BytesOf(seen.get(), 0, 0)),
                  .address = std::string(address.substr(0, end)),
                  .page = PageOf(address.substr(std::min(end + 1, address.size()))),
                  .epoch = EpochOf(seen.get(), 2),
                  .expired = NumberOf(seen.get(), 0, 3) != 0};
}

// Need not survive a crash of the database: a lease that expires too early is renewed again.
Result<bool> Lease::Renew(const Term& term) {
  ASSIGN_OR_RETURN(
      const Answer renewed,
      Run(Format("BEGIN;SET LOCAL synchronous_commit = off;"
                 "UPDATE lease SET expires = clock_timestamp() + interval '{} milliseconds' "
                 "WHERE name = 'leader' AND epoch = {} AND holder = {} RETURNING epoch;COMMIT",
                 Milliseconds(options_.duration), term.epoch, QuotedText(term.holder))));
  return renewed != nullptr && PQntuples(renewed.get()) == 1;
}

Status Lease::Release(const Term& term) {
  return Run(Format("UPDATE lease SET expires = '-infinity' WHERE name = 'leader' AND "
                    "epoch = {} AND holder = {}",
                    term.epoch, QuotedText(term.holder)))
      .status();
}

}  // namespace fabric::store
