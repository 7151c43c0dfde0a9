#include "tests/unit/subnet/test_subnet.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/files/formats.h"

namespace fabric::subnet::testing {
namespace {

struct FarEnd {
  std::uint32_t node = kNoNode;
  std::uint32_t port = 0;
  std::string rate = {};
};

// By node and port.
std::vector<std::vector<FarEnd>> FarEnds(const TestSubnet& made) {
  std::vector<std::vector<FarEnd>> far;
  for (const TestNode& node : made.nodes) far.emplace_back(node.ports + 1);
  for (const TestCable& cable : made.cables) {
    far[cable.from][cable.from_port] = {cable.to, cable.to_port, cable.rate};
    far[cable.to][cable.to_port] = {cable.from, cable.from_port, cable.rate};
  }
  return far;
}

std::string IdOf(const TestNode& node) {
  return Format("\"{}-{:016x}\"", node.is_switch ? 'S' : 'H', node.guid);
}

std::string PortGuid(const TestNode& node) {
  return node.is_switch ? std::string() : Format("({:x})", node.guid + 1);
}

}  // namespace

Subnet ReadText(const std::string& text, const std::string& file) {
  Builder builder;
  if (!AddFile(file, text, builder).ok()) std::abort();
  return builder.Finish();
}

std::vector<std::string> ProblemTexts(const Problems& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems.kept()) texts.push_back(ToString(problem));
  return texts;
}

std::uint32_t TestSubnet::AddSwitch(const std::string& name, std::uint32_t ports) {
  const auto index = static_cast<std::uint32_t>(nodes.size());
  nodes.push_back({true, 0x10000000 + std::uint64_t{index} * 16, index + 1, ports, name});
  next_port_.push_back(1);
  return index;
}

std::uint32_t TestSubnet::AddHost(const std::string& name) {
  const auto index = static_cast<std::uint32_t>(nodes.size());
  nodes.push_back({false, 0x20000000 + std::uint64_t{index} * 16, index + 1, 1, name});
  next_port_.push_back(1);
  return index;
}

std::size_t TestSubnet::Connect(std::uint32_t from, std::uint32_t to) {
  cables.push_back({from, next_port_[from]++, to, next_port_[to]++});
  return cables.size() - 1;
}

std::uint32_t TestSubnet::Find(const std::string& name) const {
  const auto at = std::ranges::find(nodes, name, &TestNode::name);
  if (at == nodes.end()) std::abort();
  return static_cast<std::uint32_t>(at - nodes.begin());
}

void TestSubnet::Route() {
  const auto far = FarEnds(*this);
  std::vector<std::vector<std::uint32_t>> used;
  for (TestNode& node : nodes) {
    if (node.is_switch) node.routes.assign(nodes.size() + 1, kNoRoute);
    used.emplace_back(node.ports + 1);
  }
  for (std::uint32_t to = 0; to < nodes.size(); ++to) {
    std::vector<std::uint32_t> distance(nodes.size(), kNoNode);
    std::vector<std::uint32_t> queue = {to};
    distance[to] = 0;
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (const FarEnd& end : far[queue[at]]) {
        if (end.node == kNoNode || distance[end.node] != kNoNode) continue;
        distance[end.node] = distance[queue[at]] + 1;
        if (nodes[end.node].is_switch) queue.push_back(end.node);
      }
    for (std::uint32_t at = 0; at < nodes.size(); ++at) {
      if (!nodes[at].is_switch || distance[at] == kNoNode) continue;
      std::uint32_t best = 0;
      for (std::uint32_t port = 1; at != to && port <= nodes[at].ports; ++port) {
        const std::uint32_t next = far[at][port].node;
        if (next == kNoNode || distance[next] + 1 != distance[at]) continue;
        if (best == 0 || used[at][port] < used[at][best]) best = port;
      }
      if (!nodes[to].is_switch) ++used[at][best];
      nodes[at].routes[nodes[to].lid] = static_cast<std::uint8_t>(best);
    }
  }
}

std::string TestSubnet::Ibnetdiscover() const {
  const auto far = FarEnds(*this);
  std::string text = "#\n# Topology file: generated on Sat Nov 21 09:30:12 2026\n#\n";
  for (std::uint32_t index = 0; index < nodes.size(); ++index) {
    const TestNode& node = nodes[index];
    text += Format("\nvendid=0x2c9\ndevid=0x{}\nsysimgguid=0x{:x}\n",
                   node.is_switch ? "d2f2" : "1021", node.guid);
    if (node.is_switch)
      text += Format(
          "switchguid=0x{0:x}({0:x})\nSwitch\t{1} {2}\t\t# \"MF0;{3}:MQM9700/U1\" "
          "enhanced port 0 lid {4} lmc 0\n",
          node.guid, node.ports, IdOf(node), node.name, node.lid);
    else
      text += Format("caguid=0x{:x}\nCa\t{} {}\t\t# \"{}\"\n", node.guid, node.ports, IdOf(node),
                     node.name);
    for (std::uint32_t port = 1; port <= node.ports; ++port) {
      if (far[index][port].node == kNoNode) continue;
      const TestNode& peer = nodes[far[index][port].node];
      const std::string peer_name =
          peer.is_switch ? Format("MF0;{}:MQM9700/U1", peer.name) : peer.name;
      text += Format("[{}]{}\t{}[{}]{}\t\t# {}\"{}\" lid {} {}\n", port, PortGuid(node), IdOf(peer),
                     far[index][port].port, PortGuid(peer),
                     node.is_switch ? std::string() : Format("lid {} lmc 0 ", node.lid), peer_name,
                     peer.lid, far[index][port].rate);
    }
  }
  return text;
}

std::string TestSubnet::SubnetList() const {
  const auto end = [&](std::uint32_t index, std::uint32_t port) {
    const TestNode& node = nodes[index];
    return Format(
        "{{ {} Ports:{:02x} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:000002C9 "
        "DevID:D2F00000 Rev:000000A0 {{{}}} LID:{:04x} PN:{:02x} }}",
        node.is_switch ? "SW" : "CA", node.ports, node.guid, node.guid, node.guid, node.name,
        node.lid, port);
  };
  std::string text;
  for (std::uint32_t index = 0; index < nodes.size(); ++index)
    for (const TestCable& cable : cables) {
      if (cable.from == index)
        text += end(index, cable.from_port) + " " + end(cable.to, cable.to_port) +
                " PHY=4x LOG=ACT SPD=50\n";
      if (cable.to == index)
        text += end(index, cable.to_port) + " " + end(cable.from, cable.from_port) +
                " PHY=4x LOG=ACT SPD=50\n";
    }
  return text;
}

std::string TestSubnet::Lfts() const {
  std::string text;
  for (const TestNode& node : nodes) {
    if (node.routes.empty()) continue;
    text += Format(
        "Unicast lids [0x0-0x{:x}] of switch DR path slid 0; dlid 0; 0 guid 0x{:016x} "
        "({}):\n  Lid  Out   Destination\n       Port     Info \n",
        node.routes.size() - 1, node.guid, node.name);
    std::size_t count = 0;
    for (std::size_t lid = 1; lid < node.routes.size(); ++lid) {
      const bool omitted = lid + 1 == node.routes.size() && lid % kLidsOfBlock == 0;
      if (node.routes[lid] == kNoRoute || omitted) continue;
      text +=
          Format("0x{:04x} {:03} : (Channel Adapter portguid 0x0: 'x')\n", lid, node.routes[lid]);
      ++count;
    }
    text += Format("{} valid lids dumped \n", count);
  }
  return text;
}

Subnet TestSubnet::Read() const {
  Builder builder;
  if (!AddFile("net.txt", Ibnetdiscover(), builder).ok()) std::abort();
  const std::string lfts = Lfts();
  if (!lfts.empty() && !AddFile("lfts.txt", lfts, builder).ok()) std::abort();
  return builder.Finish();
}

TestSubnet Make(const FatTree& tree) {
  TestSubnet made;
  for (std::uint32_t i = 0; i < tree.leaves; ++i) made.AddSwitch(Format("leaf-{}", i + 1));
  for (std::uint32_t i = 0; i < tree.spines; ++i) made.AddSwitch(Format("spine-{}", i + 1));
  for (std::uint32_t leaf = 0; leaf < tree.leaves; ++leaf) {
    const std::uint32_t group = leaf / tree.rails;
    const std::uint32_t rail = leaf % tree.rails;
    for (std::uint32_t host = 0; host < tree.hosts; ++host)
      made.Connect(leaf,
                   made.AddHost(Format("gpu-{} mlx5_{}", group * tree.hosts + host + 1, rail)));
    for (std::uint32_t spine = 0; spine < tree.spines; ++spine)
      for (std::uint32_t i = 0; i < tree.trunk; ++i) made.Connect(leaf, tree.leaves + spine);
  }
  return made;
}

TestSubnet Make(const Pods& pods) {
  TestSubnet made;
  for (std::uint32_t i = 0; i < pods.cores; ++i) made.AddSwitch(Format("core-{}", i + 1));
  std::uint32_t host = 0;
  std::uint32_t core = 0;
  for (std::uint32_t pod = 0; pod < pods.pods; ++pod) {
    std::vector<std::uint32_t> spines;
    for (std::uint32_t i = 0; i < pods.spines; ++i) {
      spines.push_back(made.AddSwitch(Format("spine-{}-{}", pod + 1, i + 1)));
      for (std::uint32_t up = 0; up < pods.uplinks; ++up)
        made.Connect(spines.back(), core++ % pods.cores);
    }
    for (std::uint32_t i = 0; i < pods.leaves; ++i) {
      const std::uint32_t leaf = made.AddSwitch(Format("leaf-{}-{}", pod + 1, i + 1));
      for (const std::uint32_t spine : spines) made.Connect(leaf, spine);
      for (std::uint32_t h = 0; h < pods.hosts; ++h)
        made.Connect(leaf, made.AddHost(Format("gpu-{} mlx5_0", ++host)));
    }
  }
  return made;
}

}  // namespace fabric::subnet::testing
