#include "daemon/blame/wanted.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kGoodMin = 2;  // Good observations before a place counts as known to be good
constexpr std::size_t kPartnersMin = 3;  // Of each place, before one says that it is well
constexpr double kExcluded = -3;         // Log odds against a loss, from which there is none
constexpr double kSlow = 0.9;
constexpr double kLate = 1.4;
constexpr double kUsual = 2;            // Deviations by which equals differ
constexpr std::size_t kThirdSpeed = 6;  // The level

bool LooksGood(const Observation& seen) {
  if (seen.failed_end || seen.failures > 0) return false;
  const double usual = std::exp(kUsual * static_cast<double>(seen.noise));
  return seen.speed.value_or(1) > kSlow / usual && seen.latency.value_or(1) < kLate * usual;
}

std::uint32_t Other(const Observation& seen, std::uint32_t place) {
  return seen.from == place ? seen.to : seen.from;
}

// In about half of the rounds, without a period.
bool Lot(std::uint32_t round, const Wanted& pair) {
  return (SplitMix((std::uint64_t{round} << 40) ^ (std::uint64_t{pair.from} << 20) ^ pair.to) &
          1) != 0;
}

}  // namespace

// Of a part that is bad for some flows only, the other flows are still told apart.
void Partners::Explain(const Trouble& trouble) {
  const Hypothesis& hypothesis = trouble.candidates[0].hypothesis;
  for (const std::uint32_t i : trouble.observations) explained_[i] = true;
  if (hypothesis.fit.share > 0) return;
  for (const std::uint32_t i : passages_.Through(hypothesis.part)) explained_[i] = true;
  for (std::uint32_t place = 0; place < decided_.size(); ++place)
    if (hypothesis.part.kind != PartKind::kUplink && passages_.Holds(hypothesis.part, place))
      decided_[place] = true;
}

Partners::Partners(const Passages& passages, std::span<const Trouble> troubles,
                   std::span<const std::uint32_t> usable)
    : passages_(passages) {
  const std::size_t places = passages.fabric().places.size();
  usable_.assign(places, false);
  good_.assign(places, false);
  decided_.assign(places, false);
  explained_.assign(passages.observations().size(), false);
  troubled_.assign(explained_.size(), false);
  std::vector<bool> candidate(places, false);
  for (const Trouble& trouble : troubles) {
    if (trouble.decided) {
      Explain(trouble);
      continue;
    }
    for (const std::uint32_t i : trouble.observations) troubled_[i] = true;
    for (const Candidate& one : trouble.candidates)
      for (std::uint32_t place = 0; place < places; ++place)
        if (passages.Holds(one.hypothesis.part, place)) candidate[place] = true;
  }
  std::uint32_t rails = 0;
  for (std::uint32_t place = 0; place < places; ++place) {
    if (usable.empty()) usable_[place] = passages.Observed(place);
    const std::uint32_t rail = passages.RailOf(place);
    if (rail != kUnknown) rails = std::max(rails, rail + 1);
  }
  for (const std::uint32_t place : usable)
    if (place < places) usable_[place] = true;
  std::vector<bool> looks_good;
  looks_good.reserve(explained_.size());
  for (const Observation& seen : passages.observations()) looks_good.push_back(LooksGood(seen));
  rails_.resize(rails + 1);
  for (std::uint32_t place = 0; place < places; ++place) {
    if (!usable_[place]) continue;
    rails_[std::min(passages.RailOf(place), rails)].push_back(place);
    std::size_t good = 0;
    bool bad = decided_[place] || candidate[place];
    for (const std::uint32_t i : passages.ObservationsOf(place)) {
      good += looks_good[i] ? 1 : 0;
      bad = bad || (!looks_good[i] && !Troubled(i));
    }
    good_[place] = !bad && good >= kGoodMin;
  }
}

bool Partners::MetInNewest(const Wanted& pair) const {
  return LastMet(pair.from, pair.to) == passages_.observations().back().round;
}

std::vector<std::uint32_t> Partners::Under(std::uint32_t leaf) const {
  std::vector<std::uint32_t> under;
  for (std::uint32_t place = 0; place < usable_.size(); ++place)
    if (usable_[place] && passages_.LeafOf(place) == leaf) under.push_back(place);
  return under;
}

std::span<const std::uint32_t> Partners::OfRail(std::uint32_t place) const {
  return rails_[std::min<std::size_t>(passages_.RailOf(place), rails_.size() - 1)];
}

std::optional<std::uint32_t> Partners::LastMet(std::uint32_t place, std::uint32_t other) const {
  const auto observations = passages_.ObservationsOf(place);
  for (auto i = observations.rbegin(); i != observations.rend(); ++i)
    if (Other(passages_.observations()[*i], place) == other)
      return passages_.observations()[*i].round;
  return std::nullopt;
}

std::optional<std::uint32_t> Partners::For(std::uint32_t place, bool same_leaf,
                                           const std::set<std::uint32_t>& taken) const {
  const auto rail = OfRail(place);
  const auto start = std::upper_bound(rail.begin(), rail.end(), place) - rail.begin();
  std::optional<std::uint32_t> best;
  std::optional<std::uint32_t> best_met;
  for (std::size_t n = 0; n < rail.size(); ++n) {
    const std::uint32_t other = rail[(static_cast<std::size_t>(start) + n) % rail.size()];
    if (other == place || !good_[other] || taken.contains(other)) continue;
    if (passages_.NodeOf(other) == passages_.NodeOf(place)) continue;
    const std::uint32_t leaf = passages_.LeafOf(place);
    if (leaf != kUnknown && (passages_.LeafOf(other) == leaf) != same_leaf) continue;
    const auto met = LastMet(place, other);
    if (!met) return other;
    if (best && met >= best_met) continue;
    best = other;
    best_met = met;
  }
  return best;
}

void Wishes::Add(const std::vector<Reasoned>& probes) {
  for (const Reasoned& probe : probes) {
    wanted_.push_back(probe.pair);
    taken_.insert(probe.pair.to);
  }
}

void Wishes::Add(std::uint32_t place) {
  if (!partners_.Usable(place)) return;
  auto partner = partners_.For(place, false, taken_);
  if (!partner) partner = partners_.For(place, true, taken_);
  if (!partner) return;
  taken_.insert(*partner);
  wanted_.push_back({place, *partner});
}

// What many share shows in whatever is probed next.
void Wishes::Add(const Part& suspicious) {
  switch (suspicious.kind) {
    case PartKind::kPort: return Add(suspicious.first);
    case PartKind::kHost:
      for (const std::uint32_t place : passages_.PlacesOfNode(suspicious.first)) Add(place);
      return;
    case PartKind::kPair:
      if (partners_.Usable(suspicious.first) && partners_.Usable(suspicious.second))
        wanted_.push_back({suspicious.first, suspicious.second, true});
      return;
    case PartKind::kLeaf:
    case PartKind::kUplink:
      for (const std::uint32_t place : passages_.PlacesUnder(suspicious.first)) Add(place);
      return;
    case PartKind::kLeafPair: {
      const auto under = passages_.PlacesUnder(suspicious.first);
      const auto others = passages_.PlacesUnder(suspicious.second);
      for (std::size_t i = 0; i < std::min(under.size(), others.size()); ++i)
        if (partners_.Good(under[i]) && partners_.Good(others[i]))
          wanted_.push_back({under[i], others[i]});
      return;
    }
    default: return;
  }
}

// A pair once more first, unless it was what its ports were probed with last: that tells a bad pair
// from chance. In between each meets others, which tells it from a bad port; by lot, because a port
// that is away every second round would be away whenever this pair is probed.
int Wishes::TurnOf(const Wanted& pair) const {
  if (!pair.once_more) return partners_.MetInNewest(pair) ? 3 : 1;
  const auto last = [&](std::uint32_t place) {
    return passages_.observations()[passages_.ObservationsOf(place).back()];
  };
  const auto together = [&](std::uint32_t place, std::uint32_t other) {
    const Observation seen = last(place);
    return Other(seen, place) == other;
  };
  if (together(pair.from, pair.to) || together(pair.to, pair.from)) return 2;
  return Lot(passages_.observations().back().round, pair) ? 0 : 2;
}

std::vector<Wanted> Wishes::Take() const {
  std::vector<Wanted> ordered = wanted_;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Wanted& a, const Wanted& b) { return TurnOf(a) < TurnOf(b); });
  std::set<std::uint32_t> taken;
  std::vector<Wanted> result;
  for (const Wanted& pair : ordered) {
    if (taken.contains(pair.from) || taken.contains(pair.to)) continue;
    taken.insert({pair.from, pair.to});
    result.push_back(pair);
  }
  return result;
}

namespace {

// Up to `most` of those that the place was probed with.
std::size_t PartnersOf(const Passages& passages, std::uint32_t place, std::size_t most) {
  std::vector<std::uint32_t> others;
  for (const std::uint32_t i : passages.ObservationsOf(place)) {
    const std::uint32_t other = Other(passages.observations()[i], place);
    if (std::find(others.begin(), others.end(), other) != others.end()) continue;
    others.push_back(other);
    if (others.size() == most) break;
  }
  return others.size();
}

// That it is as bad as that is not excluded by what no trouble is about. One round may have been
// spoilt by what passed by: whether that is suspicious is asked elsewhere.
bool MayBe(const Passages& passages, const Figures& figures, const Partners& partners,
           std::uint32_t place, std::size_t level) {
  double odds = 0;
  double of_round = 0;
  double worst = 0;
  std::optional<std::uint32_t> round;
  for (const std::uint32_t i : passages.ObservationsOf(place)) {
    if (!figures.Has(i) || partners.Troubled(i)) continue;
    if (round != passages.observations()[i].round) of_round = 0;
    round = passages.observations()[i].round;
    const double gain = figures.Of(i)[level] - figures.Of(i)[0];
    odds += gain;
    of_round += gain;
    worst = std::max(worst, of_round);
  }
  return round && odds - worst > kExcluded;
}

// What is missing of the place; empty: nothing.
std::string Missing(const Passages& passages, const Figures& losses, const Figures& speeds,
                    const Partners& partners, std::uint32_t place) {
  const auto name = [&] { return NameOf(passages.fabric().places[place]); };
  const std::size_t possible = partners.OfRail(place).size();
  const std::size_t needed = std::min(kPartnersMin, possible > 0 ? possible - 1 : 0);
  const std::size_t met = PartnersOf(passages, place, kPartnersMin);
  if (met < needed) return Format("{} has met {} partners", name(), met);
  if (MayBe(passages, speeds, partners, place, kThirdSpeed))
    return Format("{} may have a third of the bandwidth of its equals", name());
  std::uint64_t attempts = 0;
  std::size_t with_loss = 0;
  for (const std::uint32_t i : passages.ObservationsOf(place)) {
    if (!losses.Has(i)) continue;
    attempts += passages.observations()[i].attempts;
    ++with_loss;
  }
  if (with_loss == 0) return {};
  const std::uint64_t each = attempts / with_loss;
  const std::size_t level = each >= 100 ? 2 : each >= 10 ? 4 : 8;
  if (!MayBe(passages, losses, partners, place, level)) return {};
  return Format("{} may lose {:.1g} of its packets", name(), ValueOf(Channel::kLoss, level));
}

}  // namespace

TooLittle SeenTooLittle(const Passages& passages, const Figures& losses, const Figures& speeds,
                        const Partners& partners) {
  TooLittle result;
  for (std::uint32_t place = 0; place < passages.fabric().places.size(); ++place) {
    if (!partners.Usable(place) || partners.Bad(place)) continue;
    std::string missing = Missing(passages, losses, speeds, partners, place);
    if (missing.empty()) continue;
    result.places.push_back(place);
    if (result.open.empty()) result.open = std::move(missing);
  }
  return result;
}

}  // namespace fabric::blame
