// Pairs of ports to probe so that each cable between switches is passed, by the exact routes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "daemon/blame/blame.h"
#include "fabric/v1/coverage.pb.h"

namespace fabric::blame {

// Pairs of one round, each endpoint at most once, on different nodes, preferably of one rail: first
// those that pass cables without a probe that few routes use, then those that pass suspicious
// cables and differ in others, then those that pass other cables without a probe. `usable`:
// endpoints that may take part; empty: all. `seed` varies the choice. Empty without exact routes.
std::vector<ProbeRequest> PairsForCables(const Fabric& fabric,
                                         std::span<const Observation> observations,
                                         std::span<const std::uint32_t> usable, std::uint64_t seed);

// Few pairs over all cables that routes between the endpoints use, in both directions.
struct CableCover {
  std::vector<std::vector<ProbeRequest>> rounds;  // In a round, each endpoint at most once
  std::size_t cables = 0;                         // Between switches
  std::size_t passed = 0;                         // In each direction that a route uses
  std::vector<std::string> unused;    // "cable a port 1 - b port 2": no route of the endpoints
  std::vector<std::string> left_out;  // Beyond the limit of pairs
};
CableCover CoverCables(const Fabric& fabric, std::span<const std::uint32_t> usable,
                       std::size_t pairs_max, std::uint64_t seed);

// Cables between switches that routes of the endpoints use and that no observation has passed in
// each direction that they use. None without exact routes.
struct CablesLeft {
  std::size_t used = 0;  // By routes of the endpoints
  std::vector<std::string> names;
};
CablesLeft UnpassedCables(const Fabric& fabric, std::span<const Observation> observations,
                          std::span<const std::uint32_t> usable);

// The same as CoverCables() for a list of ports.
struct PortCover {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> rounds;  // Indexes of ports
  std::vector<v1::CoverageGap> gaps;  // Ports without a known route, cables that are not passed
};
// FAILED_PRECONDITION: no routes are known, or none between these ports.
Result<PortCover> CoverPorts(const Fabric& fabric, std::span<const v1::ProbePort> ports,
                             std::uint64_t seed);

}  // namespace fabric::blame
