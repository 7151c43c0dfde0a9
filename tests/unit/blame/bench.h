// Test fabric: observations of a small fabric in which all ports probed each other, with faults.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/blame/blame.h"

namespace fabric::blame::testing {

struct Layout {
  std::uint32_t nodes = 12;
  std::uint32_t rails = 2;
  std::uint32_t per_leaf = 4;  // 0: the leaves are not known.
  std::uint32_t rounds = 64;   // At most so many
};

// Nodes "n10", "n11", ...; the place of a node's port on a rail is node * rails + rail; leaf
// "leaf-<rail>-<node / per_leaf>".
Fabric FabricOf(const Layout& layout);

// Every pair of a rail once, in rounds, with 1,000 packets over each of four flow labels, none
// lost, full speed both ways, usual latency.
std::vector<Observation> Healthy(const Layout& layout);

// Changes what was seen where `bad`.
std::vector<Observation> With(std::vector<Observation> observations,
                              const std::function<bool(const Observation&)>& bad,
                              const std::function<void(Observation&)>& change);
// Rounds begin so many seconds apart.
std::vector<Observation> Apart(std::vector<Observation> observations, double seconds);
void Dead(Observation& seen);
void Lose(Observation& seen, double component);
inline bool Touches(const Observation& seen, std::uint32_t endpoint) {
  return seen.from == endpoint || seen.to == endpoint;
}

// "PORT n10/mlx5_0/1 OUT PACKET_LOSS; ..." of the suspects, then "| PORT a, PORT b" of each open
// group.
std::string Text(const v1::BlameReport& report);

}  // namespace fabric::blame::testing
