#include "daemon/plan/mesh.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "daemon/plan/random.h"

namespace fabric::plan {
namespace {

constexpr double kSure = 0.99;
// RoCE v2 maps a flow label to 14 bits of the UDP source port (rdma_flow_label_to_udp_sport), so
// labels of 14 bits are distinct.
constexpr std::size_t kLabels = 1 << 14;

// Ports of one rail, network and leaf.
struct Group {
  LeafIndex leaf = kNoLeaf;
  std::vector<PortIndex> ports;
  std::size_t next_source = 0;  // Next port to use, for an even load
  std::size_t next_target = 0;
};
using NetworkKey = std::pair<std::uint32_t, v1::LinkLayer>;  // Rail and link layer

// One step of the recurrence: adds a flow. taken[n] is the probability that n paths are covered.
void AddFlow(std::vector<double>& taken) {
  const auto paths = static_cast<double>(taken.size() - 1);
  for (std::size_t n = taken.size() - 1; n > 0; --n) {
    const auto known = static_cast<double>(n);
    taken[n] = taken[n] * (known / paths) + taken[n - 1] * ((paths - known + 1) / paths);
  }
  taken[0] = 0;
}

class Maker {
 public:
  Maker(MeshPlan& plan, const std::vector<std::string>& leaf_names, const MeshOptions& options)
      : plan_(plan), leaf_names_(leaf_names), options_(options) {}

  void AddNetwork(std::uint32_t rail, std::vector<Group>& groups) {
    for (Group& group : groups) AddWithin(rail, group);
    for (Group& from : groups)
      for (Group& to : groups)
        if (&from != &to) AddBetween(rail, from, to, groups.size());
  }

 private:
  void AddWithin(std::uint32_t rail, const Group& group) {
    const std::size_t count = group.ports.size();
    const std::size_t partners =
        std::min<std::size_t>(options_.partners_within, count > 0 ? count - 1 : 0);
    if (partners == 0) return;
    const std::uint32_t leaf_pair = LeafPair(rail, group.leaf, group.leaf);
    // The number of paths between ports of an unknown leaf is not known.
    const std::size_t labels =
        group.leaf == kNoLeaf ? Share(plan_.flows_to_cover, count * partners) : 1;
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t step = 1; step <= partners; ++step)
        Add(leaf_pair, group.ports[n], group.ports[(n + step) % count], labels);
  }

  void AddBetween(std::uint32_t rail, Group& from, Group& to, std::size_t groups) {
    const std::size_t flows = plan_.flows_to_cover;
    const std::size_t wanted =
        std::max<std::size_t>(options_.pairs_between_min, Share(from.ports.size(), groups - 1));
    const std::size_t pairs = std::min({wanted, flows, from.ports.size() * to.ports.size()});
    const std::uint32_t leaf_pair = LeafPair(rail, from.leaf, to.leaf);
    std::set<Pair, PairLess> used;
    for (std::size_t n = 0; n < pairs; ++n) {
      Pair pair = Next(from, to);
      // Rotations of equal length repeat the same pairs.
      for (std::size_t tries = 0; used.contains(pair) && tries < to.ports.size(); ++tries)
        pair.to = to.ports[to.next_target++ % to.ports.size()];
      if (!used.insert(pair).second) continue;
      Add(leaf_pair, pair.from, pair.to, Share(flows, pairs));
    }
  }

  struct PairLess {
    bool operator()(const Pair& a, const Pair& b) const {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    }
  };

  static Pair Next(Group& from, Group& to) {
    return {.from = from.ports[from.next_source++ % from.ports.size()],
            .to = to.ports[to.next_target++ % to.ports.size()]};
  }
  static std::size_t Share(std::size_t all, std::size_t parts) { return (all + parts - 1) / parts; }

  std::uint32_t LeafPair(std::uint32_t rail, LeafIndex from, LeafIndex to) {
    const auto name = [&](LeafIndex leaf) { return leaf == kNoLeaf ? "" : leaf_names_[leaf]; };
    plan_.leaf_pairs.push_back({.from_leaf = name(from), .to_leaf = name(to), .rail = rail});
    return static_cast<std::uint32_t>(plan_.leaf_pairs.size() - 1);
  }

  void Add(std::uint32_t leaf_pair, PortIndex from, PortIndex to, std::size_t labels) {
    if (plan_.ports[from].port.node() == plan_.ports[to].port.node()) return;
    plan_.pairs.push_back(
        {.ports = {.from = from, .to = to},
         .leaf_pair = leaf_pair,
         .labels = labels > 1 ? static_cast<std::uint32_t>(std::min(labels, kLabels - 1)) : 0});
  }

  MeshPlan& plan_;
  const std::vector<std::string>& leaf_names_;
  const MeshOptions& options_;
};

}  // namespace

double CoversAllPaths(std::uint32_t paths, std::uint32_t flows) {
  std::vector<double> taken(std::size_t{paths} + 1, 0);
  taken[0] = 1;
  for (std::uint32_t n = 0; n < flows; ++n) AddFlow(taken);
  return taken[paths];
}

std::uint32_t FlowsToCover(std::uint32_t paths) {
  std::vector<double> taken(std::size_t{paths} + 1, 0);
  taken[0] = 1;
  std::uint32_t flows = 0;
  for (; taken[paths] < kSure; ++flows) AddFlow(taken);
  return flows;
}

MeshPlan MakeMesh(std::vector<Port> ports, const std::vector<std::string>& leaf_names,
                  const MeshOptions& options) {
  MeshPlan plan;
  plan.ports = std::move(ports);
  plan.flows_to_cover = FlowsToCover(std::max(1u, options.paths));
  std::map<NetworkKey, std::vector<Group>> networks;
  for (PortIndex n = 0; n < plan.ports.size(); ++n) {
    const Port& port = plan.ports[n];
    std::vector<Group>& groups = networks[{port.port.rail(), port.network}];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.leaf == port.leaf; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{.leaf = port.leaf});
    group->ports.push_back(n);
  }
  Maker maker(plan, leaf_names, options);
  for (auto& [key, groups] : networks) maker.AddNetwork(key.first, groups);
  std::stable_sort(plan.pairs.begin(), plan.pairs.end(), [](const MeshPair& a, const MeshPair& b) {
    return a.ports.from < b.ports.from;
  });
  return plan;
}

std::vector<std::uint32_t> FlowLabelsOf(const MeshPlan& plan, const MeshPair& pair) {
  Random random(Fnv(PortName(plan.ports[pair.ports.to].port),
                    Fnv(PortName(plan.ports[pair.ports.from].port))));
  std::bitset<kLabels> known;
  std::vector<std::uint32_t> labels;
  labels.reserve(pair.labels);
  while (labels.size() < pair.labels) {
    const auto label = static_cast<std::uint32_t>(1 + random.Below(kLabels - 1));
    if (known[label]) continue;
    known.set(label);
    labels.push_back(label);
  }
  return labels;
}

}  // namespace fabric::plan
