// Levels of a tree of switches: 0 for switches with hosts, then by distance. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subnet/routing/graph.h"

namespace fabric::subnet {

struct Levels {
  static constexpr std::uint8_t kUnknown = 255;

  std::vector<std::uint8_t> level;  // By switch index
  std::uint32_t count = 0;          // Number of levels
  std::size_t cables = 0;           // Between switches
  std::vector<Cable> within;        // Cables between switches of one level
  // The switches form a tree, except for the cables in `within`, which are then few.
  bool tree = false;
  std::string why_no_tree;

  bool IsUp(std::uint32_t from, std::uint32_t to) const {
    return level[from] != kUnknown && level[to] != kUnknown && level[to] > level[from];
  }
};

Levels LevelsOf(const Graph& graph);

// Ports of a switch that lead up, in ascending order.
std::vector<std::uint32_t> Uplinks(const Graph& graph, const Levels& levels, std::uint32_t index);

}  // namespace fabric::subnet
