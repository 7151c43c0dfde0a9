#include "daemon/blame/fault.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace fabric::blame {
namespace {

constexpr double kDecided = 0.95;         // Minimum probability to name a component
constexpr double kDecidedInNoise = 0.98;  // The same for noisy figures
constexpr std::size_t kPortsMin = 3;      // Minimum bad ports to blame a shared component
constexpr std::size_t kLeavesMin = 2;     // Minimum other leaves of the bad flows of an uplink

// Ends of the observations that are inside (or outside) the component. Components without members,
// such as spines, have none inside.
std::set<std::uint32_t> EndsIn(const ObservationPaths& paths, const Component& component,
                               const std::vector<std::uint32_t>& observations, bool inside) {
  std::set<std::uint32_t> ends;
  for (const std::uint32_t i : observations) {
    const Observation& seen = paths.observations()[i];
    for (const std::uint32_t endpoint : {seen.from, seen.to})
      if (paths.Holds(component, endpoint) == inside) ends.insert(endpoint);
  }
  return ends;
}

// The port at an end of most of the bad flows of a switch, if there is one: then the port is as
// likely as the switch.
std::optional<std::uint32_t> PortOfMost(const ObservationPaths& paths, const Fault& fault) {
  const Hypothesis& hypothesis = fault.candidates[0].hypothesis;
  if (MayPause(hypothesis.component) || hypothesis.fit.share == 0) return std::nullopt;
  constexpr double kMost = 0.7;
  std::map<std::uint32_t, std::size_t> flows;
  for (const std::uint32_t i : fault.observations) {
    const Observation& seen = paths.observations()[i];
    for (const std::uint32_t endpoint : {seen.from, seen.to}) ++flows[endpoint];
  }
  for (const auto& [endpoint, count] : flows)
    if (static_cast<double>(count) > kMost * static_cast<double>(fault.observations.size()))
      return endpoint;
  return std::nullopt;
}

// Leaves at the other end of the bad flows of an uplink. With one of them only, both leaves explain
// the flows equally well: another fault can hide what distinguishes them.
std::set<std::uint32_t> OtherLeaves(const ObservationPaths& paths, const Fault& fault) {
  std::set<std::uint32_t> leaves;
  for (const std::uint32_t i : fault.observations) {
    const Observation& seen = paths.observations()[i];
    for (const std::uint32_t endpoint : {seen.from, seen.to}) leaves.insert(paths.LeafOf(endpoint));
  }
  leaves.erase(fault.candidates[0].hypothesis.component.first);
  return leaves;
}

struct LossOfFlows {
  double sum = 0;
  double squares = 0;
  double count = 0;

  double Mean() const { return sum / count; }
  // Of the mean
  double Variance() const { return std::max(0.0, squares / count - Mean() * Mean()) / count; }
};

// Minimum evidence: two rounds; two partners for a port or host; three ports for a shared
// component, because two bad ports under a leaf may be two port faults.
bool EnoughEvidence(const ObservationPaths& paths, const Fault& fault) {
  const Component& component = fault.candidates[0].hypothesis.component;
  if (fault.rounds < 2) return false;
  const auto ends = [&](bool inside) {
    return EndsIn(paths, component, fault.observations, inside).size();
  };
  switch (component.kind) {
    case ComponentKind::kPort:
    case ComponentKind::kHost: return ends(false) >= 2;
    case ComponentKind::kLeaf: return ends(true) >= kPortsMin;
    case ComponentKind::kUplink:
      return ends(true) >= kPortsMin && OtherLeaves(paths, fault).size() >= kLeavesMin;
    case ComponentKind::kSpine:
      if (IsWorseForSomeLeaves(paths, fault.channel, fault.observations)) return false;
      [[fallthrough]];
    case ComponentKind::kPair: return true;
    default: return std::max(ends(false), ends(true)) >= kPortsMin;
  }
}

// The bad period was shorter than a host pause and is over.
bool WasAPause(const Fault& fault) {
  const Hypothesis& hypothesis = fault.candidates[0].hypothesis;
  return MayPause(hypothesis.component) && hypothesis.fit.share > 0 && fault.first_s > 0 &&
         fault.last_s - fault.first_s < kPauseMaxS;
}

// There is a healthy observation outside the component. If everything that was probed is bad, then
// a setting, a driver or overloaded machines are as likely a cause as any shared component. An end
// that failed by itself needs no comparison.
bool HasHealthyComparison(const ObservationPaths& paths, const ExplainedLevels& levels,
                          const Scorer& scorer, const Fault& fault) {
  const Hypothesis& hypothesis = fault.candidates[0].hypothesis;
  if (hypothesis.component.kind == ComponentKind::kFabric) return true;
  const auto observations = paths.observations();
  if (std::any_of(fault.observations.begin(), fault.observations.end(),
                  [&](std::uint32_t i) { return observations[i].failed_end.has_value(); }))
    return true;
  const bool some_flows = hypothesis.fit.share > 0;
  for (std::uint32_t i = 0; i < observations.size(); ++i) {
    if (!levels.Has(i) || levels.Badness(i) > levels.BadMin(i)) continue;
    if (some_flows || !paths.Passes(hypothesis.component, i) || !scorer.Affects(hypothesis, i))
      return true;
  }
  return false;
}

// Adds the fabric as a candidate, as likely as the first one.
void AddWholeFabric(Fault& fault) {
  Candidate all = fault.candidates[0];
  all.hypothesis.component = {ComponentKind::kFabric};
  all.hypothesis.direction = Direction::kBoth;
  all.direction_probability = 1;
  std::erase_if(fault.candidates, [](const Candidate& one) {
    return one.hypothesis.component.kind == ComponentKind::kFabric;
  });
  fault.candidates[0].probability /= 2;
  all.probability = fault.candidates[0].probability;
  fault.candidates.insert(fault.candidates.begin() + 1, all);
}

// If only one or two ports of a switch were probed, or one port has most of the bad flows, those
// ports are as likely as the switch.
void AddPortsOfSwitch(const ObservationPaths& paths, Fault& fault) {
  const Candidate top = fault.candidates[0];
  const ComponentKind kind = top.hypothesis.component.kind;
  if (kind != ComponentKind::kLeaf && kind != ComponentKind::kUplink && !PortOfMost(paths, fault))
    return;
  auto ports = EndsIn(paths, top.hypothesis.component, fault.observations, true);
  if (const auto port = PortOfMost(paths, fault))
    ports = {*port};
  else if (ports.size() >= kPortsMin)
    return;
  std::vector<Candidate> more;
  for (const std::uint32_t port : ports) {
    const Component component{ComponentKind::kPort, port};
    const auto same = [&](const Candidate& one) { return one.hypothesis.component == component; };
    if (std::any_of(fault.candidates.begin(), fault.candidates.end(), same)) continue;
    more.push_back(top);
    more.back().hypothesis.component = component;
    more.back().probability = top.probability / 2;
  }
  if (more.empty()) return;
  fault.candidates[0].probability /= 2;
  fault.candidates.insert(fault.candidates.end(), more.begin(), more.end());
}

}  // namespace

bool IsWorseForSomeLeaves(const ObservationPaths& paths, Channel channel,
                          const std::vector<std::uint32_t>& bad) {
  constexpr std::size_t kLeafPairsMax = 3;
  constexpr double kFlowsMin = 3;
  constexpr double kRatio = 1.5;
  constexpr double kDeviations = 3;
  if (channel != Channel::kLoss) return false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LossOfFlows> pairs;
  for (const std::uint32_t i : bad) {
    const Observation& seen = paths.observations()[i];
    if (seen.attempts == 0) continue;
    LossOfFlows& loss = pairs[std::minmax({paths.LeafOf(seen.from), paths.LeafOf(seen.to)})];
    const double share = static_cast<double>(seen.failures) / seen.attempts;
    loss.sum += share;
    loss.squares += share * share;
    ++loss.count;
  }
  if (pairs.size() > kLeafPairsMax) return false;
  const LossOfFlows* least = nullptr;
  const LossOfFlows* most = nullptr;
  for (const auto& [leaves, loss] : pairs) {
    if (loss.count < kFlowsMin) continue;
    if (least == nullptr || loss.Mean() < least->Mean()) least = &loss;
    if (most == nullptr || loss.Mean() > most->Mean()) most = &loss;
  }
  if (least == most) return false;
  return most->Mean() > kRatio * least->Mean() &&
         most->Mean() - least->Mean() >
             kDeviations * std::sqrt(most->Variance() + least->Variance());
}

bool MayPause(const Component& component) {
  return component.kind == ComponentKind::kPort || component.kind == ComponentKind::kHost ||
         component.kind == ComponentKind::kPair;
}

void SetPeriod(const ObservationPaths& paths, Fault& fault) {
  std::set<std::uint32_t> rounds;
  for (const std::uint32_t i : fault.observations) {
    const Observation& seen = paths.observations()[i];
    rounds.insert(seen.round);
    if (fault.last_s == 0 || seen.began_s < fault.first_s) fault.first_s = seen.began_s;
    fault.last_s = std::max(fault.last_s, seen.began_s);
  }
  fault.rounds = rounds.size();
}

bool IsLargeEnough(const ObservationPaths& paths, const Fault& fault) {
  constexpr double kLatencyMin = 1.8;
  constexpr double kSpeedMax = 0.87;
  if (fault.channel == Channel::kLoss) return true;
  std::size_t large = 0;
  for (const std::uint32_t i : fault.observations) {
    const Observation& seen = paths.observations()[i];
    const bool one = fault.channel == Channel::kSpeed ? seen.speed.value_or(1) < kSpeedMax
                                                      : seen.latency.value_or(1) > kLatencyMin;
    large += one ? 1 : 0;
  }
  return 2 * large >= fault.observations.size();
}

void Decide(const ObservationPaths& paths, const ExplainedLevels& levels, const Scorer& scorer,
            Fault& fault) {
  const bool noisy = std::any_of(fault.observations.begin(), fault.observations.end(),
                                 [&](std::uint32_t i) { return levels.Noisy(i); });
  const double needed = noisy ? kDecidedInNoise : kDecided;
  const bool likely = fault.candidates[0].probability >= needed && EnoughEvidence(paths, fault) &&
                      !WasAPause(fault) && !PortOfMost(paths, fault);
  fault.decided = likely && HasHealthyComparison(paths, levels, scorer, fault);
  if (likely && !fault.decided) AddWholeFabric(fault);
  if (!likely) AddPortsOfSwitch(paths, fault);
}

}  // namespace fabric::blame
