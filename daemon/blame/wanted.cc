#include "daemon/blame/wanted.h"

#include <algorithm>
#include <cmath>
#include <optional>

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

// In about half of the rounds, without a period. SplitMix64's last step.
bool Lot(std::uint32_t round, const Wanted& pair) {
  std::uint64_t z = (std::uint64_t{round} << 40) ^ (std::uint64_t{pair.from} << 20) ^ pair.to;
  z = (z + 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return ((z ^ (z >> 31)) & 1) != 0;
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

std::span<const std::uint32_t> Partners::OfRail(std::uint32_t place) const {
  return rails_[std::min<std::size_t>(passages_.RailOf(place), rails_.size() - 1)];
}

bool Partners::Met(std::uint32_t place, std::uint32_t other) const {
  const auto observations = passages_.ObservationsOf(place);
  return std::any_of(observations.begin(), observations.end(), [&](std::uint32_t i) {
    return Other(passages_.observations()[i], place) == other;
  });
}

std::optional<std::uint32_t> Partners::For(std::uint32_t place, bool same_leaf) const {
  const auto rail = OfRail(place);
  const auto start = std::upper_bound(rail.begin(), rail.end(), place) - rail.begin();
  std::optional<std::uint32_t> met;
  for (std::size_t n = 0; n < rail.size(); ++n) {
    const std::uint32_t other = rail[(static_cast<std::size_t>(start) + n) % rail.size()];
    if (other == place || !good_[other]) continue;
    if (passages_.NodeOf(other) == passages_.NodeOf(place)) continue;
    const std::uint32_t leaf = passages_.LeafOf(place);
    if (leaf != kUnknown && (passages_.LeafOf(other) == leaf) != same_leaf) continue;
    if (!Met(place, other)) return other;
    if (!met) met = other;
  }
  return met;
}

std::vector<Reasoned> Deciding(const Passages& passages, const Partners& partners,
                               const Trouble& trouble) {
  std::vector<Reasoned> probes;
  const std::vector<Place>& places = passages.fabric().places;
  const auto add = [&](std::uint32_t place, bool same_leaf) {
    if (!partners.Usable(place)) return;
    const auto partner = partners.For(place, same_leaf);
    if (!partner) return;
    const bool leaf = same_leaf && passages.LeafOf(place) != kUnknown;
    probes.push_back({{place, *partner},
                      Format("{} with a partner that is good with others{}", NameOf(places[place]),
                             leaf ? ", under the same leaf" : "")});
  };
  const auto add_within = [&](std::span<const std::uint32_t> under) {
    constexpr std::size_t kPairsMax = 4;
    std::size_t pairs = 0;
    for (std::size_t i = 0; i + 1 < under.size() && pairs < kPairsMax; i += 2) {
      if (!partners.Usable(under[i]) || !partners.Usable(under[i + 1])) continue;
      probes.push_back({{under[i], under[i + 1]},
                        Format("{} with a port under the same leaf", NameOf(places[under[i]]))});
      ++pairs;
    }
  };
  for (const Candidate& candidate : trouble.candidates) {
    const Part& part = candidate.hypothesis.part;
    switch (part.kind) {
      case PartKind::kPort:
        add(part.first, false);
        if (passages.LeafOf(part.first) != kUnknown) add(part.first, true);
        break;
      case PartKind::kHost:
        for (std::uint32_t place = 0; place < places.size(); ++place)
          if (passages.NodeOf(place) == part.first) add(place, false);
        break;
      case PartKind::kLeaf:
      case PartKind::kUplink:
        // Within the leaf: that tells it from its ways out, whoever is good.
        add_within(passages.PlacesUnder(part.first));
        for (const std::uint32_t place : passages.PlacesUnder(part.first)) add(place, false);
        break;
      case PartKind::kPair:
        if (!partners.Usable(part.first) || !partners.Usable(part.second)) break;
        probes.push_back({{part.first, part.second}, "the same pair once more"});
        add(part.first, false);
        add(part.second, false);
        break;
      default: break;  // What all share shows in whatever is probed next.
    }
  }
  constexpr std::size_t kProbesMax = 16;
  if (probes.size() > kProbesMax) probes.resize(kProbesMax);
  return probes;
}

void Wishes::Add(const std::vector<Reasoned>& probes) {
  for (const Reasoned& probe : probes) wanted_.push_back(probe.pair);
}

void Wishes::Add(std::uint32_t place) {
  if (!partners_.Usable(place)) return;
  auto partner = partners_.For(place, false);
  if (!partner) partner = partners_.For(place, true);
  if (partner) wanted_.push_back({place, *partner});
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
        wanted_.push_back({suspicious.first, suspicious.second});
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

// Two that have met before, but not when they were probed last, first: that tells a bad pair from
// chance. In between each meets others, which tells it from a bad port; by lot, because a port that
// is away every second round would be away whenever this pair is probed.
int Wishes::TurnOf(const Wanted& pair) const {
  if (!partners_.Met(pair.from, pair.to)) return 1;
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
