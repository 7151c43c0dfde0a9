#include "daemon/access/audit_log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "daemon/access/audit_entry.h"
#include "daemon/store/application_file.h"
#include "daemon/store/sqlite_backup.h"

namespace fabric::access {
namespace {

using store::Database;
using store::Statement;

constexpr std::uint64_t kRemovedAtOnceMax = 1'000;
constexpr std::uint32_t kRowsAtOnce = 1'000;

// `removed` has one row: the last entry that was removed.
constexpr const char* kTables = R"(
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY,
  entry BLOB NOT NULL
);
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries of the audit log cannot be changed'); END;
CREATE TABLE removed (
  sequence INTEGER NOT NULL,
  hash TEXT NOT NULL
);
INSERT INTO removed VALUES (0, '');
)";

constexpr store::ApplicationFile kAuditFile = {.what = "an audit log",
                                               .application = 0x66616261,  // "faba"
                                               .version = 1,
                                               .tables = kTables};

std::int64_t Signed(std::uint64_t sequence) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(sequence, std::numeric_limits<std::int64_t>::max()));
}

// Checks one entry against the one before. Empty: it is right.
std::string WhyBroken(const v1::AuditEntry& entry, std::uint64_t row, std::uint64_t sequence,
                      const std::string& previous) {
  if (row != sequence)
    return Format("expected entry {}, saw entry {}: entries are missing", sequence, row);
  if (entry.sequence() != row) return Format("expected sequence {}, saw {}", row, entry.sequence());
  if (entry.previous_hash() != previous)
    return Format("expected previous_hash {}, saw {}", previous, entry.previous_hash());
  const std::string hash = HashOf(entry);
  if (entry.hash() != hash) return Format("expected hash {}, saw {}", hash, entry.hash());
  return {};
}

}  // namespace

AuditLog::AuditLog(Database database, Statements statements, std::uint64_t entries_max,
                   OnEntry on_entry)
    : entries_max_(std::max<std::uint64_t>(entries_max, 1)),
      on_entry_(std::move(on_entry)),
      database_(std::move(database)),
      statements_(std::move(statements)) {}

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, std::uint64_t entries_max,
                                                 OnEntry on_entry) {
  ASSIGN_OR_RETURN(Database database, store::OpenApplicationFile(path, kAuditFile));
  ASSIGN_OR_RETURN(Statement add, database.Prepare("INSERT INTO entries VALUES (?, ?)"));
  ASSIGN_OR_RETURN(Statement before,
                   database.Prepare("SELECT sequence, entry FROM entries WHERE sequence < ? ORDER "
                                    "BY sequence DESC LIMIT ?"));
  ASSIGN_OR_RETURN(Statement after,
                   database.Prepare("SELECT sequence, entry FROM entries WHERE sequence > ? ORDER "
                                    "BY sequence LIMIT ?"));
  ASSIGN_OR_RETURN(Statement remove, database.Prepare("DELETE FROM entries WHERE sequence <= ?"));
  ASSIGN_OR_RETURN(Statement removed_hash, database.Prepare("SELECT sequence, hash FROM removed"));
  ASSIGN_OR_RETURN(Statement set_removed,
                   database.Prepare("UPDATE removed SET sequence = ?, hash = ?"));
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(database),
                                             {.add = std::move(add),
                                              .before = std::move(before),
                                              .after = std::move(after),
                                              .remove = std::move(remove),
                                              .removed_hash = std::move(removed_hash),
                                              .set_removed = std::move(set_removed)},
                                             entries_max, std::move(on_entry)));
  const MutexLock lock(log->mutex_);
  RETURN_IF_ERROR(log->ReadHeads());
  return log;
}

Status AuditLog::ReadHeads() {
  ASSIGN_OR_RETURN(const bool row, statements_.removed_hash.Step());
  if (!row) return {Code::kDataLoss, database_.path() + ": the table removed has no row"};
  removed_ = {.sequence = static_cast<std::uint64_t>(statements_.removed_hash.Number(0)),
              .hash = std::string(statements_.removed_hash.Bytes(1))};
  statements_.removed_hash.Reset();
  newest_ = removed_;
  ASSIGN_OR_RETURN(const auto rows,
                   Rows(statements_.before, std::numeric_limits<std::int64_t>::max(), 1));
  if (rows.empty()) return {};
  newest_.sequence = rows.front().sequence;
  // The chain continues; Verify() reports the entry that cannot be decoded.
  newest_.hash = rows.front().entry ? rows.front().entry->hash() : "";
  return {};
}

Result<std::vector<AuditLog::Row>> AuditLog::Rows(Statement& query, std::uint64_t from,
                                                  std::uint32_t max) {
  std::vector<Row> rows;
  query.Bind(0, Signed(from)).Bind(1, max);
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.Step());
    if (!more) return rows;
    Row row{.sequence = static_cast<std::uint64_t>(query.Number(0)), .entry = v1::AuditEntry()};
    if (!row.entry->ParseFromString(std::string(query.Bytes(1)))) row.entry.reset();
    rows.push_back(std::move(row));
  }
}

Status AuditLog::Append(v1::AuditEntry entry) {
  const MutexLock lock(mutex_);
  pending_.push_back(std::move(entry));
  if (pending_.size() > kPendingMax) {
    pending_.pop_front();
    ++dropped_;
  }
  return FlushLocked();
}

Status AuditLog::Flush() {
  const MutexLock lock(mutex_);
  return FlushLocked();
}

Status AuditLog::FlushLocked() {
  if (pending_.empty()) return {};
  std::deque<v1::AuditEntry> entries = pending_;
  const Status written = Write(entries);
  if (!written.ok()) {
    // ROLLBACK fails if no transaction is open.
    (void)database_.Execute("ROLLBACK;");
    return {Code::kUnavailable, "cannot write to the audit log: " + written.message()};
  }
  pending_.clear();
  if (on_entry_)
    for (const v1::AuditEntry& entry : entries) on_entry_(entry);
  return {};
}

// All or none.
Status AuditLog::Write(std::deque<v1::AuditEntry>& entries) {
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE;"));
  Head newest = newest_;
  Head removed = removed_;
  for (v1::AuditEntry& entry : entries) {
    entry.set_sequence(newest.sequence + 1);
    entry.set_previous_hash(newest.hash);
    entry.set_hash(HashOf(entry));
    newest = {.sequence = entry.sequence(), .hash = entry.hash()};
    RETURN_IF_ERROR(
        statements_.add.Bind(0, Signed(entry.sequence())).Blob(1, entry.SerializeAsString()).Run());
  }
  RETURN_IF_ERROR(RemoveOld(newest, removed));
  RETURN_IF_ERROR(database_.Execute("COMMIT;"));
  newest_ = std::move(newest);
  removed_ = std::move(removed);
  return {};
}

Status AuditLog::RemoveOld(const Head& newest, Head& removed) {
  if (newest.sequence - removed.sequence <= entries_max_) return {};
  const std::uint64_t last =
      std::min(newest.sequence - entries_max_, removed.sequence + kRemovedAtOnceMax);
  ASSIGN_OR_RETURN(const auto rows, Rows(statements_.before, last + 1, 1));
  removed = {.sequence = last,
             .hash = !rows.empty() && rows.front().entry ? rows.front().entry->hash() : ""};
  RETURN_IF_ERROR(statements_.remove.Bind(0, Signed(last)).Run());
  return statements_.set_removed.Bind(0, Signed(last)).Text(1, removed.hash).Run();
}

Result<std::vector<v1::AuditEntry>> AuditLog::Before(std::uint64_t sequence, std::uint32_t max) {
  const MutexLock lock(mutex_);
  const std::uint64_t from = sequence == 0 ? std::numeric_limits<std::int64_t>::max() : sequence;
  ASSIGN_OR_RETURN(auto rows, Rows(statements_.before, from, max));
  std::vector<v1::AuditEntry> entries;
  for (Row& row : rows)
    if (row.entry) entries.push_back(*std::move(row.entry));
  return entries;
}

Status AuditLog::BackUp(const std::string& path) {
  return store::BackUpInSteps(path, [this](const auto& step) {
    const MutexLock lock(mutex_);
    step(database_);
  });
}

Result<v1::AuditVerification> AuditLog::Verify() {
  v1::AuditVerification result;
  Head at, end;
  {
    const MutexLock lock(mutex_);
    at = removed_;
    end = newest_;
  }
  while (at.sequence < end.sequence) {
    std::vector<Row> rows;
    {
      const MutexLock lock(mutex_);
      if (removed_.sequence > at.sequence) {  // Removed meanwhile: older entries do not count.
        at = removed_;
        result.Clear();
      }
      ASSIGN_OR_RETURN(rows, Rows(statements_.after, at.sequence, kRowsAtOnce));
    }
    if (rows.empty()) break;
    for (const Row& row : rows) {
      if (row.sequence > end.sequence) break;
      std::string why = row.entry ? WhyBroken(*row.entry, row.sequence, at.sequence + 1, at.hash)
                                  : "cannot be decoded";
      if (result.first_sequence() == 0) result.set_first_sequence(row.sequence);
      if (!why.empty()) {
        result.set_broken_sequence(row.sequence);
        result.set_broken_reason(std::move(why));
        return result;
      }
      at = {.sequence = row.sequence, .hash = row.entry->hash()};
      result.set_entries(result.entries() + 1);
      result.set_last_sequence(at.sequence);
      result.set_last_hash(at.hash);
    }
    if (rows.back().sequence >= end.sequence) break;
  }
  if (at.sequence < end.sequence) {
    result.set_broken_sequence(at.sequence + 1);
    result.set_broken_reason(
        Format("expected entries up to {}, saw none after {}", end.sequence, at.sequence));
  } else if (at.sequence == end.sequence && at.hash != end.hash) {
    result.set_broken_sequence(at.sequence);
    result.set_broken_reason(Format("expected hash {}, saw {}", end.hash, at.hash));
  }
  return result;
}

std::uint64_t AuditLog::pending() const {
  const MutexLock lock(mutex_);
  return pending_.size();
}

std::uint64_t AuditLog::dropped() const {
  const MutexLock lock(mutex_);
  return dropped_;
}

}  // namespace fabric::access
