#include "daemon/blame/likelihood.h"

#include <algorithm>
#include <cmath>

namespace fabric::blame {
namespace {

// Loss of a healthy fabric.
constexpr double kHealthyLoss = 1e-5;
// Probability of an outlier: a probe that is bad for a reason of its own, in any state of the path.
constexpr double kOddLoss = 1e-3;
constexpr double kOddSpeed = 0.01;
constexpr double kOddLatency = 0.03;

constexpr std::array<std::array<double, kLevels>, 3> kValues = {{
    {kHealthyLoss, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 0.998},
    {1, 0.84, 0.74, 0.64, 0.54, 0.44, 0.34, 0.24, 0.14, 0.05},
    {1, 1.5, 2, 3, 4.5, 7, 12, 20, 40, 100},
}};

double LogSum(double a, double b) {
  const double top = std::max(a, b);
  return top + std::log(std::exp(a - top) + std::exp(b - top));
}

// Losses come in bursts and paths differ: the loss of a component with mean loss p follows a beta
// distribution with this shape. This also covers the gaps between levels.
constexpr double kBurstShape = 2;

double LogBeta(double a, double b) {
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

double LogBetaBinomial(double n, double f, double p) {
  const double a = kBurstShape;
  const double b = a * (1 - p) / p;
  return LogBeta(f + a, n - f + b) - LogBeta(a, b);
}

// Healthy: binomial. Other levels: beta-binomial. Outliers: half of them lose everything, the
// others any number, small numbers being likelier.
Likelihoods OfLoss(std::uint32_t attempts, std::uint32_t failures) {
  const double n = attempts;
  const double f = failures;
  const double log_choices = std::lgamma(n + 1) - std::lgamma(f + 1) - std::lgamma(n - f + 1);
  double odd = -1e9;
  if (failures == attempts)
    odd = std::log(kOddLoss / 2);
  else if (failures > 0)
    odd = std::log(kOddLoss / 2) - std::log(f * (1 + std::log(n)));
  Likelihoods result;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double p = ValueOf(Channel::kLoss, level);
    const double sound =
        level == 0 ? f * std::log(p) + (n - f) * std::log1p(-p) : LogBetaBinomial(n, f, p);
    result[level] = LogSum(log_choices + sound, odd);
  }
  return result;
}

double LogNormal(double value, double mean, double deviation) {
  const double z = (value - mean) / deviation;
  return -0.5 * z * z - std::log(deviation * 2.5066282746310002);
}

// Figures are relative to the upper quartile. The mean of a normal distribution is this many
// standard deviations below it.
constexpr double kBelowGood = 0.67;
// Noise below this is covered by the deviations below.
constexpr double kSpeedNoiseMin = 0.05;
constexpr double kLatencyNoiseMin = 0.25;

// With high noise the tails are heavier than a normal distribution's: use Student's t with this
// many degrees of freedom, which also bounds the weight of one figure.
constexpr double kScatterFreedom = 20;

double LogStudent(double value, double mean, double deviation) {
  constexpr double kLogNorm =
      -0.931433340379;  // Log density at the mean, for 20 degrees of freedom
  const double z = (value - mean) / deviation;
  return kLogNorm - (kScatterFreedom + 1) / 2 * std::log1p(z * z / kScatterFreedom) -
         std::log(deviation);
}

Likelihoods OfSpeed(double speed) {
  constexpr double kHealthyDeviation = 0.04;
  constexpr double kDeviation = 0.06;
  Likelihoods result;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double deviation = level == 0 ? kHealthyDeviation : kDeviation;
    const double sound = LogNormal(speed, ValueOf(Channel::kSpeed, level), deviation);
    result[level] = LogSum(std::log1p(-kOddSpeed) + sound, std::log(kOddSpeed));
  }
  return result;
}

// Uses the logarithm of the speed: if speeds vary by a factor of two, a tenth is still an outlier.
Likelihoods OfNoisySpeed(double speed, double noise) {
  constexpr double kHealthyDeviation = 0.04;
  constexpr double kDeviation = 0.12;
  constexpr double kRange = 4;  // Range of the logarithm of outliers
  Likelihoods result;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double mean = std::log(ValueOf(Channel::kSpeed, level)) - kBelowGood * noise;
    const double deviation = std::hypot(level == 0 ? kHealthyDeviation : kDeviation, noise);
    const double sound = LogStudent(std::log(speed), mean, deviation);
    result[level] = LogSum(std::log1p(-kOddSpeed) + sound, std::log(kOddSpeed / kRange));
  }
  return result;
}

Likelihoods OfLatency(double log_ratio, double noise) {
  constexpr double kHealthyDeviation = 0.12;
  constexpr double kDeviation = 0.3;
  constexpr double kRange = 5;  // Range of the logarithm of outliers
  const bool noisy = noise >= kLatencyNoiseMin;
  const double middle = noisy ? kBelowGood * noise : 0;
  Likelihoods result;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double mean = std::log(ValueOf(Channel::kLatency, level)) + middle;
    double deviation = level == 0 ? kHealthyDeviation : kDeviation;
    if (noisy) deviation = std::hypot(deviation, noise);
    const double sound = LogNormal(log_ratio, mean, deviation);
    result[level] = LogSum(std::log1p(-kOddLatency) + sound, std::log(kOddLatency / kRange));
  }
  return result;
}

// Resolution of the table keys; finer than the noise.
constexpr double kSpeedSteps = 100;
constexpr double kLatencySteps = 20;
constexpr double kNoiseSteps = 50;
constexpr std::uint64_t kNoiseFrom = 32;  // Lowest bit of the noise in the key

std::uint64_t KeyOf(double steps, float noise) {
  const float known = std::isfinite(noise) ? std::clamp(noise, 0.0F, 2.0F) : 0;
  return static_cast<std::uint64_t>(std::lround(steps)) |
         static_cast<std::uint64_t>(std::lround(known * kNoiseSteps)) << kNoiseFrom;
}

struct Figure {
  bool known = false;
  std::uint64_t key = 0;
};

Figure FigureOf(Channel channel, const Observation& seen) {
  switch (channel) {
    case Channel::kLoss:
      return {seen.attempts > 0, (std::uint64_t{seen.attempts} << 32) | seen.failures};
    case Channel::kSpeed:
      if (!seen.speed || !std::isfinite(*seen.speed)) return {};
      return {true, KeyOf(std::clamp(*seen.speed, 0.0F, 1.0F) * kSpeedSteps, seen.noise)};
    case Channel::kLatency:
      if (!seen.latency || !std::isfinite(*seen.latency)) return {};
      return {true,
              KeyOf(std::log(std::clamp(*seen.latency, 1.0F, 200.0F)) * kLatencySteps, seen.noise)};
  }
  return {};
}

double NoiseOf(std::uint64_t key) {
  return static_cast<double>(key >> kNoiseFrom) / kNoiseSteps;
}

bool IsNoisy(Channel channel, std::uint64_t key) {
  return channel == Channel::kSpeed && NoiseOf(key) >= kSpeedNoiseMin;
}

// A fault changes a figure by at least this factor (logarithms), and by this many deviations of
// comparable figures. A loss of any size is a fault.
struct EffectMin {
  double log_ratio;
  double deviations;
};

EffectMin EffectMinOf(Channel channel, bool some) {
  switch (channel) {
    case Channel::kLoss: return {0, 0};
    case Channel::kSpeed: return some ? EffectMin{0.3, 4} : EffectMin{0.17, 1};
    case Channel::kLatency: return some ? EffectMin{0.69, 3} : EffectMin{0.69, 2};
  }
  return {};
}

std::uint8_t FaultLevelOf(Channel channel, std::uint64_t key, bool some) {
  if (channel == Channel::kLoss) return 1;
  const EffectMin least = EffectMinOf(channel, some);
  const double needed = std::max(least.log_ratio, least.deviations * NoiseOf(key));
  std::size_t level = 1;
  while (level + 1 < kLevels && std::abs(std::log(ValueOf(channel, level))) < needed) ++level;
  return static_cast<std::uint8_t>(level);
}

Likelihoods LikelihoodsOf(Channel channel, std::uint64_t key) {
  const auto steps = static_cast<double>(static_cast<std::uint32_t>(key));
  const double noise = NoiseOf(key);
  switch (channel) {
    case Channel::kLoss: {
      const auto attempts = static_cast<std::uint32_t>(key >> 32);
      return OfLoss(attempts, std::min(attempts, static_cast<std::uint32_t>(key)));
    }
    case Channel::kSpeed:
      return !IsNoisy(channel, key) ? OfSpeed(steps / kSpeedSteps)
                                    : OfNoisySpeed(std::max(steps, 0.5) / kSpeedSteps, noise);
    case Channel::kLatency: return OfLatency(steps / kLatencySteps, noise);
  }
  return {};
}

}  // namespace

double ValueOf(Channel channel, std::size_t level) {
  return kValues[static_cast<std::size_t>(channel)][level];
}

void ChannelLikelihoods::Take(std::span<const Observation> all, std::size_t from) {
  kinds_.resize(from);
  one_way_.resize(from);
  for (const Observation& seen : all.subspan(from)) {
    one_way_.push_back(channel_ == Channel::kSpeed || (channel_ == Channel::kLoss && seen.one_way));
    const Figure figure = FigureOf(channel_, seen);
    if (!figure.known) {
      kinds_.push_back(kNothing);
      continue;
    }
    const auto [at, fresh] = known_.emplace(figure.key, static_cast<std::uint32_t>(table_.size()));
    kinds_.push_back(at->second);
    if (!fresh) continue;
    const Likelihoods likelihoods = LikelihoodsOf(channel_, figure.key);
    table_.push_back(likelihoods);
    const std::uint8_t level = FaultLevelOf(channel_, figure.key, false);
    fault_level_.push_back({level, FaultLevelOf(channel_, figure.key, true)});
    const double worst = *std::max_element(likelihoods.begin() + level, likelihoods.end());
    badness_.push_back(std::max(0.0, worst - likelihoods[0]));
    noisy_.push_back(IsNoisy(channel_, figure.key));
  }
}

double ExplainedLevels::Unexplained(std::uint32_t observation) const {
  double most = 0;
  for (std::size_t level = 1; level < kLevels; ++level)
    most = std::max(most, Gain(observation, level));
  return most;
}

}  // namespace fabric::blame
