// Selection of the ports that can be probed. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/plan.h"

namespace fabric::plan {

struct Candidates {
  std::vector<Port> ports;  // By rail, then by node
  std::vector<std::string> leaf_names;
  std::vector<std::string> pod_names;
  std::vector<v1::CoverageGap> skipped;
};

// Of a port with a rail.
v1::ProbePort ToProbePort(const fleet::PortView& port);

// INVALID_ARGUMENT: unknown node or rail.
Result<Candidates> FindPorts(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                             const std::set<std::string>& probed_lately, const fleet::Sites& sites);

// The same, node by node: keeps nothing of the views.
class PortFinder {
 public:
  // Ports named in `probed_lately` are not checked for traffic. A port needs the P_Key of each
  // probe of the spec.
  PortFinder(const v1::CampaignSpec& spec, std::set<std::string> probed_lately);

  // Each node once, in any order.
  void Add(const fleet::NodeView& node, const fleet::Sites& sites);
  Result<Candidates> Find() &&;
  bool empty() const { return nodes_.empty(); }

 private:
  struct Found {
    Port port;
    fleet::Site site;
    std::string chassis;  // Of the LLDP neighbor
    bool has_neighbor = false;
    bool asked = false;                       // By the spec
    std::optional<v1::CoverageGap> obstacle;  // Why it cannot be probed
  };

  Status CheckNode(std::string_view field, const std::string& node) const;
  Status CheckSpec() const;

  const v1::CampaignSpec spec_;
  const std::set<std::string> probed_lately_;
  std::set<std::string> asked_nodes_;  // Empty: all
  std::set<std::uint32_t> asked_rails_;
  std::set<std::uint32_t> pkeys_;  // That the probes need, without bit 15
  std::set<std::string> nodes_;    // All
  // All ports with a rail. Not a vector: it would move all of them in the turn in which it grows.
  std::deque<Found> found_;
};

}  // namespace fabric::plan
