// How likely a probe's figures are, if the worst part on its way is healthy or bad to some level.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/blame/observation.h"

namespace fabric::blame {

// Each is judged by itself; what is lost says more than what is slow.
enum class Channel : std::uint8_t { kLoss, kSpeed, kLatency };

inline constexpr std::size_t kLevels = 10;        // 0 is healthy, the last one the worst.
using Likelihoods = std::array<double, kLevels>;  // Natural logarithms, of one observation

// Part that is lost, part of the speed that is left, or ratio of latency at that level.
double ValueOf(Channel channel, std::size_t level);

// One channel of many observations. Those with equal figures are of one kind and share their
// likelihoods.
class Figures {
 public:
  explicit Figures(Channel channel) : channel_(channel) {}

  // `all` are as before up to `from`, and others behind that.
  void Take(std::span<const Observation> all, std::size_t from);

  Channel channel() const { return channel_; }
  std::size_t size() const { return kinds_.size(); }  // Observations
  std::size_t kinds() const { return table_.size(); }
  bool Has(std::uint32_t observation) const { return kinds_[observation] != kNothing; }
  // True where what was seen speaks of the way there alone.
  bool OneWay(std::uint32_t observation) const { return one_way_[observation]; }
  std::uint32_t KindOf(std::uint32_t observation) const { return kinds_[observation]; }
  const Likelihoods& Of(std::uint32_t observation) const { return table_[kinds_[observation]]; }
  // How much better than health the best of all levels explains it.
  double Badness(std::uint32_t observation) const { return badness_[kinds_[observation]]; }
  // Its equals scatter, so that some are bad without a cause.
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
};

// To which level each observation is explained by now. Borrows the figures.
class Readings {
 public:
  explicit Readings(const Figures& figures) : figures_(figures), levels_(figures.size(), 0) {}

  Channel channel() const { return figures_.channel(); }
  bool Has(std::uint32_t observation) const { return figures_.Has(observation); }
  bool OneWay(std::uint32_t observation) const { return figures_.OneWay(observation); }
  std::uint32_t KindOf(std::uint32_t observation) const { return figures_.KindOf(observation); }
  std::size_t kinds() const { return figures_.kinds(); }
  double Badness(std::uint32_t observation) const { return figures_.Badness(observation); }
  bool Noisy(std::uint32_t observation) const { return figures_.Noisy(observation); }

  std::size_t LevelOf(std::uint32_t observation) const { return levels_[observation]; }
  void SetLevel(std::uint32_t observation, std::size_t level) {
    levels_[observation] = static_cast<std::uint8_t>(level);
  }
  // How much better than its present level this worse one would explain it. The level next to one
  // that explains it already is the same fault.
  double Gain(std::uint32_t observation, std::size_t level) const {
    const std::size_t present = levels_[observation];
    const Likelihoods& likelihoods = figures_.Of(observation);
    if (level <= present || (present > 0 && level == present + 1)) return 0;
    return likelihoods[level] - likelihoods[present];
  }
  // The most that it could gain; 0: nothing.
  double Unexplained(std::uint32_t observation) const;

 private:
  const Figures& figures_;
  std::vector<std::uint8_t> levels_;
};

}  // namespace fabric::blame
