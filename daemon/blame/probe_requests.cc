#include "daemon/blame/probe_requests.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kGoodMin = 2;             // Minimum good observations of a good endpoint
constexpr std::size_t kHealthyPartnersMin = 3;  // Minimum partners of a healthy endpoint
constexpr double kExcluded = -3;                // Log odds below which a loss is excluded
constexpr double kSlow = 0.9;
constexpr double kLate = 1.4;
constexpr double kNoiseDeviations = 2;  // Allowed deviation, in standard deviations
constexpr std::size_t kThirdSpeed = 6;  // Level of kSpeed

bool LooksGood(const Observation& seen) {
  if (seen.failed_end || seen.failures > 0) return false;
  const double tolerance = std::exp(kNoiseDeviations * static_cast<double>(seen.noise));
  return seen.speed.value_or(1) > kSlow / tolerance && seen.latency.value_or(1) < kLate * tolerance;
}

std::uint32_t Other(const Observation& seen, std::uint32_t endpoint) {
  return seen.from == endpoint ? seen.to : seen.from;
}

// True in about half of the rounds, without a period.
bool CoinFlip(std::uint32_t round, const ProbeRequest& pair) {
  const std::uint64_t key =
      (std::uint64_t{round} << 40) ^ (std::uint64_t{pair.from} << 20) ^ pair.to;
  return (SplitMix(key) & 1) != 0;
}

}  // namespace

// If a component is bad for some flows only, the other flows stay usable as evidence.
void Partners::Explain(const Fault& fault) {
  const Hypothesis& hypothesis = fault.candidates[0].hypothesis;
  for (const std::uint32_t i : fault.observations) explained_[i] = true;
  if (hypothesis.fit.share > 0) return;
  for (const std::uint32_t i : paths_.Through(hypothesis.component)) explained_[i] = true;
  for (std::uint32_t endpoint = 0; endpoint < decided_.size(); ++endpoint)
    if (hypothesis.component.kind != ComponentKind::kUplink &&
        paths_.Holds(hypothesis.component, endpoint))
      decided_[endpoint] = true;
}

Partners::Partners(const ObservationPaths& paths, std::span<const Fault> faults,
                   std::span<const std::uint32_t> usable)
    : paths_(paths) {
  const std::size_t endpoints = paths.fabric().endpoints.size();
  usable_.assign(endpoints, false);
  good_.assign(endpoints, false);
  decided_.assign(endpoints, false);
  explained_.assign(paths.observations().size(), false);
  in_open_fault_.assign(explained_.size(), false);
  std::vector<bool> candidate(endpoints, false);
  for (const Fault& fault : faults) {
    if (fault.decided) {
      Explain(fault);
      continue;
    }
    for (const std::uint32_t i : fault.observations) in_open_fault_[i] = true;
    for (const Candidate& one : fault.candidates)
      for (std::uint32_t endpoint = 0; endpoint < endpoints; ++endpoint)
        if (paths.Holds(one.hypothesis.component, endpoint)) candidate[endpoint] = true;
  }
  std::uint32_t rails = 0;
  for (std::uint32_t endpoint = 0; endpoint < endpoints; ++endpoint) {
    if (usable.empty()) usable_[endpoint] = paths.Observed(endpoint);
    const std::uint32_t rail = paths.RailOf(endpoint);
    if (rail != kUnknown) rails = std::max(rails, rail + 1);
  }
  for (const std::uint32_t endpoint : usable)
    if (endpoint < endpoints) usable_[endpoint] = true;
  std::vector<bool> looks_good;
  looks_good.reserve(explained_.size());
  for (const Observation& seen : paths.observations()) looks_good.push_back(LooksGood(seen));
  rails_.resize(rails + 1);
  for (std::uint32_t endpoint = 0; endpoint < endpoints; ++endpoint) {
    if (!usable_[endpoint]) continue;
    rails_[std::min(paths.RailOf(endpoint), rails)].push_back(endpoint);
    std::size_t good = 0;
    bool bad = decided_[endpoint] || candidate[endpoint];
    for (const std::uint32_t i : paths.ObservationsOf(endpoint)) {
      good += looks_good[i] ? 1 : 0;
      bad = bad || (!looks_good[i] && !InFault(i));
    }
    good_[endpoint] = !bad && good >= kGoodMin;
  }
}

bool Partners::MetInNewest(const ProbeRequest& pair) const {
  const auto observations = paths_.observations();
  return !observations.empty() && LastMet(pair.from, pair.to) == observations.back().round;
}

std::vector<std::uint32_t> Partners::Under(std::uint32_t leaf) const {
  std::vector<std::uint32_t> under;
  for (std::uint32_t endpoint = 0; endpoint < usable_.size(); ++endpoint)
    if (usable_[endpoint] && paths_.LeafOf(endpoint) == leaf) under.push_back(endpoint);
  return under;
}

std::span<const std::uint32_t> Partners::OfRail(std::uint32_t endpoint) const {
  return rails_[std::min<std::size_t>(paths_.RailOf(endpoint), rails_.size() - 1)];
}

std::optional<std::uint32_t> Partners::LastMet(std::uint32_t endpoint, std::uint32_t other) const {
  const auto observations = paths_.ObservationsOf(endpoint);
  for (auto i = observations.rbegin(); i != observations.rend(); ++i)
    if (Other(paths_.observations()[*i], endpoint) == other) return paths_.observations()[*i].round;
  return std::nullopt;
}

std::optional<std::uint32_t> Partners::For(std::uint32_t endpoint, bool same_leaf,
                                           const std::set<std::uint32_t>& taken) const {
  const auto rail = OfRail(endpoint);
  const auto start = std::upper_bound(rail.begin(), rail.end(), endpoint) - rail.begin();
  std::optional<std::uint32_t> best;
  std::optional<std::uint32_t> best_met;
  for (std::size_t n = 0; n < rail.size(); ++n) {
    const std::uint32_t other = rail[(static_cast<std::size_t>(start) + n) % rail.size()];
    if (other == endpoint || !good_[other] || taken.contains(other)) continue;
    if (paths_.NodeOf(other) == paths_.NodeOf(endpoint)) continue;
    const std::uint32_t leaf = paths_.LeafOf(endpoint);
    if (leaf != kUnknown && (paths_.LeafOf(other) == leaf) != same_leaf) continue;
    const auto met = LastMet(endpoint, other);
    if (!met) return other;
    if (best && met >= best_met) continue;
    best = other;
    best_met = met;
  }
  return best;
}

void ProbeRequests::Add(const std::vector<ReasonedProbe>& probes) {
  for (const ReasonedProbe& probe : probes) {
    requests_.push_back(probe.pair);
    taken_.insert(probe.pair.to);
  }
}

void ProbeRequests::Add(std::uint32_t endpoint) {
  if (!partners_.Usable(endpoint)) return;
  auto partner = partners_.For(endpoint, false, taken_);
  if (!partner) partner = partners_.For(endpoint, true, taken_);
  if (!partner) return;
  taken_.insert(*partner);
  requests_.push_back({endpoint, *partner});
}

// Shared components need no request: every probe tests them.
void ProbeRequests::Add(const Component& suspicious) {
  switch (suspicious.kind) {
    case ComponentKind::kPort: return Add(suspicious.first);
    case ComponentKind::kHost:
      for (const std::uint32_t endpoint : paths_.EndpointsOfNode(suspicious.first)) Add(endpoint);
      return;
    case ComponentKind::kPair:
      if (partners_.Usable(suspicious.first) && partners_.Usable(suspicious.second))
        requests_.push_back({suspicious.first, suspicious.second, true});
      return;
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
      for (const std::uint32_t endpoint : paths_.EndpointsUnder(suspicious.first)) Add(endpoint);
      return;
    case ComponentKind::kLeafPair: {
      const auto under = paths_.EndpointsUnder(suspicious.first);
      const auto others = paths_.EndpointsUnder(suspicious.second);
      for (std::size_t i = 0; i < std::min(under.size(), others.size()); ++i)
        if (partners_.Good(under[i]) && partners_.Good(others[i]))
          requests_.push_back({under[i], others[i]});
      return;
    }
    default: return;
  }
}

// Rank of a request; lower ranks first. Repeat a suspected pair unless its ports last probed each
// other: that distinguishes a bad pair from chance. In between its ports probe others, which
// distinguishes it from a bad port. Random, because a port that fails every second round could
// otherwise be missed each time.
int ProbeRequests::TurnOf(const ProbeRequest& pair) const {
  if (!pair.repeat) return partners_.MetInNewest(pair) ? 3 : 1;
  const auto last = [&](std::uint32_t endpoint) {
    return paths_.observations()[paths_.ObservationsOf(endpoint).back()];
  };
  const auto together = [&](std::uint32_t endpoint, std::uint32_t other) {
    const Observation seen = last(endpoint);
    return Other(seen, endpoint) == other;
  };
  if (together(pair.from, pair.to) || together(pair.to, pair.from)) return 2;
  return CoinFlip(paths_.observations().back().round, pair) ? 0 : 2;
}

std::vector<ProbeRequest> ProbeRequests::Take() const {
  std::vector<ProbeRequest> ordered = requests_;
  std::stable_sort(
      ordered.begin(), ordered.end(),
      [&](const ProbeRequest& a, const ProbeRequest& b) { return TurnOf(a) < TurnOf(b); });
  std::set<std::uint32_t> taken;
  std::vector<ProbeRequest> result;
  for (const ProbeRequest& pair : ordered) {
    if (taken.contains(pair.from) || taken.contains(pair.to)) continue;
    taken.insert({pair.from, pair.to});
    result.push_back(pair);
  }
  return result;
}

namespace {

// Number of distinct partners, at most `most`.
std::size_t PartnersOf(const ObservationPaths& paths, std::uint32_t endpoint, std::size_t most) {
  std::vector<std::uint32_t> others;
  for (const std::uint32_t i : paths.ObservationsOf(endpoint)) {
    const std::uint32_t other = Other(paths.observations()[i], endpoint);
    if (std::find(others.begin(), others.end(), other) != others.end()) continue;
    others.push_back(other);
    if (others.size() == most) break;
  }
  return others.size();
}

// True when observations outside faults do not exclude that the endpoint is bad at this level.
// Ignores the worst round, which may have a transient cause.
bool MayBe(const ObservationPaths& paths, const ChannelLikelihoods& figures,
           const Partners& partners, std::uint32_t endpoint, std::size_t level) {
  double odds = 0;
  double of_round = 0;
  double worst = 0;
  std::optional<std::uint32_t> round;
  for (const std::uint32_t i : paths.ObservationsOf(endpoint)) {
    if (!figures.Has(i) || partners.InFault(i)) continue;
    if (round != paths.observations()[i].round) of_round = 0;
    round = paths.observations()[i].round;
    const double gain = figures.Of(i)[level] - figures.Of(i)[0];
    odds += gain;
    of_round += gain;
    worst = std::max(worst, of_round);
  }
  return round && odds - worst > kExcluded;
}

// The missing evidence for the endpoint; empty: none.
std::string Missing(const ObservationPaths& paths, const ChannelLikelihoods& losses,
                    const ChannelLikelihoods& speeds, const Partners& partners,
                    std::uint32_t endpoint) {
  const auto name = [&] { return NameOf(paths.fabric().endpoints[endpoint]); };
  const std::size_t possible = partners.OfRail(endpoint).size();
  const std::size_t needed = std::min(kHealthyPartnersMin, possible > 0 ? possible - 1 : 0);
  const std::size_t met = PartnersOf(paths, endpoint, kHealthyPartnersMin);
  if (met < needed) return Format("{} was probed with {} partners", name(), met);
  if (MayBe(paths, speeds, partners, endpoint, kThirdSpeed))
    return Format("{} may have a third of the bandwidth of comparable ports", name());
  std::uint64_t attempts = 0;
  std::size_t with_loss = 0;
  for (const std::uint32_t i : paths.ObservationsOf(endpoint)) {
    if (!losses.Has(i)) continue;
    attempts += paths.observations()[i].attempts;
    ++with_loss;
  }
  if (with_loss == 0) return {};
  const std::uint64_t each = attempts / with_loss;
  const std::size_t level = each >= 100 ? 2 : each >= 10 ? 4 : 8;
  if (!MayBe(paths, losses, partners, endpoint, level)) return {};
  return Format("{} may lose {:.1g} of its packets", name(), ValueOf(Channel::kLoss, level));
}

}  // namespace

CoverageGaps FindCoverageGaps(const ObservationPaths& paths, const ChannelLikelihoods& losses,
                              const ChannelLikelihoods& speeds, const Partners& partners) {
  CoverageGaps result;
  for (std::uint32_t endpoint = 0; endpoint < paths.fabric().endpoints.size(); ++endpoint) {
    if (!partners.Usable(endpoint) || partners.Bad(endpoint)) continue;
    std::string missing = Missing(paths, losses, speeds, partners, endpoint);
    if (missing.empty()) continue;
    result.endpoints.push_back(endpoint);
    if (result.open_question.empty()) result.open_question = std::move(missing);
  }
  return result;
}

}  // namespace fabric::blame
