#include "daemon/blame/fabric.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::blame {
namespace {

auto Key(const Endpoint& endpoint) {
  return std::tuple<std::string_view, std::string_view, std::uint32_t>(
      endpoint.node, endpoint.device, endpoint.port);
}

// "port 33 to spine-1 port 4", by port.
std::vector<std::string> LinksOf(const fleet::InfinibandTopology& topology,
                                 const fleet::InfinibandSwitch& leaf) {
  std::vector<std::string> links;
  for (const fleet::SwitchLink& link : leaf.links)
    links.push_back(Format("port {} to {} port {}", link.port, topology.switches()[link.other].name,
                           link.other_port));
  return links;
}

}  // namespace

std::string NameOf(const Endpoint& endpoint) {
  return Format("{}/{}/{}", endpoint.node, endpoint.device, endpoint.port);
}

FabricBuilder::FabricBuilder(const v1::CampaignSpec& spec)
    : nodes_(spec.nodes().begin(), spec.nodes().end()),
      rails_(spec.rails().begin(), spec.rails().end()) {
  if (!nodes_.empty() && !spec.hub().empty()) nodes_.insert(spec.hub());
  fabric_.passes_cables = spec.pattern() == v1::CAMPAIGN_PATTERN_CABLES;
}

void FabricBuilder::Add(const fleet::NodeView& node, const fleet::Sites& sites) {
  if (!nodes_.empty() && !nodes_.contains(node.node->name)) return;
  if (!topology_version_) topology_version_ = sites.infiniband_version();
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail || (!rails_.empty() && !rails_.contains(port.rail->value()))) continue;
    Entry& entry = entries_.emplace_back();
    entry.endpoint = {.node = port.node->name,
                      .device = port.device->name(),
                      .port = port.port->number(),
                      .rail = port.rail->value(),
                      .leaf = sites.Of(port).leaf,
                      .leaf_port = sites.LeafPort(port)};
    const fleet::Attachment* const at = sites.infiniband().Find(*port.device, *port.port);
    if (at != nullptr) entry.attachment = *at;
  }
}

void FabricBuilder::Sort() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return Key(a.endpoint) < Key(b.endpoint); });
}

void FabricBuilder::AddTopology(const fleet::Sites& sites) {
  const fleet::InfinibandTopology& topology = sites.infiniband();
  if (topology.empty() || topology_version_ != sites.infiniband_version()) return;
  for (const fleet::InfinibandSwitch& each : topology.switches())
    fabric_.links_up[each.name] = LinksOf(topology, each);
  fabric_.links_known_at = ToString(ToProto(topology.made_at()));
  Sort();
  std::vector<const fleet::Attachment*> attachments;
  for (const Entry& entry : entries_)
    attachments.push_back(entry.attachment ? &*entry.attachment : nullptr);
  fabric_.routes = {topology, attachments};
}

Fabric FabricBuilder::Build() && {
  Sort();
  for (Entry& entry : entries_) fabric_.endpoints.push_back(std::move(entry.endpoint));
  return std::move(fabric_);
}

Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites,
                const v1::CampaignSpec& spec) {
  FabricBuilder builder(spec);
  for (const fleet::NodeView& node : fleet.nodes()) builder.Add(node, sites);
  builder.AddTopology(sites);
  return std::move(builder).Build();
}

std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port) {
  const Endpoint request{.node = port.node(), .device = port.device(), .port = port.port()};
  const auto at =
      std::lower_bound(fabric.endpoints.begin(), fabric.endpoints.end(), request,
                       [](const Endpoint& a, const Endpoint& b) { return Key(a) < Key(b); });
  if (at == fabric.endpoints.end() || Key(*at) != Key(request)) return std::nullopt;
  return static_cast<std::uint32_t>(at - fabric.endpoints.begin());
}

}  // namespace fabric::blame
