#include "daemon/plan/ports.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/suggest.h"
#include "base/text.h"
#include "proto/coverage.h"
#include "proto/names.h"

namespace fabric::plan {
namespace {

using fleet::PortView;

// A port that sends more than this is busy: 1/1000 of its rate, at least the traffic of neighbor
// discovery and monitoring.
constexpr double kIdleShareMax = 0.001;
constexpr double kIdleBytesPerSecondMax = 1e6;

// Text about a busy port; empty when it is idle or its rate is not known.
std::string Traffic(const PortView& port) {
  const auto sent = port.node->rates.IncreaseOf(port.counters, fleet::Count::kTransmittedBytes);
  if (!sent) return {};
  const double line_bytes_per_second = static_cast<double>(port.port->rate_bps()) / 8;
  const double idle = std::max(kIdleBytesPerSecondMax, kIdleShareMax * line_bytes_per_second);
  if (sent->PerSecond() <= idle) return {};
  return Format("busy: sends {}", BitRate(8 * sent->PerSecond()));
}

// Reason why the port cannot be probed; empty: none. `check_traffic`: busy ports cannot.
std::optional<v1::CoverageGap> Obstacle(const PortView& view, const v1::ProbePort& port,
                                        bool check_traffic) {
  if (!view.node->maintenance.empty())
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_MAINTENANCE,
                         "node is in maintenance " + view.node->maintenance);
  if (!view.port->has_state())
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PORT_NOT_ACTIVE, "port state not reported");
  if (view.port->state() != v1::PORT_STATE_ACTIVE)
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PORT_NOT_ACTIVE,
                         Format("port is {}", Name(view.port->state())));
  if (view.device->protocol() == v1::PROTOCOL_IWARP)
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PROTOCOL_UNSUPPORTED,
                         "iWARP is not supported");
  if (fleet::UsableGid(*view.device, *view.port) == nullptr)
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_NO_USABLE_GID, "port has no usable GID");
  if (!check_traffic) return {};
  std::string traffic = Traffic(view);
  if (traffic.empty()) return {};
  return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PORT_BUSY, std::move(traffic));
}

// Numbers leaf switches and pods. LLDP neighbors are distinguished by chassis id; the profile has
// names only.
class Locations {
 public:
  Locations(const fleet::Sites& sites, Candidates& out) : sites_(sites), out_(out) {}

  // Call for all ports before Locate(): registers the chassis ids of leaf names.
  void AddNeighbor(const PortView& port) {
    const fleet::Site site = sites_.Of(port);
    if (port.neighbor != nullptr && !site.leaf.empty()) (void)LeafOf(port, site);
  }

  void Locate(const PortView& view, Port& port) {
    const fleet::Site site = sites_.Of(view);
    if (!site.leaf.empty()) port.leaf = LeafOf(view, site);
    if (site.pod.empty()) return;
    const auto [at, added] = pods_.emplace(site.pod, static_cast<PodIndex>(out_.pod_names.size()));
    if (added) out_.pod_names.push_back(site.pod);
    port.pod = at->second;
  }

 private:
  LeafIndex LeafOf(const PortView& port, const fleet::Site& site) {
    const std::string chassis =
        port.neighbor == nullptr ? std::string() : port.neighbor->chassis_id();
    if (chassis.empty())
      if (const auto known = by_name_.find(site.leaf); known != by_name_.end())
        return known->second;
    const auto [at, added] = by_chassis_.emplace(chassis.empty() ? site.leaf : chassis,
                                                 static_cast<LeafIndex>(out_.leaf_names.size()));
    if (added) {
      out_.leaf_names.push_back(site.leaf);
      by_name_.emplace(site.leaf, at->second);
    }
    return at->second;
  }

  const fleet::Sites& sites_;
  Candidates& out_;
  std::map<std::string, LeafIndex> by_chassis_, by_name_;
  std::map<std::string, PodIndex> pods_;
};

Status CheckNode(const fleet::FleetView& fleet, std::string_view field, const std::string& node) {
  if (fleet.Find(node) != nullptr) return {};
  std::vector<std::string_view> names;
  for (const fleet::NodeView& known : fleet.nodes()) names.push_back(known.node->name);
  return Status(Code::kInvalidArgument, UnknownName("node", node, names)).In(field);
}

Status CheckNodes(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::string& node : spec.nodes()) RETURN_IF_ERROR(CheckNode(fleet, "nodes", node));
  return spec.hub().empty() ? Status() : CheckNode(fleet, "hub", spec.hub());
}

Status CheckRails(const fleet::FleetView& fleet, const v1::CampaignSpec& spec) {
  for (const std::uint32_t rail : spec.rails()) {
    if (rail < fleet.rails().size()) continue;
    return {Code::kInvalidArgument,
            fleet.rails().empty()
                ? Format("rails: unknown rail {}; the connected nodes have none", rail)
                : Format("rails: unknown rail {}; the connected nodes have 0 to {}", rail,
                         fleet.rails().size() - 1)};
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
                             const std::set<std::string>& probed_lately,
                             const fleet::Sites& sites) {
  RETURN_IF_ERROR(CheckNodes(fleet, spec));
  RETURN_IF_ERROR(CheckRails(fleet, spec));
  std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  if (!nodes.empty() && !spec.hub().empty()) nodes.insert(spec.hub());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());

  Candidates found;
  Locations locations(sites, found);
  for (const auto& rail : fleet.rails())
    for (const PortView& view : rail) locations.AddNeighbor(view);
  for (std::uint32_t rail = 0; rail < fleet.rails().size(); ++rail) {
    if (!rails.empty() && !rails.contains(rail)) continue;
    for (const PortView& view : fleet.rails()[rail]) {
      if (!nodes.empty() && !nodes.contains(view.node->name)) continue;
      Port port{.port = ToProbePort(view), .network = view.port->link_layer()};
      const bool check_traffic =
          !spec.include_busy() && !probed_lately.contains(PortName(port.port));
      if (auto obstacle = Obstacle(view, port.port, check_traffic)) {
        found.skipped.push_back(*std::move(obstacle));
        continue;
      }
      locations.Locate(view, port);
      found.ports.push_back(std::move(port));
    }
  }
  return found;
}

}  // namespace fabric::plan
