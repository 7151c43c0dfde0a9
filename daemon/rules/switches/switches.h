// LLDP neighbours (switch ports) of hosts, and rules that compare their announcements with the
// host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

inline const v1::LldpNeighbor* NeighborOf(const fleet::PortView& port) {
  return port.neighbor;
}

const std::string& SwitchName(const v1::LldpNeighbor& neighbor);  // System name, else chassis
// Name of the port on the switch's command line.
const std::string& SwitchPort(const v1::LldpNeighbor& neighbor);
v1::Subject LinkSubject(const fleet::PortView& port, const v1::LldpNeighbor& neighbor);
// Commands for one port of a switch, and advice for switches of other vendors.
struct SwitchPortChange {
  std::string what;   // "the MTU of port swp1 to 9216"
  std::string sonic;  // Empty: no command for this one
  std::string sonic_undo;
  std::string cumulus;  // Without `nv config apply`
  std::string cumulus_undo;
  std::string note;
};
std::vector<v1::Remedy> SwitchPortRemedies(const v1::LldpNeighbor& neighbor,
                                           const SwitchPortChange& change);
// "LLDP rail0"
std::string LldpSource(const v1::LldpNeighbor& neighbor);

// Value that a switch port announced, compared with the host.
struct LldpVerdict {
  v1::Verdict verdict = v1::VERDICT_PASS;
  std::uint64_t seen = 0;      // Value of the switch port
  std::uint64_t expected = 0;  // Value of the host, or of its profile
};

struct StrayLink;

struct LldpRule {
  std::string_view what;  // "PFC enabled priorities"
  // Nothing when the link is not judged.
  std::optional<LldpVerdict> (*judge)(const fleet::PortView&, const v1::LldpNeighbor&) = nullptr;
  // Value of the host that must be the majority of its rail: another rule reports a host that
  // differs, and the switch is not compared with it. nullptr: no such condition.
  std::optional<std::uint64_t> (*agreed)(const fleet::PortView&) = nullptr;
  std::string (*show_seen)(std::uint64_t) = nullptr;
  std::string (*show_expected)(std::uint64_t) = nullptr;
  std::string_view unknown;  // Title of an UNKNOWN: "announces DCBX, but no PFC"
  std::vector<v1::Remedy> (*remedies)(const fleet::PortView&, const v1::LldpNeighbor&,
                                      const LldpVerdict&) = nullptr;
  // Instead of all these, for a rule that compares the links of nodes: reports the links of one
  // node that are not on the leaf where comparable nodes have the rail (cabling.h).
  void (*report_strays)(const std::vector<StrayLink>&, Verdicts&) = nullptr;
};

// A judged link: its port carries RoCE and has an LLDP neighbour.
struct Link {
  const fleet::PortView* port = nullptr;
  const v1::LldpNeighbor* neighbor = nullptr;
  LldpVerdict announced;
};
using Links = std::vector<Link>;
Links LinksOf(const LldpRule& rule, const fleet::NodeView& node);

// Links that do not pass, by name of node, and the number of judged links.
struct Deviations {
  Links links;
  std::map<std::string_view, std::size_t> of_switch = {};  // By chassis
  std::map<std::string_view, std::size_t> of_node = {};
};
// Reports one finding for a switch when most of its ports deviate in the same way, one for a host
// when most of its links do, else one for each link.
void Report(const LldpRule& rule, Deviations deviations, Verdicts& out);

}  // namespace fabric::rules
