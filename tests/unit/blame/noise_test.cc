// Machines that share their processors: nothing is as fast as the time before. A card that is held
// at a part of the speed is named all the same, and nobody else is, ever.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

struct Guests {
  const char* name;
  double scatter;         // Deviation of the logarithm of a pair's speed
  double alone = 1;       // Pairs that have the machine for themselves are so much faster ...
  double alone_part = 0;  // ... which this part of them has.
};

constexpr Guests kGuests[] = {
    {"steady", 0.02},   {"busy", 0.15},
    {"very busy", 0.3}, {"quiet, some pairs alone", 0.1, 3, 0.1},
    {"wild", 0.5},      {"wild, some pairs alone", 0.3, 3, 0.1},
};

constexpr std::uint32_t kNodes = 9;
constexpr std::uint32_t kSlow = 3;

// All pairs of nine nodes in nine rounds, both ways; one card is held at `held`.
v1::BlameReport JudgeOf(const Guests& guests, double held, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit;
  const Fabric fabric = FabricOf({.nodes = kNodes, .rails = 1, .per_leaf = 3});
  google::protobuf::RepeatedPtrField<v1::PairResult> results;
  for (std::uint32_t round = 0; round < kNodes; ++round) {
    for (std::uint32_t i = 1; i <= kNodes / 2; ++i) {
      const std::uint32_t a = (round + i) % kNodes;
      const std::uint32_t b = (round + kNodes - i) % kNodes;
      v1::PairResult& result = *results.Add();
      result.set_round(round + 1);
      result.mutable_probe()->mutable_rc_write_bandwidth()->set_bidirectional(true);
      for (const auto& [endpoint, port] :
           {std::pair{a, result.mutable_from()}, {b, result.mutable_to()}}) {
        port->set_node(fabric.endpoints[endpoint].node);
        port->set_device(fabric.endpoints[endpoint].device);
        port->set_port(1);
      }
      double bps = 60e6 * std::exp(guests.scatter * normal(random));
      if (unit(random) < guests.alone_part) bps *= guests.alone;
      if (a == kSlow || b == kSlow) bps = std::min(bps, 60e6) * held;
      const auto jitter = [&] { return std::exp(0.3 * guests.scatter * normal(random)); };
      result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
      result.mutable_result()->mutable_bandwidth()->set_mean_bps(bps * jitter());
      result.mutable_result()->mutable_reverse_bandwidth()->set_mean_bps(bps * jitter());
    }
  }
  return Judge(fabric, ObservationsOf(fabric, results));
}

constexpr unsigned kSeeds = 40;

TEST(Scatter, ACardThatIsManyTimesSlowerIsNamedAndNobodyElse) {
  for (const Guests& guests : kGuests) {
    for (const double held : {0.08, 0.2}) {
      unsigned named = 0;
      for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        const std::string text = Text(JudgeOf(guests, held, seed));
        named += text == "PORT n13/mlx5_0/1 LOW_BANDWIDTH" ? 1 : 0;
        EXPECT_TRUE(text.empty() || text.starts_with("PORT n13/mlx5_0/1 LOW_BANDWIDTH") ||
                    text[0] == '|')
            << guests.name << " seed " << seed << ": " << text;
      }
      EXPECT_GE(named, kSeeds * (guests.scatter > 0.4 ? 0.8 : 0.95))
          << guests.name << " at " << held;
    }
  }
}

TEST(Scatter, AccusesNobodyWhereAllAreAlike) {
  for (const Guests& guests : kGuests)
    for (unsigned seed = 1; seed <= 2 * kSeeds; ++seed)
      EXPECT_EQ(JudgeOf(guests, 1, seed).suspects_size(), 0)
          << guests.name << " seed " << seed << ": " << Text(JudgeOf(guests, 1, seed));
}

}  // namespace
}  // namespace fabric::blame::testing
