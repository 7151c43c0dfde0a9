#include "daemon/blame/path_flows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/blame/transient_bound.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kBadMin = 3;  // Observations
// Minimum gain of an observation that shows that the fault is present in its round.
constexpr double kPresentMin = 2;

using Gains = PathFlowsFit::Gains;
// Ends and flow label; the index of the observation for flows without a label, whose paths differ
// from probe to probe.
using FlowKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

double LogFactorial(std::size_t n) {
  int sign = 0;
  return lgamma_r(static_cast<double>(n) + 1, &sign);  // std::lgamma writes a global variable.
}

// Log probability of these rounds with the fault if each rate is equally likely.
double LogEvidenceOfRounds(std::size_t present, std::size_t all) {
  return LogFactorial(present) + LogFactorial(all - present) - LogFactorial(all + 1);
}

struct Seen {
  FlowKey flow;
  std::uint32_t round = 0;
  std::uint32_t from = 0;  // Node
  std::uint32_t to = 0;
  Gains gains = {};
};

// Bad observations of a pair in one round.
struct Event {
  std::uint32_t from = 0;  // Node
  std::uint32_t to = 0;
  Gains gains = {};
};

FlowKey KeyOf(const Observation& one, std::uint32_t index, bool one_way) {
  if (one.flow_label == 0) return {one.from, one.to, 0, index};
  if (one_way) return {one.from, one.to, one.flow_label, 0};
  const auto [low, high] = std::minmax(one.from, one.to);
  return {low, high, one.flow_label, 0};
}

class PathFlows {
 public:
  PathFlows(const ObservationPaths& paths, const ExplainedLevels& levels, double transient)
      : paths_(paths), levels_(levels), transient_(transient) {}

  // False: too few of them are bad.
  bool Take(std::span<const std::uint32_t> through) {
    std::size_t bad = 0;
    for (const std::uint32_t i : through)
      if (levels_.Unexplained(i) > levels_.BadMin(i)) ++bad;
    if (bad < kBadMin) return false;
    seen_.reserve(through.size());
    for (const std::uint32_t i : through) Add(i);
    std::sort(seen_.begin(), seen_.end(),
              [](const Seen& a, const Seen& b) { return a.flow < b.flow; });
    return true;
  }

  void Fit(std::span<const double, kShareCount> shares, PathFlowsFit& fit) {
    for (std::size_t level = 0; level < std::tuple_size_v<Gains>; ++level) {
      std::size_t rounds = 0;
      for (const auto& [round, gains] : best_) rounds += gains[level] > kPresentMin ? 1 : 0;
      const double evidence = LogEvidenceOfRounds(rounds, best_.size());
      for (std::size_t share = 1; share < shares.size(); ++share)
        fit.score[share][level] = evidence;
      AddFlows(level, shares, fit);
    }
    SubtractTransients(fit);
    fit.any = true;
  }

 private:
  void Add(std::uint32_t i) {
    const Observation& one = paths_.observations()[i];
    Seen& seen = seen_.emplace_back();
    seen.flow = KeyOf(one, i, levels_.OneWay(i));
    seen.round = one.round;
    seen.from = paths_.NodeOf(one.from);
    seen.to = paths_.NodeOf(one.to);
    Gains& best = best_[one.round];
    Event* event = nullptr;
    for (std::size_t level = 0; level < seen.gains.size(); ++level) {
      const double gain = levels_.Gain(i, level + 1, true);
      // With high noise some flows are slow without a cause.
      if (gain > 0 && levels_.Noisy(i)) continue;
      seen.gains[level] = gain;
      best[level] = std::max(best[level], gain);
      if (gain <= 0) continue;
      if (event == nullptr) event = &EventOf(one, seen);
      event->gains[level] += gain;
    }
  }

  Event& EventOf(const Observation& one, const Seen& seen) {
    const auto [low, high] = std::minmax(one.from, one.to);
    Event& event = events_[{one.round, low, high}];
    event.from = seen.from;
    event.to = seen.to;
    return event;
  }

  // Each flow is on the bad path or not, in all rounds with the fault.
  void AddFlows(std::size_t level, std::span<const double, kShareCount> shares,
                PathFlowsFit& fit) const {
    for (std::size_t begin = 0; begin < seen_.size();) {
      double gain = 0;
      std::size_t end = begin;
      for (; end < seen_.size() && seen_[end].flow == seen_[begin].flow; ++end)
        if (best_.at(seen_[end].round)[level] > kPresentMin) gain += seen_[end].gains[level];
      begin = end;
      if (gain == 0) continue;
      const double odds = std::expm1(std::min(gain, 300.0));
      for (std::size_t share = 1; share < shares.size(); ++share)
        fit.score[share][level] += std::log1p(shares[share] * odds);
    }
  }

  // The weight of one pair in one round is bounded, and against chance that of one host.
  void SubtractTransients(PathFlowsFit& fit) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> pairs;  // By round and node
    for (const auto& [key, event] : events_) {
      ++pairs[{std::get<0>(key), event.from}];
      if (event.to != event.from) ++pairs[{std::get<0>(key), event.to}];
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, Gains> hosts;
    for (const auto& [key, event] : events_) {
      const double most = *std::max_element(event.gains.begin(), event.gains.end());
      const std::pair from(std::get<0>(key), event.from);
      const std::pair to(std::get<0>(key), event.to);
      const std::pair host = pairs.at(from) >= pairs.at(to) ? from : to;
      Gains* const of_host = pairs.at(host) > 1 ? &hosts[host] : nullptr;
      for (std::size_t level = 0; level < event.gains.size(); ++level) {
        const double gain = event.gains[level];
        const double bounded = AgainstTransient(gain, most, most, transient_);
        for (Gains& gains : fit.score) gains[level] -= gain - bounded;
        if (of_host != nullptr) (*of_host)[level] += bounded;
      }
    }
    for (const auto& [host, gains] : hosts) {
      const double most = *std::max_element(gains.begin(), gains.end());
      for (std::size_t level = 0; level < gains.size(); ++level)
        fit.by_host[level] += gains[level] - AgainstTransient(gains[level], most, most, transient_);
    }
  }

  const ObservationPaths& paths_;
  const ExplainedLevels& levels_;
  const double transient_;
  std::vector<Seen> seen_;               // By flow
  std::map<std::uint32_t, Gains> best_;  // Of one observation, by round
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Event> events_;
};

}  // namespace

PathFlowsFit FitPathFlows(const ObservationPaths& paths, const ExplainedLevels& levels,
                          std::span<const std::uint32_t> through,
                          std::span<const double, kShareCount> shares, double transient) {
  PathFlowsFit fit;
  PathFlows flows(paths, levels, transient);
  if (flows.Take(through)) flows.Fit(shares, fit);
  return fit;
}

}  // namespace fabric::blame
