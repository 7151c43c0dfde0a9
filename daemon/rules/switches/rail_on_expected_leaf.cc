#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine/digest.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Wired {
  const PortView* port = nullptr;
  const v1::LldpNeighbor* neighbor = nullptr;
};
// By the digest of its chassis: names are looked up when somebody is told of it.
using Leaf = std::uint64_t;
constexpr Leaf kNoLeaf = 0;
using Leaves = std::vector<Leaf>;

// What is read of a link, as two numbers.
struct Cable {
  std::uint32_t rail = 0;
  std::uint32_t place = 0;  // In NodeView::ports
  Leaf leaf = kNoLeaf;
};
constexpr std::size_t kFactsOfLink = 2;

// Nodes whose cables are alike.
struct Cabled {
  std::span<const std::uint64_t> facts;
  std::span<const fleet::NodeView* const> nodes;

  std::size_t links() const { return facts.size() / kFactsOfLink; }
  Cable link(std::size_t i) const {
    const std::uint64_t* const fact = &facts[i * kFactsOfLink];
    return {.rail = static_cast<std::uint32_t>(fact[0] >> 32),
            .place = static_cast<std::uint32_t>(fact[0]),
            .leaf = fact[1]};
  }
};

Wired WiredOf(const fleet::NodeView& node, const Cable& link) {
  const PortView& port = node.ports[link.place];
  return {&port, NeighborOf(port)};
}

// How many nodes have a rail on a leaf.
struct Wire {
  std::uint32_t rail = 0;
  Leaf leaf = kNoLeaf;
  std::size_t nodes = 0;
};
using Wiring = std::vector<Wire>;

// Nodes with the same leaves, whatever is on which. There are about as many such sets as there are
// units of the fabric, and one more for each node that is wired to a leaf of another unit.
struct Unit {
  std::vector<Cabled> cabled;
  Wiring wiring;
};
using Units = std::map<Leaves, Unit>;

// Sorted, each once.
Leaves LeavesOf(std::span<const std::uint64_t> facts) {
  Leaves leaves;
  leaves.reserve(facts.size() / kFactsOfLink);
  for (std::size_t i = 1; i < facts.size(); i += kFactsOfLink) leaves.push_back(facts[i]);
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

// At least half of the leaves of the first are leaves of the other.
bool IsNear(const Leaves& leaves, const Leaves& others) {
  const auto shared = std::count_if(leaves.begin(), leaves.end(), [&](Leaf leaf) {
    return std::binary_search(others.begin(), others.end(), leaf);
  });
  return 2 * static_cast<std::size_t>(shared) >= leaves.size();
}

// `guess`: where it is in most wirings, which are alike.
void Count(Wiring& wiring, std::size_t guess, const Wire& more) {
  const auto is_it = [&](const Wire& wire) {
    return wire.rail == more.rail && wire.leaf == more.leaf;
  };
  auto at = wiring.begin() + static_cast<std::ptrdiff_t>(std::min(guess, wiring.size()));
  if (at == wiring.end() || !is_it(*at)) at = std::find_if(wiring.begin(), wiring.end(), is_it);
  if (at == wiring.end())
    wiring.push_back(more);
  else
    at->nodes += more.nodes;
}

struct Expected {
  Leaf leaf = kNoLeaf;
  std::size_t nodes = 0;  // That have the rail on it
  std::size_t all = 0;    // That have the rail
};
using ExpectedByRail = std::vector<Expected>;

// Where each rail is on most nodes of the wiring; on no leaf unless at least two agree, and twice
// as many as deviate.
ExpectedByRail ExpectedOf(const Wiring& wiring) {
  ExpectedByRail rails;
  for (const Wire& wire : wiring) {
    if (rails.size() <= wire.rail) rails.resize(wire.rail + 1);
    Expected& most = rails[wire.rail];
    most.all += wire.nodes;
    if (wire.nodes <= most.nodes) continue;
    most.leaf = wire.leaf;
    most.nodes = wire.nodes;
  }
  for (Expected& most : rails)
    if (most.nodes < 2 || most.nodes < 2 * (most.all - most.nodes)) most.leaf = kNoLeaf;
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
  const fleet::NodeView* first = nullptr;
  Cable heard;
  for (const Unit* unit : near)
    for (const Cabled& cabled : unit->cabled)
      for (std::size_t i = 0; i < cabled.links(); ++i) {
        if (cabled.link(i).leaf != leaf) continue;
        for (const fleet::NodeView* node : cabled.nodes) {
          if (first != nullptr && first->node->name < node->node->name) continue;
          first = node;
          heard = cabled.link(i);
        }
        break;  // Its other links to the leaf tell the same
      }
  return SwitchName(*WiredOf(*first, heard).neighbor);  // Somebody has it
}

// Of the links of these nodes those that are not where they should be.
std::vector<Cable> StraysOf(const Cabled& cabled, const ExpectedByRail& rails, Verdicts& out) {
  std::vector<Cable> strays;
  for (std::size_t i = 0; i < cabled.links(); ++i) {
    const Cable link = cabled.link(i);
    const Expected& expected = rails[link.rail];
    if (expected.leaf == kNoLeaf) continue;
    if (expected.leaf == link.leaf)
      out.Pass(cabled.nodes.size());
    else
      strays.push_back(link);
  }
  return strays;
}

void JudgeUnit(const Unit& unit, const std::vector<const Unit*>& near, Verdicts& out) {
  Wiring wiring;
  for (const Unit* other : near)
    for (std::size_t i = 0; i < other->wiring.size(); ++i) Count(wiring, i, other->wiring[i]);
  const ExpectedByRail rails = ExpectedOf(wiring);
  for (const Cabled& cabled : unit.cabled) {
    const std::vector<Cable> links = StraysOf(cabled, rails, out);
    if (links.empty()) continue;
    for (const fleet::NodeView* node : cabled.nodes) {
      std::vector<Stray> strays;
      for (const Cable& link : links) {
        const Expected& expected = rails[link.rail];
        strays.push_back({WiredOf(*node, link), expected, NameOf(expected.leaf, near)});
      }
      Fail(strays, out);
    }
  }
}

void Evaluate(std::span<const PartNodes> nodes, Verdicts& out) {
  Units units;
  for (const PartNodes& each : nodes) {
    const Cabled cabled = {.facts = each.facts, .nodes = each.nodes};
    Unit& unit = units[LeavesOf(each.facts)];
    unit.cabled.push_back(cabled);
    for (std::size_t i = 0; i < cabled.links(); ++i) {
      const Cable link = cabled.link(i);
      Count(unit.wiring, i, {.rail = link.rail, .leaf = link.leaf, .nodes = each.nodes.size()});
    }
  }
  for (const auto& [leaves, unit] : units) {
    std::vector<const Unit*> near;
    for (const auto& [others, other] : units)
      if (IsNear(leaves, others)) near.push_back(&other);
    JudgeUnit(unit, near, out);
  }
}

PartFacts Reads(const fleet::NodeView& view) {
  PartFacts read;
  if (view.node->snapshot.lldp_neighbors().empty()) return read;
  read.facts.reserve(kFactsOfLink * view.ports.size());
  Digest texts;
  for (std::size_t i = 0; i < view.ports.size(); ++i) {
    const PortView& port = view.ports[i];
    const v1::LldpNeighbor* const neighbor = NeighborOf(port);
    if (neighbor == nullptr || !CarriesRoce(port) || neighbor->chassis_id().empty()) continue;
    read.facts.push_back(std::uint64_t{port.rail->value()} << 32 | i);
    read.facts.push_back(Digest().Add(neighbor->chassis_id()).value());
    texts.Add(port.device->name()).Add(port.port->number()).Add(port.port->netdev());
    texts.Add(SwitchName(*neighbor)).Add(SwitchPort(*neighbor));
  }
  read.texts = texts.value();
  return read;
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
    .needs = "lldp",
    .fix = "The cable into the leaf of its rail",
    .evaluate_part = Evaluate,
    .reads = Reads,
    .joined_by = LeavesOf,  // Nodes without a common leaf are not near each other.
};

}  // namespace fabric::rules
