// Switch ports as hosts hear of them: LLDP neighbours, and rules on what these announce.
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
const std::string& SwitchPort(
    const v1::LldpNeighbor& neighbor);  // As its own command line names it
v1::Subject LinkSubject(const fleet::PortView& port, const v1::LldpNeighbor& neighbor);
// "LLDP rail0"
std::string LldpSource(const v1::LldpNeighbor& neighbor);

// A value that a switch port announces, compared with its host.
struct LldpVerdict {
  v1::Verdict verdict = v1::VERDICT_PASS;
  std::uint64_t seen = 0;      // At the switch port
  std::uint64_t expected = 0;  // By the settings of the host, or its profile
};

struct StrayLink;

struct LldpRule {
  std::string_view what;  // "PFC enabled priorities"
  // Compares a link with its host. No value: not judged.
  std::optional<LldpVerdict> (*judge)(const fleet::PortView&, const v1::LldpNeighbor&) = nullptr;
  // A host that deviates from its own rail has a finding of another rule, and is not compared.
  std::optional<std::uint64_t> (*agreed)(const fleet::PortView&) = nullptr;
  std::string (*show_seen)(std::uint64_t) = nullptr;
  std::string (*show_expected)(std::uint64_t) = nullptr;
  std::string_view unknown;  // Text of an UNKNOWN: "announces DCBX, but no PFC"
  std::vector<v1::Remedy> (*remedies)(const fleet::PortView&, const v1::LldpNeighbor&,
                                      const LldpVerdict&) = nullptr;
  // Instead of all these, for a rule that compares the links of nodes: reports the links of one
  // node that are not on the leaf where comparable nodes have the rail (cabling.h).
  void (*report_strays)(const std::vector<StrayLink>&, Verdicts&) = nullptr;
};

// A link that is judged: its port carries RoCE and heard somebody.
struct Link {
  const fleet::PortView* port = nullptr;
  const v1::LldpNeighbor* neighbor = nullptr;
  LldpVerdict announced;
};
using Links = std::vector<Link>;
Links LinksOf(const LldpRule& rule, const fleet::NodeView& node);

// Links that do not pass, by name of node, and how many are judged where they are.
struct Deviations {
  Links links;
  std::map<std::string_view, std::size_t> of_switch = {};  // By chassis
  std::map<std::string_view, std::size_t> of_node = {};
};
// What the engine finds: one finding for a switch most of whose ports deviate alike, one for a host
// whose links all do, else one for each link.
void Report(const LldpRule& rule, Deviations deviations, Verdicts& out);

}  // namespace fabric::rules
