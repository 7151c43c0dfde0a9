// The plan of the mesh with its places: which ports ping each other, by node and by name. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/blame/fabric.h"
#include "daemon/plan/mesh.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

struct MeshLayout {
  struct Places {
    std::vector<std::size_t> candidates;
    std::vector<plan::PortIndex> ports;  // In the plan
  };

  std::vector<plan::Port> candidates;  // With and without endpoints
  plan::MeshPlan plan;
  blame::Fabric fabric;
  std::map<std::string, Places> places;                    // By node
  std::unordered_map<std::string, plan::PortIndex> ports;  // Of the plan, by name
  std::vector<std::size_t> first_pairs;  // By port: its first pair; the last element is the end

  // Fills in what follows from the candidates and the plan.
  void Index();
  // The pairs in which the port pings.
  std::span<const plan::MeshPair> PairsFrom(plan::PortIndex port) const;
  // Number of the pair in the plan. No value: not part of it.
  std::optional<std::size_t> Find(plan::PortIndex from, plan::PortIndex to) const;
  std::optional<std::size_t> Find(const std::string& from, const std::string& to) const;
};

// The same pair in an earlier plan, for each pair of `now`.
using EarlierPairs = std::vector<std::optional<std::uint32_t>>;
EarlierPairs EarlierPairsOf(const MeshLayout& now, const MeshLayout& before);

}  // namespace fabric::control
