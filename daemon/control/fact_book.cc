#include "daemon/control/fact_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/facts/history.h"
#include "proto/snapshot_change.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// What a change touches; not what is there then.
v1::SnapshotChange NamesOf(const v1::SnapshotChange& change) {
  v1::SnapshotChange names;
  for (const v1::RdmaDevice& device : change.rdma_devices())
    names.add_rdma_devices()->set_name(device.name());
  for (const v1::NetInterface& netdev : change.net_interfaces())
    names.add_net_interfaces()->set_name(netdev.name());
  *names.mutable_removed_rdma_devices() = change.removed_rdma_devices();
  *names.mutable_removed_net_interfaces() = change.removed_net_interfaces();
  *names.mutable_fields() = change.fields();
  return names;
}

}  // namespace

FactBook::Page FactBook::Open(const v1::NodeSnapshot& before, const v1::SnapshotChange& change) {
  Page page{.touched = NamesOf(change), .before = {}};
  page.before = facts::Flatten(before, *page.touched);
  return page;
}

FactBook::Page FactBook::Open(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after) {
  const auto change = Difference(before, after);
  return change ? Open(before, *change) : Page();
}

void FactBook::Close(const Page& page, const v1::NodeSnapshot& after, Moment now) {
  const std::string& node = after.node().name();
  const google::protobuf::Timestamp at = ToProto(now.wall);
  if (begun_.insert(node).second) {
    facts::Change begin;
    *begin.mutable_since() = at;
    outbox_.Stored(outbox_.store().AddFactChange(node, begin));
  }
  if (!page.touched) return;
  const facts::Change change =
      facts::ChangeOf(page.before, facts::Flatten(after, *page.touched), at);
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
