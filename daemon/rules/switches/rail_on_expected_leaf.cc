#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/switches/cabling.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

void Report(const std::vector<StrayLink>& strays, Verdicts& out) {
  std::vector<std::string> seen;
  std::vector<v1::Evidence> evidence;
  for (const StrayLink& stray : strays) {
    const fleet::PortView& port = *stray.port;
    const v1::LldpNeighbor& neighbor = *NeighborOf(port);
    const std::string where = Format("{} {}", SwitchName(neighbor), SwitchPort(neighbor));
    seen.push_back(Format("rail {} ({}) is on {}, expected {}", port.rail->value(),
                          port.port->netdev(), where, stray.expected_name));
    evidence.push_back(
        ToEvidence(*port.node, {.what = Format("switch of rail {}", port.rail->value()),
                                .expected = stray.expected_name,
                                .seen = where,
                                .source = LldpSource(neighbor),
                                .basis = Format("{} of {} nodes of this part of the fabric",
                                                stray.expected.nodes, stray.expected.all)}));
  }
  const fleet::PortView& first = *strays.front().port;
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(first.node->name);
  if (strays.size() == 1) subject = LinkSubject(first, *NeighborOf(first));
  out.Fail(std::move(subject), Listed(seen), std::move(evidence),
           {Query({.command = "lldpcli show neighbors summary",
                   .note = "On the node, before and after its cables are put where they belong, "
                           "when no job runs; two rails that have each other's switch are "
                           "swapped."})});
}

constexpr LldpRule kLldpRule = {
    .what = "leaf switch of the rail", .unknown = {}, .report_strays = Report};

}  // namespace

extern const Rule rail_on_expected_leaf = {
    .id = "rail_on_expected_leaf",
    .title = "Each rail of a node is connected to the same switch as on comparable nodes",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_LINK,
    .why =
        "Traffic of a rail stays on one leaf where the fabric is built by rails. A port that is "
        "plugged into another leaf sends all of it over the spines, and two swapped cables, or two "
        "ports of a node on one leaf, make a slow pair of nodes that no setting explains. Nodes "
        "are compared if they share at least half of their leaves, and only if the nodes that "
        "agree "
        "are at least twice the nodes that deviate.",
    .source = "IEEE 802.1AB, chassis and port; rail-optimised designs of vendors",
    .needs = {Input::kLldp},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "The cable into the leaf of its rail",
    .lldp_rule = &kLldpRule,
};

}  // namespace fabric::rules
