#include "daemon/plan/ports.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "proto/names.h"

namespace fabric::plan {
namespace {

using fleet::PortView;

// A port that sends more than this carries traffic that a probe would disturb: a thousandth of its
// rate, and no less than what neighbour discovery and monitoring may come to.
constexpr double kIdleShareMax = 0.001;
constexpr double kIdleBytesPerSecondMax = 1e6;

// How busy the port is; empty when it is idle or nobody knows.
std::string Traffic(const PortView& port) {
  const auto sent = port.node->motion.Moved(port.counters, fleet::Count::kTransmittedBytes);
  if (!sent) return {};
  const double line_bytes_per_second = static_cast<double>(port.port->rate_bps()) / 8;
  const double idle = std::max(kIdleBytesPerSecondMax, kIdleShareMax * line_bytes_per_second);
  if (sent->PerSecond() <= idle) return {};
  return Format("busy: it sends {}", BitRate(8 * sent->PerSecond()));
}

// Why the port cannot be probed; empty when it can.
std::string Obstacle(const PortView& port) {
  if (!port.port->has_state()) return "state of the port is not known";
  if (port.port->state() != v1::PORT_STATE_ACTIVE)
    return Format("port is {}", Name(port.port->state()));
  if (port.device->protocol() == v1::PROTOCOL_IWARP) return "iWARP cannot be probed yet";
  if (fleet::UsableGid(*port.device, *port.port) == nullptr) return "port has no usable GID";
  return {};
}

// Leaf switches by chassis, as they are met.
class Leaves {
 public:
  LeafIndex Of(const PortView& port, std::vector<std::string>& names) {
    const v1::LldpNeighbor* const neighbor = port.neighbor;
    if (neighbor == nullptr) return kNoLeaf;
    const std::string& chassis = neighbor->chassis_id();
    const std::string& name = neighbor->system_name();
    if (chassis.empty() && name.empty()) return kNoLeaf;
    const auto [at, added] =
        known_.emplace(chassis.empty() ? name : chassis, static_cast<LeafIndex>(known_.size()));
    if (added) names.push_back(name.empty() ? chassis : name);
    return at->second;
  }

 private:
  std::map<std::string, LeafIndex> known_;
};

Status CheckNode(const fleet::FleetView& fleet, std::string_view field, const std::string& node) {
  if (fleet.Find(node) != nullptr) return {};
  std::vector<std::string_view> names;
  for (const fleet::NodeView& known : fleet.nodes()) names.push_back(known.node->name);
  const std::string_view closest = Closest(node, names);
  return {Code::kInvalidArgument,
          Format("{}: no node {} is connected{}", field, Quoted(node),
                 closest.empty() ? std::string() : Format("; did you mean {}?", closest))};
}

Status CheckNodes(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::string& node : spec.nodes()) RETURN_IF_ERROR(CheckNode(fleet, "nodes", node));
  return spec.hub().empty() ? Status() : CheckNode(fleet, "hub", spec.hub());
}

Status CheckRails(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::uint32_t rail : spec.rails()) {
    if (rail < fleet.rails().size()) continue;
    return {Code::kInvalidArgument,
            fleet.rails().empty() ? Format("rails: no rail {}, the connected nodes have none", rail)
                                  : Format("rails: no rail {}, the connected nodes have 0 to {}",
                                           rail, fleet.rails().size() - 1)};
  }
  return {};
}

v1::ProbePort ToProbePort(const PortView& port) {
  v1::ProbePort out;
  out.set_node(port.node->name);
  out.set_device(port.device->name());
  out.set_port(port.port->number());
  out.set_rail(port.rail->value());
  return out;
}

}  // namespace

Result<Candidates> FindPorts(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                             const std::set<std::string>& probed_lately) {
  RETURN_IF_ERROR(CheckNodes(fleet, spec));
  RETURN_IF_ERROR(CheckRails(fleet, spec));
  std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  if (!nodes.empty() && !spec.hub().empty()) nodes.insert(spec.hub());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());

  Candidates found;
  Leaves leaves;
  for (std::uint32_t rail = 0; rail < fleet.rails().size(); ++rail) {
    if (!rails.empty() && !rails.contains(rail)) continue;
    for (const PortView& view : fleet.rails()[rail]) {
      if (!nodes.empty() && !nodes.contains(view.node->name)) continue;
      v1::ProbePort port = ToProbePort(view);
      std::string obstacle = Obstacle(view);
      if (obstacle.empty() && !spec.include_busy() && !probed_lately.contains(PortName(port)))
        obstacle = Traffic(view);
      if (!obstacle.empty())
        found.skipped.push_back(Format("{}: {}", PortName(port), obstacle));
      else
        found.ports.push_back({.port = std::move(port),
                               .network = view.port->link_layer(),
                               .leaf = leaves.Of(view, found.leaf_names)});
    }
  }
  return found;
}

}  // namespace fabric::plan
