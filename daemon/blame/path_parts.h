// The parts on the exact paths of probes, and how well each of them explains the lost packets.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/blame/exact_routes.h"
#include "daemon/blame/fabric.h"

namespace fabric::blame {

enum class Part : std::uint8_t { kDirection, kCable, kSwitch, kEndpoint };

// A part and its index: of a channel, a switch or an endpoint.
using PartKey = std::uint64_t;
constexpr PartKey PartKeyOf(Part part, std::uint32_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(part)} << 32 | index;
}
constexpr Part PartOf(PartKey key) {
  return static_cast<Part>(key >> 32);
}
constexpr std::uint32_t IndexIn(PartKey key) {
  return static_cast<std::uint32_t>(key);
}

// Probes that pass a part.
struct PartTally {
  std::size_t bad = 0;    // With lost packets
  std::size_t faint = 0;  // Of these, with one lost packet of many, which a healthy path loses too
  std::size_t all = 0;
};
using PartTallies = std::unordered_map<PartKey, PartTally>;

// Borrows its arguments.
class PathParts {
 public:
  PathParts(const Fabric& fabric, std::span<const Observation> observations)
      : routes_(fabric.routes), observations_(observations), skipped_(observations.size()) {}

  bool IsBad(std::size_t index) const { return observations_[index].failures > 0; }
  bool IsFaint(std::size_t index) const;
  bool Counts(std::size_t index) const {
    const Observation& seen = observations_[index];
    return !skipped_[index] && seen.attempts > 0 && !seen.failed_end;
  }
  void Skip(std::size_t index) { skipped_[index] = true; }

  // Each part once, sorted. Empty if the path is not known.
  const std::vector<PartKey>& PartsOf(std::size_t index);
  // Of a pair, in both directions or one.
  const std::vector<PartKey>& PartsOf(std::uint32_t from, std::uint32_t to, bool one_way);
  // Of all parts on bad paths.
  PartTallies Count();

 private:
  const ExactRoutes& routes_;
  std::span<const Observation> observations_;
  std::vector<bool> skipped_;
  std::vector<PartKey> parts_;
  std::vector<ChannelId> channels_;
};

double AddLogs(double a, double b);  // log(exp(a) + exp(b))

// Logarithms of the odds before any probe.
double PriorOf(Part part);
// Log odds that the part is bad, against chance.
double LogOddsOf(const PartTally& tally);

// A bad part makes a share of the probes that pass it bad: all, or fewer if its fault comes and
// goes. Expected values over the shares, by the probes.
struct ShareOfBad {
  double share = 0;
  double entropy = 0;  // Of one more probe, if the share were known
};
ShareOfBad ExpectedShareOf(const PartTally& tally);

// Entropy of an event, in nats.
double EntropyOf(double probability);

// A cable (for both of its directions), a switch or an endpoint.
struct BestPart {
  PartKey object = 0;
  double probability = 0;  // Among all parts and chance
  // Others that explain the losses as well, likeliest first: no probe has distinguished them.
  std::vector<std::pair<PartKey, double>> others = {};
};
BestPart FindBest(const ExactRoutes& routes, const PartTallies& tallies);

}  // namespace fabric::blame
