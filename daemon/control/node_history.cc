#include "daemon/control/node_history.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "proto/snapshot_change.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr Duration kMarkEvery = std::chrono::hours(1);

}  // namespace

snapshot_diff::Change NodeHistory::Compare(const v1::NodeSnapshot& before,
                                           const v1::SnapshotChange& report, Moment now) {
  return snapshot_diff::ChangeOf(before, report, ToProto(now.wall));
}

snapshot_diff::Change NodeHistory::Compare(const v1::NodeSnapshot& before,
                                           const v1::NodeSnapshot& after, Moment now) {
  const auto report = Difference(before, after);
  return report ? Compare(before, *report, now) : snapshot_diff::Change();
}

void NodeHistory::Write(const std::string& node, const snapshot_diff::Change& change, Moment now) {
  if (begun_.insert(node).second) {
    snapshot_diff::Change begin;
    *begin.mutable_since() = ToProto(now.wall);
    outbox_.store().AddSettingChange(node, begin);
  }
  if (!change.differences().empty()) outbox_.store().AddSettingChange(node, change);
}

void NodeHistory::SetKnown(const std::string& node, Moment now) {
  const auto sooner = std::hash<std::string>()(node) % static_cast<std::size_t>(kMarkEvery.count());
  marked_[node] = now.steady - Duration(static_cast<Duration::rep>(sooner));
}

void NodeHistory::Forget(const std::string& node) {
  begun_.erase(node);
  marked_.erase(node);
}

void NodeHistory::Mark(const v1::NodeSnapshot& snapshot, Moment now) {
  const auto [at, first] = marked_.try_emplace(snapshot.node().name(), now.steady);
  if (!first && now.steady - at->second < kMarkEvery) return;
  const snapshot_diff::Change mark = snapshot_diff::MarkOf(snapshot, ToProto(now.wall));
  if (mark.differences().empty()) {
    marked_.erase(at);  // They come later.
    return;
  }
  outbox_.store().AddCounterMark(snapshot.node().name(), mark);
  at->second = now.steady;
}

Status NodeHistory::Since(const v1::NodeSnapshot& snapshot, std::uint32_t seconds, Moment now,
                          v1::DiffNodeResponse& response) {
  const std::string& node = snapshot.node().name();
  const WallTime asked = std::max(now.wall - std::chrono::seconds(seconds), WallTime());
  ASSIGN_OR_RETURN(const store::ChangeLog log,
                   outbox_.store().SettingChanges(node, ToProto(asked)));
  for (v1::FieldDifference& difference : snapshot_diff::Together(log.changes))
    *response.add_differences() = std::move(difference);
  // Nothing is known of a node whose log could not be begun.
  const bool known = log.since.seconds() != 0 || log.since.nanos() != 0;
  *response.mutable_since() = ToProto(known ? std::max(asked, FromProto(log.since)) : now.wall);
  ASSIGN_OR_RETURN(const v1::DiffNodeResponse mark,
                   outbox_.store().CounterMark(node, ToProto(asked)));
  if (!mark.has_since()) return {};
  *response.mutable_counters_since() = mark.since();
  for (v1::FieldDifference& counter : snapshot_diff::SinceMark(mark, snapshot))
    *response.add_differences() = std::move(counter);
  return {};
}

}  // namespace fabric::control
