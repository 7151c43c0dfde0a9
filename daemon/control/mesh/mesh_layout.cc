#include "daemon/control/mesh/mesh_layout.h"

#include <algorithm>

namespace fabric::control {

void MeshLayout::Index() {
  for (std::size_t n = 0; n < candidates.size(); ++n)
    places[candidates[n].port.node()].candidates.push_back(n);
  ports.reserve(plan.ports.size());
  first_pairs.reserve(plan.ports.size() + 1);
  std::size_t pair = 0;
  for (plan::PortIndex n = 0; n < plan.ports.size(); ++n) {
    const v1::ProbePort& port = plan.ports[n].port;
    places[port.node()].ports.push_back(n);
    ports.emplace(plan::PortName(port), n);
    first_pairs.push_back(pair);
    while (pair < plan.pairs.size() && plan.pairs[pair].ports.from == n) ++pair;
  }
  first_pairs.push_back(pair);
}

std::span<const plan::MeshPair> MeshLayout::PairsFrom(plan::PortIndex port) const {
  return std::span(plan.pairs)
      .subspan(first_pairs[port], first_pairs[port + 1] - first_pairs[port]);
}

std::optional<std::size_t> MeshLayout::Find(plan::PortIndex from, plan::PortIndex to) const {
  const std::span<const plan::MeshPair> pairs = PairsFrom(from);
  const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                 [&](const plan::MeshPair& one) { return one.ports.to == to; });
  if (pair == pairs.end()) return {};
  return first_pairs[from] + static_cast<std::size_t>(pair - pairs.begin());
}

std::optional<std::size_t> MeshLayout::Find(const std::string& from, const std::string& to) const {
  const auto one = ports.find(from);
  const auto other = ports.find(to);
  if (one == ports.end() || other == ports.end()) return {};
  return Find(one->second, other->second);
}

EarlierPairs EarlierPairsOf(const MeshLayout& now, const MeshLayout& before) {
  std::vector<std::optional<plan::PortIndex>> earlier(now.plan.ports.size());
  for (const auto& [name, port] : now.ports)
    if (const auto known = before.ports.find(name); known != before.ports.end())
      earlier[port] = known->second;
  EarlierPairs pairs(now.plan.pairs.size());
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    const auto from = earlier[now.plan.pairs[n].ports.from];
    const auto to = earlier[now.plan.pairs[n].ports.to];
    if (!from || !to) continue;
    if (const auto pair = before.Find(*from, *to)) pairs[n] = static_cast<std::uint32_t>(*pair);
  }
  return pairs;
}

}  // namespace fabric::control
