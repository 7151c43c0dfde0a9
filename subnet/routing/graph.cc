#include "subnet/routing/graph.h"

#include <algorithm>

namespace fabric::subnet {

Graph::Graph(const Subnet& subnet) : subnet_(subnet), index_(subnet.nodes().size(), kNoSwitch) {
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) {
    if (subnet.node(node).type != NodeType::kSwitch) continue;
    index_[node] = size();
    switches_.push_back(node);
    stride_ = std::max(stride_, static_cast<std::uint32_t>(subnet.node(node).ports.size()));
  }
  next_.assign(static_cast<std::size_t>(size()) * stride_, kNoSwitch);
  sources_.assign(size(), 0);
  for (std::uint32_t index = 0; index < size(); ++index) {
    const std::vector<Port>& ports = subnet.node(switches_[index]).ports;
    for (std::uint32_t port = 1; port < ports.size(); ++port)
      if (ports[port].peer != kNoNode) next_[index * stride_ + port] = index_[ports[port].peer];
  }
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) AddDestinations(node);
  std::ranges::stable_sort(destinations_, {}, &Destination::lid);
  // A LID of several ports is reported by the check of LIDs; routes to it are not judged.
  std::vector<Destination> unique;
  for (std::size_t i = 0; i < destinations_.size(); ++i) {
    const bool twice =
        (i > 0 && destinations_[i - 1].lid == destinations_[i].lid) ||
        (i + 1 < destinations_.size() && destinations_[i + 1].lid == destinations_[i].lid);
    if (!twice) unique.push_back(destinations_[i]);
  }
  destinations_ = std::move(unique);
  ReadDistances();
}

void Graph::AddDestinations(std::uint32_t node) {
  const Node& owner = subnet_.node(node);
  const bool is_switch = owner.type == NodeType::kSwitch;
  for (std::uint32_t number = 0; number < owner.ports.size(); ++number) {
    const Port& port = owner.ports[number];
    if (!IsAssigned(port.lid) || is_switch != (number == 0)) continue;
    const std::uint32_t target = is_switch              ? index_[node]
                                 : port.peer == kNoNode ? kNoSwitch
                                                        : index_[port.peer];
    if (target == kNoSwitch) continue;
    // A port that two adapters claim leads to one of them only.
    if (!is_switch && subnet_.port(port.Peer()).Peer() != End{node, number}) continue;
    if (!is_switch) ++sources_[target];
    for (std::uint32_t i = 0; i < (1U << port.lmc) && *port.lid + i <= kUnicastLidMax; ++i)
      destinations_.push_back({.lid = static_cast<std::uint16_t>(*port.lid + i),
                               .owner = {node, number},
                               .target = target,
                               .port = is_switch ? std::uint8_t{0} : port.peer_port,
                               .adapter = !is_switch});
  }
}

const Destination* Graph::Find(std::uint32_t lid) const {
  const auto at = std::ranges::lower_bound(destinations_, lid, {}, &Destination::lid);
  return at == destinations_.end() || at->lid != lid ? nullptr : &*at;
}

// Breadth-first search from each switch that has destinations.
void Graph::ReadDistances() {
  constexpr std::uint8_t kFar = 255;
  distance_.assign(static_cast<std::size_t>(size()) * size(), kFar);
  std::vector<std::vector<std::uint32_t>> neighbours(size());
  for (std::uint32_t index = 0; index < size(); ++index) {
    for (std::uint32_t port = 1; port < stride_; ++port)
      if (const std::uint32_t next = Next(index, port); next != kNoSwitch)
        neighbours[index].push_back(next);
    std::ranges::sort(neighbours[index]);
    neighbours[index].erase(std::unique(neighbours[index].begin(), neighbours[index].end()),
                            neighbours[index].end());
  }
  std::vector<std::uint32_t> queue;
  for (std::uint32_t to = 0; to < size(); ++to) {
    std::uint8_t* const row = &distance_[static_cast<std::size_t>(to) * size()];
    row[to] = 0;
    queue.assign(1, to);
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (const std::uint32_t next : neighbours[queue[at]]) {
        if (row[next] != kFar || row[queue[at]] + 1 == kFar) continue;
        row[next] = static_cast<std::uint8_t>(row[queue[at]] + 1);
        queue.push_back(next);
      }
  }
}

}  // namespace fabric::subnet
