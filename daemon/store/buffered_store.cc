#include "daemon/store/buffered_store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/store/recovery.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

constexpr Duration kRepeatEvery = std::chrono::seconds(1);
constexpr Duration kMaintainEvery = std::chrono::minutes(10);
constexpr std::uint64_t kWritesBetween = 1'000;  // Two maintenances
constexpr std::size_t kRepeatedAtOnce = 200;     // By one Tick
constexpr std::size_t kEntryBytes = 200;         // Of a pending write without its message

// Whether the same write can succeed later.
bool IsTemporary(const Status& status) {
  switch (status.code()) {
    case Code::kUnavailable:
    case Code::kPermissionDenied:  // A file system that became read-only
    case Code::kDataLoss: return true;
    default: return false;
  }
}

// Position of the first pending result: behind those in the file.
constexpr std::int64_t kFirstPending = std::int64_t{1} << 62;
constexpr std::string_view kBackupInfix = ".backup-";
constexpr int kBackupsInASecond = 9;

// The path, or with "-2" to "-9" behind it if there is such a file, so that names stay ordered.
Result<std::string> FreePath(const std::string& path) {
  std::error_code ignored;
  for (int number = 1; number <= kBackupsInASecond; ++number) {
    std::string free = number == 1 ? path : Format("{}-{}", path, number);
    if (!std::filesystem::exists(free, ignored)) return free;
  }
  return Status(Code::kAlreadyExists,
                Format("{}: expected at most {} backups in a second", path, kBackupsInASecond));
}

}  // namespace

void BufferedStore::Note(const Status& status) {
  if (status.ok()) {
    ++written_;
    return;
  }
  if (condition_.failure.ok()) condition_.since = ticked_ ? ticked_->wall : WallTime();
  condition_.failure = status;
  ++condition_.failed;
}

// Whether the write needs no further attempt.
bool BufferedStore::Accepted(const Status& status) {
  Note(status);
  if (status.ok()) return true;
  if (IsTemporary(status)) return false;
  ++condition_.dropped;
  return true;
}

void BufferedStore::Keep(Write write, std::string key, std::size_t bytes) {
  bytes += kEntryBytes + key.size();
  if (const auto known = replaceable_.find(key); !key.empty() && known != replaceable_.end()) {
    Pending& pending = *known->second;
    pending_bytes_ += bytes - pending.bytes;
    pending.write = std::move(write);
    pending.bytes = bytes;
  } else {
    Queue& queue = pending_[write.index()];
    queue.push_back({.write = std::move(write), .key = std::move(key), .bytes = bytes});
    if (!queue.back().key.empty()) replaceable_[queue.back().key] = &queue.back();
    ++pending_count_;
    pending_bytes_ += bytes;
  }
  DropBeyondLimit();
}

void BufferedStore::DropBeyondLimit() {
  for (auto queue = pending_.rbegin(); queue != pending_.rend(); ++queue)
    while (pending_bytes_ > pending_bytes_max_ && !queue->empty()) {
      Pop(*queue);
      ++condition_.dropped;
    }
}

void BufferedStore::Pop(Queue& queue) {
  const Pending& first = queue.front();
  if (!first.key.empty()) replaceable_.erase(first.key);
  pending_bytes_ -= first.bytes;
  --pending_count_;
  queue.pop_front();
}

void BufferedStore::PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) {
  if (MayWriteFirst() && Accepted(store_.PutNode(snapshot, memory))) return;
  Keep(StoredNode{snapshot, memory}, "node " + snapshot.node().name(),
       snapshot.ByteSizeLong() + memory.ByteSizeLong());
}

void BufferedStore::PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) {
  if (MayWrite() && Accepted(store_.PutFinding(finding, record))) return;
  Keep(Transition{finding, record}, "", finding.ByteSizeLong() + record.ByteSizeLong());
}

void BufferedStore::PutCampaign(const v1::Campaign& campaign) {
  if (MayWrite() && Accepted(store_.PutCampaign(campaign))) return;
  Keep(campaign, "campaign " + campaign.id(), campaign.ByteSizeLong());
}

void BufferedStore::PutCertificate(const v1::GetCertificateResponse& certificate) {
  if (MayWrite() && Accepted(store_.PutCertificate(certificate))) return;
  Keep(certificate, "certificate " + certificate.certificate().id(), certificate.ByteSizeLong());
}

void BufferedStore::PutSchedule(const v1::ScheduleRecord& schedule) {
  if (MayWrite() && Accepted(store_.PutSchedule(schedule))) return;
  Keep(schedule, "schedule " + schedule.schedule().id(), schedule.ByteSizeLong());
}

void BufferedStore::PutSubnetHistory(const v1::SubnetHistory& history) {
  if (MayWrite() && Accepted(store_.PutSubnetHistory(history))) return;
  Keep(history, "subnet history " + history.subnet(), history.ByteSizeLong());
}

void BufferedStore::DeleteSubnetHistory(const std::string& subnet) {
  (void)Accepted(store_.DeleteSubnetHistory(subnet));
}

void BufferedStore::AddPairResults(std::span<const CampaignResult> results) {
  if (MayWrite() && Accepted(store_.AddPairResults(results))) return;
  std::size_t bytes = 0;
  for (const CampaignResult& one : results) bytes += kEntryBytes + one.result.ByteSizeLong();
  Keep(Batch(results.begin(), results.end()), "", bytes);
}

void BufferedStore::AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) {
  if (MayWrite() && Accepted(store_.AddSettingChange(node, change))) return;
  Keep(Change{node, change}, "", node.size() + change.ByteSizeLong());
}

void BufferedStore::AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) {
  if (MayWriteFirst() && Accepted(store_.AddCounterMark(node, mark))) return;
  Keep(Mark{node, mark}, "", node.size() + mark.ByteSizeLong());
}

Status BufferedStore::Apply(const Write& write) {
  return std::visit(
      [&](const auto& kept) {
        using Kind = std::decay_t<decltype(kept)>;
        if constexpr (std::is_same_v<Kind, Transition>)
          return store_.PutFinding(kept.finding, kept.record);
        else if constexpr (std::is_same_v<Kind, v1::GetCertificateResponse>)
          return store_.PutCertificate(kept);
        else if constexpr (std::is_same_v<Kind, v1::ScheduleRecord>)
          return store_.PutSchedule(kept);
        else if constexpr (std::is_same_v<Kind, v1::SubnetHistory>)
          return store_.PutSubnetHistory(kept);
        else if constexpr (std::is_same_v<Kind, v1::Campaign>)
          return store_.PutCampaign(kept);
        else if constexpr (std::is_same_v<Kind, Batch>)
          return store_.AddPairResults(kept);
        else if constexpr (std::is_same_v<Kind, Change>)
          return store_.AddSettingChange(kept.node, kept.change);
        else if constexpr (std::is_same_v<Kind, StoredNode>)
          return store_.PutNode(kept.snapshot, kept.memory);
        else
          return store_.AddCounterMark(kept.node, kept.mark);
      },
      write);
}

// Writes the first pending entries until one fails.
Status BufferedStore::ApplyFirst(std::size_t writes_max) {
  for (const Queue& queue : pending_)
    for (const Pending& pending : queue) {
      if (writes_max-- == 0) return {};
      RETURN_IF_ERROR(Apply(pending.write));
    }
  return {};
}

// Writes pending entries, at most so many. False: the disk refused one.
bool BufferedStore::Repeat(std::size_t writes_max) {
  writes_max = std::min(writes_max, pending_count_);
  // One transaction, unless the store refuses one of them for good.
  Status together = Status(Code::kInternal, "");
  if (writes_max > 1) together = store_.Together([&] { return ApplyFirst(writes_max); });
  if (IsTemporary(together)) {
    Note(together);
    return false;
  }
  for (Queue& queue : pending_)
    for (; !queue.empty() && writes_max > 0; --writes_max) {
      if (together.ok())
        ++written_;
      else if (!Accepted(Apply(queue.front().write)))
        return false;
      Pop(queue);
    }
  return true;
}

// While the disk fails, Tick() repeats.
void BufferedStore::EndBatch() {
  in_batch_ = false;
  if (condition_.failure.ok()) (void)Repeat(pending_count_);
}

Status BufferedStore::Durably(const std::function<Status(Store&)>& writes) {
  // Earlier writes first: they may be about the same finding.
  if (!Repeat(pending_count_)) return {Code::kUnavailable, condition_.failure.message()};
  const Status status = store_.Durably([&] { return writes(store_); });
  Note(status);
  if (!status.ok()) return {Code::kUnavailable, status.message()};
  condition_.failure = Status();
  return {};
}

Result<BufferedStore::BackupRun> BufferedStore::BeginBackup(Moment now) {
  if (!Repeat(pending_count_)) return Status(Code::kUnavailable, condition_.failure.message());
  BackupRun run;
  ASSIGN_OR_RETURN(const std::string path,
                   FreePath(Format("{}{}{}", store_.path(), kBackupInfix, FileStamp(now.wall))));
  run.backup.set_path(path);
  *run.backup.mutable_created_at() = ToProto(now.wall);
  ASSIGN_OR_RETURN(run.steps, store_.BeginBackup(run.backup.path()));
  return run;
}

// Their names are ordered by time.
void BufferedStore::RemoveOldBackups(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string prefix = file.filename().string() + std::string(kBackupInfix);
  std::error_code ignored;
  // A backup has files next to it, whose names have another end.
  std::map<std::string, std::vector<std::filesystem::path>> backups;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    backups[name.substr(0, name.find('.', prefix.size()))].push_back(entry.path());
  }
  for (; backups.size() > kBackupsMax; backups.erase(backups.begin()))
    for (const std::filesystem::path& one : backups.begin()->second)
      std::filesystem::remove(one, ignored);
}

void BufferedStore::Tick(Moment now) {
  const Moment last = std::exchange(ticked_, now).value_or(now);
  const bool failing = !condition_.failure.ok();
  if (failing && now.steady - repeated_at_ < kRepeatEvery) return;
  repeated_at_ = now.steady;
  if (pending_count_ > 0) {
    if (Repeat(kRepeatedAtOnce)) repeated_at_ = SteadyTime();  // Continues with the next Tick
    return;
  }
  const Duration ran = now.steady - maintained_at_.value_or(last.steady);
  if (!failing && !maintenance_due_ && ran < kMaintainEvery && written_ < kWritesBetween) return;
  const Result<bool> more = store_.Maintain(ran, now.wall);
  Note(more.status());
  if (!more.ok()) return;
  condition_.failure = Status();
  maintained_at_ = now.steady;
  maintenance_due_ = *more;
  written_ = 0;
}

Condition BufferedStore::condition() const {
  Condition condition = condition_;
  condition.pending = pending_count_;
  condition.damage = store_.damage();
  if (condition.failure.ok()) condition.since.reset();
  return condition;
}

template <class Kind, class Take>
void BufferedStore::ForEachPending(Take take) const {
  for (const Queue& queue : pending_)
    for (const Pending& pending : queue)
      if (const Kind* const kept = std::get_if<Kind>(&pending.write)) take(*kept);
}

Result<std::vector<v1::Finding>> BufferedStore::ResolvedFindings(std::uint32_t max) {
  ASSIGN_OR_RETURN(std::vector<v1::Finding> findings, store_.ResolvedFindings(max));
  ForEachPending<Transition>([&](const Transition& kept) {
    if (kept.finding.state() == v1::FINDING_STATE_RESOLVED)
      findings.insert(findings.begin(), kept.finding);
  });
  if (findings.size() > max) findings.resize(max);
  return findings;
}

Result<std::vector<v1::Finding>> BufferedStore::FindingsFrom(const std::string& prefix,
                                                             std::uint32_t max) {
  ASSIGN_OR_RETURN(const std::vector<v1::Finding> stored, store_.FindingsFrom(prefix, max));
  std::map<std::string, v1::Finding> findings;
  for (const v1::Finding& finding : stored) findings[finding.id()] = finding;
  ForEachPending<Transition>([&](const Transition& kept) {
    if (kept.finding.id().starts_with(prefix)) findings[kept.finding.id()] = kept.finding;
  });
  std::vector<v1::Finding> answer;
  for (auto& [id, finding] : findings)
    if (answer.size() < max) answer.push_back(std::move(finding));
  return answer;
}

Result<std::vector<v1::FindingRecord>> BufferedStore::FindingHistory(const std::string& id) {
  ASSIGN_OR_RETURN(std::vector<v1::FindingRecord> records, store_.FindingHistory(id));
  ForEachPending<Transition>([&](const Transition& kept) {
    if (kept.finding.id() == id) records.push_back(kept.record);
  });
  return records;
}

Result<std::vector<ResultRow>> BufferedStore::Results(const std::string& campaign,
                                                      std::int64_t after, std::uint32_t max) {
  std::vector<ResultRow> rows;
  if (after < kFirstPending) {
    ASSIGN_OR_RETURN(rows, store_.Results(campaign, after, max));
  }
  std::int64_t position = kFirstPending;
  ForEachPending<Batch>([&](const Batch& kept) {
    for (const CampaignResult& one : kept) {
      if (one.campaign != campaign) continue;
      if (++position > after && rows.size() < max)
        rows.push_back({.sequence = position, .result = one.result});
    }
  });
  return rows;
}

Result<ChangeLog> BufferedStore::SettingChanges(const std::string& node,
                                                const google::protobuf::Timestamp& from) {
  ASSIGN_OR_RETURN(ChangeLog log, store_.SettingChanges(node, from));
  ForEachPending<Change>([&](const Change& kept) {
    if (kept.node != node) return;
    if (!kept.change.differences().empty()) {
      if (Nanoseconds(kept.change.since()) >= Nanoseconds(from)) log.changes.push_back(kept.change);
    } else if (Nanoseconds(log.since) == 0) {
      log.since = kept.change.since();
    }
  });
  return log;
}

Result<v1::DiffNodeResponse> BufferedStore::CounterMark(const std::string& node,
                                                        const google::protobuf::Timestamp& at) {
  ASSIGN_OR_RETURN(v1::DiffNodeResponse mark, store_.CounterMark(node, at));
  ForEachPending<Mark>([&](const Mark& kept) {
    const bool first = !mark.has_since();
    if (kept.node == node && (first || Nanoseconds(kept.mark.since()) <= Nanoseconds(at)))
      mark = kept.mark;
  });
  return mark;
}

}  // namespace fabric::store
