#include "daemon/control/fact_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "proto/snapshot_change.h"
#include "proto/timestamps.h"

namespace fabric::control {
facts::Change FactBook::Compare(const v1::NodeSnapshot& before, const v1::SnapshotChange& report,
                                Moment now) {
  return facts::ChangeOf(before, report, ToProto(now.wall));
}

facts::Change FactBook::Compare(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after,
                                Moment now) {
  const auto report = Difference(before, after);
  return report ? Compare(before, *report, now) : facts::Change();
}

void FactBook::Write(const std::string& node, const facts::Change& change, Moment now) {
  if (begun_.insert(node).second) {
    facts::Change begin;
    *begin.mutable_since() = ToProto(now.wall);
    outbox_.Stored(outbox_.store().AddFactChange(node, begin));
  }
  if (!change.differences().empty()) outbox_.Stored(outbox_.store().AddFactChange(node, change));
}

Status FactBook::Since(const std::string& node, std::uint32_t seconds, Moment now,
                       v1::DiffNodeResponse& response) {
  const WallTime asked = std::max(now.wall - std::chrono::seconds(seconds), WallTime());
  ASSIGN_OR_RETURN(const store::FactLog log, outbox_.store().FactChanges(node, ToProto(asked)));
  for (v1::FactDifference& difference : facts::Together(log.changes))
    *response.add_differences() = std::move(difference);
  // Nothing is known of a node whose log could not be begun.
  const bool known = log.since.seconds() != 0 || log.since.nanos() != 0;
  *response.mutable_since() = ToProto(known ? std::max(asked, FromProto(log.since)) : now.wall);
  return {};
}

}  // namespace fabric::control
