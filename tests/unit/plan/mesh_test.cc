// Who pings whom in the mesh, and over how many flows.
#include "daemon/plan/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace fabric::plan {
namespace {

// By inclusion and exclusion: another way to the same number.
double ByInclusion(std::uint32_t paths, std::uint32_t flows) {
  double sum = 0;
  double choose = 1;
  for (std::uint32_t n = 0; n <= paths; ++n) {
    const double left = 1.0 - static_cast<double>(n) / paths;
    sum += (n % 2 == 0 ? 1 : -1) * choose * std::pow(left, flows);
    choose = choose * (paths - n) / (n + 1);
  }
  return sum;
}

TEST(MeshFlows, AreEnoughForAllPaths) {
  const std::pair<std::uint32_t, std::uint32_t> table[] = {{1, 1},  {2, 8},    {3, 15},  {4, 21},
                                                           {8, 51}, {16, 115}, {32, 255}};
  for (const auto& [paths, flows] : table) {
    EXPECT_EQ(FlowsToCover(paths), flows) << paths << " paths";
    EXPECT_GE(ByInclusion(paths, flows), 0.99) << paths;
    if (paths > 1) {
      EXPECT_LT(ByInclusion(paths, flows - 1), 0.99) << paths;
    }
    EXPECT_NEAR(CoversAllPaths(paths, flows), ByInclusion(paths, flows), 1e-9) << paths;
  }
  EXPECT_EQ(CoversAllPaths(4, 3), 0) << "three flows cannot take four paths";
  EXPECT_DOUBLE_EQ(CoversAllPaths(2, 2), 0.5);
}

// `rails` rails over leaves with so many ports each; leaf n of each rail is a switch of its own.
struct Fleet {
  std::vector<Port> ports;
  std::vector<std::string> leaf_names;
};
Fleet MakeFleet(std::uint32_t rails, const std::vector<std::uint32_t>& leaves, bool lldp = true) {
  Fleet fleet;
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    std::uint32_t node = 1;
    for (std::uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
      fleet.leaf_names.push_back(Format("rail{}-leaf{}", rail, leaf + 1));
      for (std::uint32_t n = 0; n < leaves[leaf]; ++n) {
        Port port{.network = v1::LINK_LAYER_ETHERNET};
        port.port.set_node(Format("n{}", node++));
        port.port.set_device(Format("mlx5_{}", rail));
        port.port.set_port(1);
        port.port.set_rail(rail);
        if (lldp) port.leaf = static_cast<LeafIndex>(fleet.leaf_names.size() - 1);
        fleet.ports.push_back(port);
      }
    }
  }
  return fleet;
}
MeshPlan Mesh(const Fleet& fleet, const MeshOptions& options = {}) {
  return MakeMesh(fleet.ports, fleet.leaf_names, options);
}

TEST(MeshPlan, EveryPortPingsAndIsPingedWithinItsLeaf) {
  for (const std::uint32_t size : {2u, 3u, 4u, 16u}) {
    const MeshPlan plan = Mesh(MakeFleet(2, {size, size}));
    std::map<PortIndex, int> sources;
    std::map<PortIndex, int> targets;
    for (const MeshPair& pair : plan.pairs) {
      const MeshLeafPair& leaves = plan.leaf_pairs[pair.leaf_pair];
      EXPECT_NE(pair.ports.from, pair.ports.to);
      EXPECT_EQ(plan.ports[pair.ports.from].port.rail(), leaves.rail);
      EXPECT_EQ(plan.ports[pair.ports.to].port.rail(), leaves.rail);
      if (leaves.from_leaf != leaves.to_leaf) continue;
      EXPECT_EQ(pair.labels, 0U) << "one path within a leaf";
      ++sources[pair.ports.from];
      ++targets[pair.ports.to];
    }
    const int partners = static_cast<int>(std::min(3u, size - 1));
    for (PortIndex port = 0; port < plan.ports.size(); ++port) {
      EXPECT_EQ(sources[port], partners) << size;
      EXPECT_EQ(targets[port], partners) << size;
    }
  }
}

TEST(MeshPlan, EveryOrderedPairOfLeavesHasEnoughFlowsOverSeveralPairsOfPorts) {
  for (const auto& leaves : std::vector<std::vector<std::uint32_t>>{
           {1, 1}, {2, 2}, {32, 32}, {4, 4, 4, 4}, {16, 3, 1, 8, 8}}) {
    const MeshPlan plan = Mesh(MakeFleet(1, leaves));
    std::map<std::uint32_t, std::size_t> flows;
    std::map<std::uint32_t, std::set<std::pair<PortIndex, PortIndex>>> pairs;
    for (const MeshPair& pair : plan.pairs) {
      flows[pair.leaf_pair] += pair.flows();
      EXPECT_TRUE(pairs[pair.leaf_pair].insert({pair.ports.from, pair.ports.to}).second)
          << "no pair twice";
      const std::vector<std::uint32_t> labels = FlowLabelsOf(plan, pair);
      EXPECT_EQ(std::set(labels.begin(), labels.end()).size(), pair.labels);
    }
    std::size_t across = 0;
    for (std::uint32_t n = 0; n < plan.leaf_pairs.size(); ++n) {
      if (plan.leaf_pairs[n].from_leaf == plan.leaf_pairs[n].to_leaf) continue;
      ++across;
      EXPECT_GE(flows[n], 115u);
      EXPECT_LE(flows[n], 115u + pairs[n].size()) << "and not many more";
      const bool single = leaves.size() == 2 && leaves[0] == 1;
      EXPECT_GE(pairs[n].size(), single ? 1u : 2u);
    }
    EXPECT_EQ(across, leaves.size() * (leaves.size() - 1));
  }
}

TEST(MeshPlan, TheLoadIsEven) {
  const MeshPlan plan = Mesh(MakeFleet(1, std::vector<std::uint32_t>(32, 16)));
  std::vector<std::size_t> sent(plan.ports.size());
  std::vector<std::size_t> received(plan.ports.size());
  for (const MeshPair& pair : plan.pairs) {
    sent[pair.ports.from] += pair.flows();
    received[pair.ports.to] += pair.flows();
  }
  for (const auto& load : {sent, received}) {
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(static_cast<double>(*most), 1.4 * static_cast<double>(*least));
  }
}

TEST(MeshPlan, PortsOfNoKnownLeafAreOneLeafWithEnoughFlows) {
  const MeshPlan plan = Mesh(MakeFleet(1, {2, 2}, false), {.paths = 4});
  ASSERT_EQ(plan.leaf_pairs.size(), 1u);
  EXPECT_EQ(plan.leaf_pairs[0].from_leaf, "");
  std::size_t flows = 0;
  for (const MeshPair& pair : plan.pairs) flows += pair.flows();
  EXPECT_GE(flows, 21u);
}

TEST(MeshPlan, NetworksAndRailsStayApart) {
  Fleet fleet = MakeFleet(1, {4});
  fleet.ports[1].network = fleet.ports[3].network = v1::LINK_LAYER_INFINIBAND;
  for (const MeshPair& pair : Mesh(fleet).pairs) EXPECT_EQ(pair.ports.from % 2, pair.ports.to % 2);
  EXPECT_TRUE(Mesh(MakeFleet(3, {1})).pairs.empty()) << "nobody to ping on one's own rail";
  EXPECT_TRUE(Mesh({}).pairs.empty());
}

TEST(MeshPlan, IsTheSameEachTime) {
  const Fleet fleet = MakeFleet(2, {5, 7, 3});
  const MeshPlan one = Mesh(fleet);
  const MeshPlan other = Mesh(fleet);
  ASSERT_EQ(one.pairs.size(), other.pairs.size());
  for (std::size_t n = 0; n < one.pairs.size(); ++n) {
    EXPECT_EQ(one.pairs[n].ports, other.pairs[n].ports);
    EXPECT_EQ(one.pairs[n].labels, other.pairs[n].labels);
    EXPECT_EQ(FlowLabelsOf(one, one.pairs[n]), FlowLabelsOf(other, other.pairs[n]));
  }
}

}  // namespace
}  // namespace fabric::plan
