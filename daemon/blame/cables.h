// Cables and switches that explain lost probes, by the exact paths of the probes. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "daemon/blame/exact_routes.h"
#include "daemon/blame/fabric.h"
#include "fabric/v1/blame.pb.h"

namespace fabric::blame {

struct CableFault {
  bool whole_switch = false;
  std::uint32_t place = 0;  // Index of the switch, or one channel of the cable
  double probability = 0;   // Of this cable or switch, among all cables, switches, ports and chance
  std::size_t bad = 0;      // Probes with losses that pass it
  std::size_t all = 0;      // Probes that pass it
  std::uint64_t attempts = 0;  // Packets of these probes
  std::uint64_t failures = 0;
  std::vector<std::uint32_t> observations;  // The bad ones
  // Other cables and switches that the same lost packets passed: one of all is bad.
  std::vector<CableFault> others = {};
};

// Faults with a probability of at least 0.95, seen in two rounds; the most likely first. A fault of
// several parts that routing uses for the same pairs only has `others`.
std::vector<CableFault> FindCableFaults(const Fabric& fabric,
                                        std::span<const Observation> observations);

// Replaces suspects of the report that a named cable or switch explains: leaves, uplinks, spines,
// pairs, and ports whose losses are on this path. Returns the bad observations that they explain.
std::set<std::uint32_t> NameCables(const Fabric& fabric, std::span<const Observation> observations,
                                   v1::BlameReport& report);

// Those of the endpoints whose losses a cable or a switch on their paths explains too, at least a
// fifth as well as the endpoint does: then the endpoint alone must not be accused. None without
// exact routes. `named`: as returned by NameCables().
std::set<std::uint32_t> DoubtfulOf(const Fabric& fabric, std::span<const Observation> observations,
                                   const std::set<std::uint32_t>& endpoints,
                                   const std::set<std::uint32_t>& named);

// At least this fraction of the bad probes of a suspect must be explained by named cables.
inline constexpr double kExplainedByCables = 0.8;

}  // namespace fabric::blame
