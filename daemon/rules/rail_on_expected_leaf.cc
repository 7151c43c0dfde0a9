#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless.h"
#include "daemon/rules/product.h"
#include "daemon/rules/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Wired {
  const PortView* port = nullptr;
  const v1::LldpNeighbor* neighbor = nullptr;
};
using Leaf = std::string_view;  // Chassis
using Leaves = std::vector<Leaf>;

struct Node {
  std::vector<Wired> links;
  Leaves leaves;  // Sorted, each once
};

// How many nodes have a rail on a leaf.
using Wiring = std::map<std::pair<std::uint32_t, Leaf>, std::size_t>;

// Nodes with the same leaves, whatever is on which. There are about as many such sets as there are
// units of the fabric, and one more for each node that is wired to a leaf of another unit.
struct Unit {
  std::vector<const Node*> nodes;
  Wiring wiring;
};

Node NodeOf(const fleet::NodeView& view) {
  Node node;
  node.links.reserve(view.ports.size());
  node.leaves.reserve(view.ports.size());
  for (const PortView& port : view.ports) {
    if (!CarriesRoce(port)) continue;
    const v1::LldpNeighbor* const neighbor = NeighborOf(port);
    if (neighbor == nullptr || neighbor->chassis_id().empty()) continue;
    node.links.push_back({&port, neighbor});
    node.leaves.push_back(neighbor->chassis_id());
  }
  std::sort(node.leaves.begin(), node.leaves.end());
  node.leaves.erase(std::unique(node.leaves.begin(), node.leaves.end()), node.leaves.end());
  return node;
}

// At least half of the leaves of the first are leaves of the other.
bool IsNear(const Leaves& leaves, const Leaves& others) {
  const auto shared = std::count_if(leaves.begin(), leaves.end(), [&](Leaf leaf) {
    return std::binary_search(others.begin(), others.end(), leaf);
  });
  return 2 * static_cast<std::size_t>(shared) >= leaves.size();
}

struct Expected {
  Leaf leaf;
  std::size_t nodes = 0;  // That have the rail on it
  std::size_t all = 0;    // That have the rail
};
using ExpectedByRail = std::vector<Expected>;

// Where each rail is on most nodes of the wiring; on no leaf unless at least two agree, and twice
// as many as deviate.
ExpectedByRail ExpectedOf(const Wiring& wiring) {
  ExpectedByRail rails;
  for (const auto& [place, nodes] : wiring) {
    if (rails.size() <= place.first) rails.resize(place.first + 1);
    Expected& most = rails[place.first];
    most.all += nodes;
    if (nodes <= most.nodes) continue;
    most.leaf = place.second;
    most.nodes = nodes;
  }
  for (Expected& most : rails)
    if (most.nodes < 2 || most.nodes < 2 * (most.all - most.nodes)) most.leaf = {};
  return rails;
}

struct Stray {
  Wired link;
  Expected expected;
  std::string name;  // Of the expected leaf
};

void Fail(const std::vector<Stray>& strays, Verdicts& out) {
  std::vector<std::string> seen;
  std::vector<v1::Evidence> evidence;
  for (const Stray& stray : strays) {
    const PortView& port = *stray.link.port;
    const std::string where =
        Format("{} {}", SwitchName(*stray.link.neighbor), SwitchPort(*stray.link.neighbor));
    seen.push_back(Format("rail {} ({}) is on {}, expected {}", port.rail->value(),
                          port.port->netdev(), where, stray.name));
    evidence.push_back(
        ToEvidence(*port.node, {.what = Format("switch of rail {}", port.rail->value()),
                                .expected = stray.name,
                                .seen = where,
                                .source = LldpSource(*stray.link.neighbor),
                                .basis = Format("{} of {} nodes of this part of the fabric",
                                                stray.expected.nodes, stray.expected.all)}));
  }
  const Stray& first = strays.front();
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(first.link.port->node->name);
  if (strays.size() == 1) subject = LinkSubject(*first.link.port, *first.link.neighbor);
  out.Fail(std::move(subject), Listed(seen), std::move(evidence),
           {ToRemedy({.command = "lldpcli show neighbors summary",
                      .interrupts_traffic = true,
                      .note = "On the node, before and after its cables are put where they belong; "
                              "two rails that have each other's switch are swapped."})});
}

// What people call it: as the first node that has it heard it.
std::string NameOf(Leaf leaf, const std::vector<const Unit*>& near) {
  for (const Unit* unit : near)
    for (const Node* node : unit->nodes)
      for (const Wired& link : node->links)
        if (link.neighbor->chassis_id() == leaf) return SwitchName(*link.neighbor);
  return std::string(leaf);
}

void JudgeUnit(const Unit& unit, const std::vector<const Unit*>& near, Verdicts& out) {
  Wiring wiring;
  for (const Unit* other : near)
    for (const auto& [place, nodes] : other->wiring) wiring[place] += nodes;
  const ExpectedByRail rails = ExpectedOf(wiring);
  for (const Node* node : unit.nodes) {
    std::vector<Stray> strays;
    for (const Wired& link : node->links) {
      const Expected& expected = rails[link.port->rail->value()];
      if (expected.leaf.empty()) continue;
      if (expected.leaf == link.neighbor->chassis_id())
        out.Pass();
      else
        strays.push_back({link, expected, NameOf(expected.leaf, near)});
    }
    if (!strays.empty()) Fail(strays, out);
  }
}

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  std::vector<Node> nodes;
  for (const fleet::NodeView& view : fleet.nodes()) {
    if (view.node->snapshot.lldp_neighbors().empty()) continue;
    nodes.push_back(NodeOf(view));
    if (nodes.back().links.empty()) nodes.pop_back();
  }
  std::map<Leaves, Unit> units;
  for (const Node& node : nodes) {
    Unit& unit = units[node.leaves];
    unit.nodes.push_back(&node);
    for (const Wired& link : node.links)
      ++unit.wiring[{link.port->rail->value(), link.neighbor->chassis_id()}];
  }
  for (const auto& [leaves, unit] : units) {
    std::vector<const Unit*> near;
    for (const auto& [others, other] : units)
      if (IsNear(leaves, others)) near.push_back(&other);
    JudgeUnit(unit, near, out);
  }
}

std::uint64_t Reads(const fleet::NodeView& view) {
  if (view.node->snapshot.lldp_neighbors().empty()) return 0;
  Mix mix;
  for (const Wired& link : NodeOf(view).links)
    mix.Add(link.port->rail->value())
        .Add(link.port->device->name())
        .Add(link.port->port->number())
        .Add(link.port->port->netdev())
        .Add(link.neighbor->chassis_id())
        .Add(SwitchName(*link.neighbor))
        .Add(SwitchPort(*link.neighbor));
  return mix.value();
}

// Nodes without a common leaf are not near each other.
std::vector<std::uint64_t> JoinedBy(const fleet::NodeView& view) {
  std::vector<std::uint64_t> leaves;
  for (const Leaf leaf : NodeOf(view).leaves) leaves.push_back(std::hash<Leaf>()(leaf));
  return leaves;
}

}  // namespace

extern const Rule rail_on_expected_leaf = {
    .id = "rail_on_expected_leaf",
    .title = "Each rail of a node is on the switch where its equals have it",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_LINK,
    .why =
        "Traffic of a rail stays on one leaf where the fabric is built by rails. A port that is "
        "plugged into another leaf sends all of it over the spines, and two swapped cables, or two "
        "ports of a node on one leaf, make a slow pair of nodes that no setting explains. Nodes "
        "are compared that have at least half of their leaves in common, and only where twice as "
        "many agree as deviate.",
    .source = "IEEE 802.1AB, chassis and port; rail-optimised designs of vendors",
    .family = "switch",
    .needs = "lldp",
    .fix = "The cable into the leaf of its rail",
    .evaluate_part = Evaluate,
    .reads = Reads,
    .joined_by = JoinedBy,
};

}  // namespace fabric::rules
