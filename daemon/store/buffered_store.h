// Store for a service that must outlive its disk. Writes never fail: what the disk refuses is kept
// in memory, answered by reads, and written when the disk accepts it again. What a person orders
// goes through Durably(), which fails instead. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/store.h"

namespace fabric::store {

// Condition of the store, for logs and metrics.
struct Condition {
  Status failure = {};                 // Of the last write. OK: all writes are in the file.
  std::optional<WallTime> since = {};  // Set with `failure`
  std::uint64_t pending = 0;           // Writes in memory
  std::uint64_t failed = 0;            // Attempts, since the start
  std::uint64_t dropped = 0;           // Writes beyond the limit, or refused for good
  Damage damage = {};
};

class BufferedStore {
 public:
  // Limit of the pending writes. Beyond it, the oldest of the least valuable ones are dropped:
  // snapshots and counters first, then changes, results, campaigns; transitions of findings last.
  static constexpr std::size_t kPendingBytesMax = 64 << 20;

  // The store is borrowed. `pending_bytes_max`: for tests.
  explicit BufferedStore(Store& store, std::size_t pending_bytes_max = kPendingBytesMax)
      : store_(store), pending_bytes_max_(pending_bytes_max) {}

  // As in Store.
  void PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory);
  void PutFinding(const v1::Finding& finding, const v1::FindingRecord& record);
  void PutCampaign(const v1::Campaign& campaign);
  void PutCertificate(const v1::GetCertificateResponse& certificate);
  void PutSchedule(const v1::ScheduleRecord& schedule);
  void PutSubnetHistory(const v1::SubnetHistory& history);
  // Not repeated: a row that stays takes room, and nothing else.
  void DeleteSubnetHistory(const std::string& subnet);
  void AddPairResults(std::span<const CampaignResult> results);
  void AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change);
  void AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark);

  // Writes wait from BeginBatch() to EndBatch(), which writes them as one transaction. Snapshots
  // and counters do not wait, because they are expensive to copy.
  void BeginBatch() { in_batch_ = true; }
  void EndBatch();

  // All of `writes`, or none of it: UNAVAILABLE with the reason. After success they survive a power
  // failure.
  Status Durably(const std::function<Status(Store&)>& writes);

  // A copy of the file at PATH.backup-TIME, in steps between which the store can be used.
  // UNAVAILABLE when there are pending writes that the disk refuses.
  struct BackupRun {
    std::unique_ptr<BackupSteps> steps;
    v1::Backup backup;
  };
  Result<BackupRun> BeginBackup(Moment now);
  void EndBackup(const v1::Backup& backup) { last_backup_ = backup; }
  // Removes all but the newest kBackupsMax copies of the file with this path.
  static constexpr std::size_t kBackupsMax = 5;
  static void RemoveOldBackups(const std::string& path);
  const std::optional<v1::Backup>& last_backup() const { return last_backup_; }

  // Reads: as in Store, with the pending writes.
  Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max);
  Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix, std::uint32_t max);
  Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id);
  Result<std::vector<ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                         std::uint32_t max);
  Result<ChangeLog> SettingChanges(const std::string& node,
                                   const google::protobuf::Timestamp& from);
  Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                           const google::protobuf::Timestamp& at);

  // Call often: repeats pending writes once a second, and removes old rows. Each call does a
  // bounded amount of work.
  void Tick(Moment now);

  Condition condition() const;
  Store& file() { return store_; }  // For reads at the start

 private:
  struct Transition {
    v1::Finding finding;
    v1::FindingRecord record;
  };
  struct Change {
    std::string node;
    v1::DiffNodeResponse change;
  };
  struct Mark {
    std::string node;
    v1::DiffNodeResponse mark;
  };
  using Batch = std::vector<CampaignResult>;
  using Write =
      std::variant<Transition, v1::GetCertificateResponse, v1::ScheduleRecord, v1::Campaign, Batch,
                   v1::SubnetHistory, Change, StoredNode, Mark>;  // The most valuable first
  struct Pending {
    Write write;
    std::string key;  // A later write with this key replaces it. Empty: none does.
    std::size_t bytes;
  };
  using Queue = std::deque<Pending>;

  // A write is tried at once if it is not part of a batch and no other one is before it.
  bool MayWrite() const { return pending_count_ == 0 && !in_batch_; }
  // Also before those that wait for the end of the batch only
  bool MayWriteFirst() const {
    return pending_count_ == 0 || (in_batch_ && condition_.failure.ok());
  }
  void Note(const Status& status);
  bool Accepted(const Status& status);
  void Keep(Write write, std::string key, std::size_t bytes);
  void DropBeyondLimit();
  void Pop(Queue& queue);
  bool Repeat(std::size_t writes_max);
  Status ApplyFirst(std::size_t writes_max);
  Status Apply(const Write& write);
  template <class Kind, class Take>
  void ForEachPending(Take take) const;

  Store& store_;
  const std::size_t pending_bytes_max_;
  std::array<Queue, std::variant_size_v<Write>> pending_;  // By kind
  std::unordered_map<std::string, Pending*> replaceable_;  // By key
  bool in_batch_ = false;
  std::size_t pending_count_ = 0;
  std::size_t pending_bytes_ = 0;
  Condition condition_;
  std::optional<Moment> ticked_;
  SteadyTime repeated_at_{};
  std::optional<SteadyTime> maintained_at_;
  std::uint64_t written_ = 0;  // Since the last maintenance
  bool maintenance_due_ = true;
  std::optional<v1::Backup> last_backup_;
};

}  // namespace fabric::store
