#include "daemon/plan/ports.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

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

// A P_Key that the probes need and the port lacks. None if its P_Keys are not known.
std::optional<std::uint32_t> MissingPkey(const v1::Port& port,
                                         const std::set<std::uint32_t>& needed) {
  constexpr std::uint32_t kNumber = 0x7fff;  // Bit 15: membership
  if (port.pkeys().empty()) return {};
  for (const std::uint32_t pkey : needed)
    if (std::ranges::none_of(port.pkeys(),
                             [&](std::uint32_t one) { return (one & kNumber) == pkey; }))
      return pkey;
  return {};
}

// Reason why the port cannot be probed; empty: none. `check_traffic`: busy ports cannot.
std::optional<v1::CoverageGap> Obstacle(const PortView& view, const v1::ProbePort& port,
                                        const std::set<std::uint32_t>& pkeys, bool check_traffic) {
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
  if (const auto missing = MissingPkey(*view.port, pkeys))
    return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PROBE_NOT_RUN,
                         Format("port has no P_Key 0x{:04x}, which the probes use", *missing));
  if (!check_traffic) return {};
  std::string traffic = Traffic(view);
  if (traffic.empty()) return {};
  return CoverageGapOf(port, v1::COVERAGE_GAP_REASON_PORT_BUSY, std::move(traffic));
}

// Numbers leaf switches and pods. LLDP neighbors are distinguished by chassis id; the profile has
// names only.
class Locations {
 public:
  explicit Locations(Candidates& out) : out_(out) {}

  LeafIndex LeafOf(const std::string& leaf, const std::string& chassis) {
    if (chassis.empty())
      if (const auto known = by_name_.find(leaf); known != by_name_.end()) return known->second;
    const auto [at, added] = by_chassis_.emplace(chassis.empty() ? leaf : chassis,
                                                 static_cast<LeafIndex>(out_.leaf_names.size()));
    if (added) {
      out_.leaf_names.push_back(leaf);
      by_name_.emplace(leaf, at->second);
    }
    return at->second;
  }

  PodIndex PodOf(const std::string& pod) {
    const auto [at, added] = pods_.emplace(pod, static_cast<PodIndex>(out_.pod_names.size()));
    if (added) out_.pod_names.push_back(pod);
    return at->second;
  }

 private:
  Candidates& out_;
  std::map<std::string, LeafIndex> by_chassis_, by_name_;
  std::map<std::string, PodIndex> pods_;
};

}  // namespace

v1::ProbePort ToProbePort(const PortView& port) {
  v1::ProbePort out;
  out.set_node(port.node->name);
  out.set_device(port.device->name());
  out.set_port(port.port->number());
  out.set_rail(port.rail->value());
  return out;
}

PortFinder::PortFinder(const v1::CampaignSpec& spec, std::set<std::string> probed_lately)
    : spec_(spec),
      probed_lately_(std::move(probed_lately)),
      asked_nodes_(spec.nodes().begin(), spec.nodes().end()),
      asked_rails_(spec.rails().begin(), spec.rails().end()) {
  if (!asked_nodes_.empty() && !spec.hub().empty()) asked_nodes_.insert(spec.hub());
  for (const v1::ProbeSpec& probe : spec.probes())
    if (probe.queue_pair().has_pkey()) pkeys_.insert(probe.queue_pair().pkey());
}

void PortFinder::Add(const fleet::NodeView& node, const fleet::Sites& sites) {
  nodes_.insert(node.node->name);
  const bool asked = asked_nodes_.empty() || asked_nodes_.contains(node.node->name);
  for (const PortView& view : node.ports) {
    if (!view.rail) continue;
    Found& found = found_.emplace_back();
    found.port = {.port = ToProbePort(view), .network = view.port->link_layer()};
    found.site = sites.Of(view);
    found.has_neighbor = view.neighbor != nullptr;
    if (found.has_neighbor) found.chassis = view.neighbor->chassis_id();
    found.asked = asked && (asked_rails_.empty() || asked_rails_.contains(view.rail->value()));
    if (!found.asked) continue;
    const bool check_traffic =
        !spec_.include_busy() && !probed_lately_.contains(PortName(found.port.port));
    found.obstacle = Obstacle(view, found.port.port, pkeys_, check_traffic);
  }
}

Status PortFinder::CheckNode(std::string_view field, const std::string& node) const {
  if (nodes_.contains(node)) return {};
  const std::vector<std::string_view> names(nodes_.begin(), nodes_.end());
  return Status(Code::kInvalidArgument, UnknownName("node", node, names)).In(field);
}

Status PortFinder::CheckSpec() const {
  for (const std::string& node : spec_.nodes()) RETURN_IF_ERROR(CheckNode("nodes", node));
  if (!spec_.hub().empty()) RETURN_IF_ERROR(CheckNode("hub", spec_.hub()));
  std::uint32_t rails = 0;
  for (const Found& found : found_) rails = std::max(rails, found.port.port.rail() + 1);
  for (const std::uint32_t rail : spec_.rails()) {
    if (rail < rails) continue;
    return {Code::kInvalidArgument,
            rails == 0 ? Format("rails: unknown rail {}; the connected nodes have none", rail)
                       : Format("rails: unknown rail {}; the connected nodes have 0 to {}", rail,
                                rails - 1)};
  }
  return {};
}

Result<Candidates> PortFinder::Find() && {
  RETURN_IF_ERROR(CheckSpec());
  std::stable_sort(found_.begin(), found_.end(), [](const Found& one, const Found& other) {
    const v1::ProbePort& a = one.port.port;
    const v1::ProbePort& b = other.port.port;
    return a.rail() != b.rail() ? a.rail() < b.rail() : a.node() < b.node();
  });
  Candidates candidates;
  Locations locations(candidates);
  // All chassis ids first: a name alone means the switch with this name.
  for (const Found& found : found_)
    if (found.has_neighbor && !found.site.leaf.empty())
      (void)locations.LeafOf(found.site.leaf, found.chassis);
  for (Found& found : found_) {
    if (!found.asked) continue;
    if (found.obstacle) {
      candidates.skipped.push_back(*std::move(found.obstacle));
      continue;
    }
    if (!found.site.leaf.empty())
      found.port.leaf = locations.LeafOf(found.site.leaf, found.chassis);
    if (!found.site.pod.empty()) found.port.pod = locations.PodOf(found.site.pod);
    candidates.ports.push_back(std::move(found.port));
  }
  return candidates;
}

Result<Candidates> FindPorts(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                             const std::set<std::string>& probed_lately,
                             const fleet::Sites& sites) {
  PortFinder finder(spec, probed_lately);
  for (const fleet::NodeView& node : fleet.nodes()) finder.Add(node, sites);
  return std::move(finder).Find();
}

}  // namespace fabric::plan
