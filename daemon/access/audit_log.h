// Audit log: an append-only SQLite file whose entries form a chain of hashes. Thread-safe.
//
// An entry is on the disk when Append() returns OK. What the disk refuses stays in memory and is
// written, in order, by the next Append(), Ready() or Flush().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "daemon/store/database.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

class AuditLog {
 public:
  // Entries in memory while the disk refuses writes. The oldest are dropped beyond it; the chain
  // then has no entry of them, but `dropped()` counts them.
  static constexpr std::size_t kPendingMax = 1'000;

  // `entries_max`: older ones are removed; the file keeps the sequence and the hash of the last one
  // that was removed. `on_entry` is called for each entry that was written, under the lock.
  // FAILED_PRECONDITION if the file belongs to another program, DATA_LOSS if it is damaged.
  using OnEntry = std::function<void(const v1::AuditEntry&)>;
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path, std::uint64_t entries_max,
                                                OnEntry on_entry = {});

  // UNAVAILABLE with the path and the reason while entries cannot be written: changes must not be
  // made then.
  Status Ready() EXCLUDES(mutex_) { return Flush(); }
  // Sets sequence, previous_hash and hash. UNAVAILABLE if it is not on the disk.
  Status Append(v1::AuditEntry entry) EXCLUDES(mutex_);
  Status Flush() EXCLUDES(mutex_);

  // Entries before this sequence, newest first. 0: from the newest one. Entries that cannot be
  // decoded are skipped; Verify() reports them.
  Result<std::vector<v1::AuditEntry>> Before(std::uint64_t sequence, std::uint32_t max)
      EXCLUDES(mutex_);

  // Reads all entries, a part at a time.
  Result<v1::AuditVerification> Verify() EXCLUDES(mutex_);

  // Writes a consistent copy to a new file. ALREADY_EXISTS if there is one.
  Status BackUp(const std::string& path) EXCLUDES(mutex_);

  std::uint64_t pending() const EXCLUDES(mutex_);
  std::uint64_t dropped() const EXCLUDES(mutex_);

 private:
  struct Head {
    std::uint64_t sequence = 0;
    std::string hash;
  };
  struct Statements {
    store::Statement add, before, after, remove, removed_hash, set_removed;
  };
  struct Row {
    std::uint64_t sequence = 0;
    std::optional<v1::AuditEntry> entry;  // Absent: cannot be decoded
  };

  AuditLog(store::Database database, Statements statements, std::uint64_t entries_max,
           OnEntry on_entry);
  Status ReadHeads() REQUIRES(mutex_);
  Status FlushLocked() REQUIRES(mutex_);
  Status Write(std::deque<v1::AuditEntry>& entries) REQUIRES(mutex_);
  Status RemoveOld(const Head& newest, Head& removed) REQUIRES(mutex_);
  Result<std::vector<Row>> Rows(store::Statement& query, std::uint64_t from, std::uint32_t max)
      REQUIRES(mutex_);

  const std::uint64_t entries_max_;
  const OnEntry on_entry_;
  mutable Mutex mutex_;
  store::Database database_ GUARDED_BY(mutex_);
  Statements statements_ GUARDED_BY(mutex_);
  Head newest_ GUARDED_BY(mutex_);
  Head removed_ GUARDED_BY(mutex_);  // The last entry that was removed; 0: none
  std::deque<v1::AuditEntry> pending_ GUARDED_BY(mutex_);
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric::access
