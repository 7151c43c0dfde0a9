#include "daemon/live_subnets.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"
#include "subnet/changes.h"
#include "subnet/files/formats.h"
#include "subnet/wire/snapshot_parts.h"

namespace fabric {
namespace {

// GUIDs of the ports of adapters, which agents report too.
std::unordered_set<std::uint64_t> PortsOf(const subnet::Subnet& subnet) {
  std::unordered_set<std::uint64_t> ports;
  for (const subnet::Node& node : subnet.nodes())
    if (node.type == subnet::NodeType::kAdapter)
      for (const subnet::Port& port : node.ports)
        if (port.guid != 0) ports.insert(port.guid);
  return ports;
}

}  // namespace

LiveSubnets::LiveSubnets()
    : check_(*v1::SubnetSnapshot::descriptor(), BoundOf("subnet_snapshot_bytes"),
             BoundOf("subnet_snapshot_memory")) {}

Result<control::SubnetContent> LiveSubnets::Decode(const control::SubnetNews& news,
                                                   SubnetFiles& subnets) {
  std::string& last = encoded_[news.subnet];
  std::uint64_t bytes = news.frame->size;
  for (const auto& [name, encoded] : encoded_) bytes += name == news.subnet ? 0 : encoded.size();
  if (bytes > Limit("subnet_snapshots_bytes"))
    return ToStatus({.bound = &BoundOf("subnet_snapshots_bytes"), .seen = bytes});
  ASSIGN_OR_RETURN(std::string encoded, subnet::Decompress(*news.frame, last));
  if (const auto result = check_.Check(encoded); result.excess) return ToStatus(*result.excess);
  v1::SubnetSnapshot snapshot;
  if (!snapshot.ParseFromString(encoded))
    return Status(Code::kInvalidArgument, "expected an encoded SubnetSnapshot, saw other bytes");
  ClearInvalidTimestamps(snapshot);
  subnet::Builder builder;
  subnet::AddSnapshot(news.source, snapshot, builder);
  subnet::Subnet subnet = builder.Finish();
  if (subnet.Cables().empty())
    return Status(Code::kFailedPrecondition, "expected a subnet with cables, saw none");
  control::SubnetContent content{.info = Describe(subnet), .ports = PortsOf(subnet), .frame = {}};
  *content.info.mutable_read_at() = snapshot.finished_at();
  content.info.set_message_bytes(news.frame->data.size());
  ASSIGN_OR_RETURN(content.frame, subnet::Compress(encoded, {}));
  if (const subnet::Subnet* const before = subnets.Live(news.subnet)) {
    bool& settled = settled_[news.subnet];
    content.changes = subnet::ChangesBetween(*before, subnet, settled);
    settled = content.changes.total() == 0 && snapshot.changed().empty() &&
              subnet::HaveSameLinks(*before, subnet);
  }
  content.changes.set_subnet(news.subnet);
  subnets.PutLive(news.subnet, std::move(subnet), FromProto(snapshot.finished_at()));
  last = std::move(encoded);
  return content;
}

bool LiveSubnets::Update(control::Controller& controller, SubnetFiles& subnets, Moment now) {
  bool changed = subnets.SetLimits(controller.FleetExpectations());
  for (const control::SubnetNews& news : controller.TakeSubnetNews()) {
    changed = true;
    if (!news.frame) {
      subnets.DropLive(news.subnet);
      encoded_.erase(news.subnet);
      settled_.erase(news.subnet);
      continue;
    }
    const bool first = encoded_[news.subnet].empty();
    auto content = Decode(news, subnets);
    if (content.ok() && first)
      log::Info("subnet {}: read by {}: {} switches, {} adapters, {} cables", news.subnet,
                news.source, content->info.switches(), content->info.adapters(),
                content->info.cables());
    if (!content.ok())
      log::Warning("subnet {}: {}: {}", news.subnet, news.source, content.status().message());
    controller.OnSubnetDecoded(news.subnet, std::move(content), now);
  }
  std::map<std::string, std::string> problems = controller.SubnetProblems();
  for (const auto& [name, problem] : problems)
    if (subnets.IsNewProblem(name, problem)) log::Warning("subnet {}: {}", name, problem);
  return subnets.SetProblems(std::move(problems)) || changed;
}

}  // namespace fabric
