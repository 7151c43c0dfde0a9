// Likelihood of an observation, given that the worst component on its path is healthy or bad to a
// certain level.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/blame/fabric.h"

namespace fabric::blame {

// Properties of a probe, each analyzed separately. Loss comes first: it is the strongest evidence.
enum class Channel : std::uint8_t { kLoss, kSpeed, kLatency };

inline constexpr std::size_t kLevels = 10;        // 0 is healthy, the last one the worst
using Likelihoods = std::array<double, kLevels>;  // Natural logarithms, by level

// The level's loss fraction, fraction of normal speed, or multiple of normal latency.
double ValueOf(Channel channel, std::size_t level);

// The likelihoods of all observations for one channel. Observations with equal figures are one
// "kind" and share one table row.
class ChannelLikelihoods {
 public:
  explicit ChannelLikelihoods(Channel channel) : channel_(channel) {}

  // Adds the observations of `all` from index `from` on; those before it have not changed.
  void Take(std::span<const Observation> all, std::size_t from);

  Channel channel() const { return channel_; }
  std::size_t size() const { return kinds_.size(); }  // Observations
  std::size_t kinds() const { return table_.size(); }
  bool Has(std::uint32_t observation) const { return kinds_[observation] != kNothing; }
  // True when the figure covers the direction `from` to `to` only.
  bool OneWay(std::uint32_t observation) const { return one_way_[observation]; }
  std::uint32_t KindOf(std::uint32_t observation) const { return kinds_[observation]; }
  const Likelihoods& Of(std::uint32_t observation) const { return table_[kinds_[observation]]; }
  // The lowest level that may be a fault: smaller effects are within the usual variation of
  // comparable probes. `some`: of some flows only.
  std::size_t FaultLevel(std::uint32_t observation, bool some) const {
    return fault_level_[kinds_[observation]][some ? 1 : 0];
  }
  // Log likelihood ratio of its best level to the healthy level.
  double Badness(std::uint32_t observation) const { return badness_[kinds_[observation]]; }
  // Comparable probes vary widely, so that some are slow without a cause.
  bool Noisy(std::uint32_t observation) const { return noisy_[kinds_[observation]]; }

 private:
  static constexpr std::uint32_t kNothing = 0xffffffff;

  Channel channel_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // Kinds by their figures
  std::vector<std::uint32_t> kinds_;
  std::vector<bool> one_way_;
  std::vector<Likelihoods> table_;
  std::vector<double> badness_;
  std::vector<bool> noisy_;
  std::vector<std::array<std::uint8_t, 2>> fault_level_;
};

// The level to which the chosen hypotheses explain each observation so far. Borrows the figures.
class ExplainedLevels {
 public:
  explicit ExplainedLevels(const ChannelLikelihoods& figures)
      : figures_(figures), levels_(figures.size(), 0), ignored_(figures.size(), false) {}

  Channel channel() const { return figures_.channel(); }
  bool Has(std::uint32_t observation) const {
    return !ignored_[observation] && figures_.Has(observation);
  }
  // The observation says nothing about the fabric.
  void Ignore(std::uint32_t observation) { ignored_[observation] = true; }
  std::size_t FaultLevel(std::uint32_t observation, bool some) const {
    return figures_.FaultLevel(observation, some);
  }
  bool OneWay(std::uint32_t observation) const { return figures_.OneWay(observation); }
  std::uint32_t KindOf(std::uint32_t observation) const { return figures_.KindOf(observation); }
  std::size_t kinds() const { return figures_.kinds(); }
  double Badness(std::uint32_t observation) const { return figures_.Badness(observation); }
  bool Noisy(std::uint32_t observation) const { return figures_.Noisy(observation); }
  // Minimum badness of a bad observation. Of noisy figures no single one is conclusive.
  double BadMin(std::uint32_t observation) const { return Noisy(observation) ? 0.7 : 2; }

  void Reset() { levels_.assign(levels_.size(), 0); }
  std::size_t LevelOf(std::uint32_t observation) const { return levels_[observation]; }
  void SetLevel(std::uint32_t observation, std::size_t level) {
    levels_[observation] = static_cast<std::uint8_t>(level);
  }
  // Log likelihood ratio of a worse level to the present one. 0 for the level next to a level that
  // already explains it: that is the same fault. At most 0 for levels below FaultLevel.
  double Gain(std::uint32_t observation, std::size_t level, bool some = false) const {
    const std::size_t present = levels_[observation];
    const Likelihoods& likelihoods = figures_.Of(observation);
    if (level <= present || (present > 0 && level == present + 1)) return 0;
    const double gain = likelihoods[level] - likelihoods[present];
    return level < FaultLevel(observation, some) ? std::min(gain, 0.0) : gain;
  }
  // The largest possible gain; 0: fully explained.
  double Unexplained(std::uint32_t observation) const;

 private:
  const ChannelLikelihoods& figures_;
  std::vector<std::uint8_t> levels_;
  std::vector<bool> ignored_;
};

}  // namespace fabric::blame
