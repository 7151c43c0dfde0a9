#include "daemon/blame/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "daemon/blame/search_run.h"
#include "daemon/blame/shared_paths.h"
#include "daemon/blame/transients.h"

namespace fabric::blame {
namespace {

constexpr double kSuspicious = -4;  // Minimum score of a suspicious component
// The same for a port with a period of total loss. Noise does not cause that, but a port that is
// down in one of four rounds does, and it looks healthy in between.
constexpr double kSuspiciousDead = -7;
constexpr std::uint32_t kNothingCameMin = 10;  // Packets
constexpr double kShownMin = 0.01;             // Minimum probability to list a candidate
constexpr double kOneOfMany = 0.005;           // Minimum bad fraction of a rail, spine or fabric
constexpr std::size_t kCandidatesMax = 8;
constexpr std::size_t kTroublesMax = 512;
constexpr int kReconsiderMax = 4;
constexpr int kTransientsMax = 4;        // Number of times that the transient rate is learned
constexpr double kTransientsMore = 1.5;  // Minimum factor to search again
// Minimum probability of slow periods to ask for later probes, and to drop a fault that is over.
constexpr double kSlowPeriodMin = 0.01;
constexpr double kSlowPeriodLikely = 0.5;

bool Wide(ComponentKind kind) {
  return kind == ComponentKind::kRail || kind == ComponentKind::kSpine ||
         kind == ComponentKind::kFabric;
}

}  // namespace

SearchRun::SearchRun(const ObservationPaths& paths, const ChannelLikelihoods& figures,
                     const CounterEvidence& counters, const KnownFaults& known)
    : paths_(paths), levels_(figures), scorer_(paths, levels_, counters) {
  for (const Component& component : known.decided) scorer_.Expect(component);
  for (const Fault& stalled : known.stalled) Ignore(stalled);
}

SearchResult SearchRun::Run() {
  for (std::uint32_t i = 0; i < paths_.observations().size(); ++i)
    if (levels_.Has(i) && levels_.Badness(i) > levels_.BadMin(i)) bad_.push_back(i);
  if (bad_.empty()) return {};
  Choose();
  slow_periods_.emplace(paths_, levels_);
  SearchResult found;
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    if (auto fault = FaultOf(i)) found.faults.push_back(*std::move(fault));
  // More faults may hide behind explained observations; they show after the repair.
  std::erase_if(bad_, [&](std::uint32_t i) { return levels_.LevelOf(i) > 0; });
  found.unexplained =
      static_cast<double>(bad_.size()) / static_cast<double>(paths_.observations().size());
  for (const auto& [component, directions] : ComponentsOfBad(bad_, kSuspicious))
    if (!IsChosen(component) && !WasSlowPeriod(LikeliestDirection(directions)))
      found.suspicious.push_back(component);
  AddDeadPorts(found.suspicious);
  const std::vector<Component> odd = OddPairs(paths_, levels_, bad_);
  found.suspicious.insert(found.suspicious.end(), odd.begin(), odd.end());
  return found;
}

const Hypothesis& SearchRun::Best(const std::vector<Hypothesis>& directions) {
  return *std::max_element(directions.begin(), directions.end(),
                           [](const auto& a, const auto& b) { return a.fit.score < b.fit.score; });
}

const Hypothesis& SearchRun::LikeliestDirection(const std::vector<Hypothesis>& directions) {
  const Hypothesis& best = Best(directions);
  const double nearly = std::max(3.0, best.fit.score / 10);
  const Hypothesis* likeliest = &best;
  double odds = scorer_.LogOddsOfDirection(best);
  for (const Hypothesis& direction : directions) {
    if (direction.fit.score < best.fit.score - nearly) continue;
    const double of_way = scorer_.LogOddsOfDirection(direction);
    if (of_way <= odds) continue;
    likeliest = &direction;
    odds = of_way;
  }
  return *likeliest;
}

SearchRun::Scores SearchRun::ComponentsOfBad(const std::vector<std::uint32_t>& observations,
                                             double against_chance_min) {
  struct Seen {
    std::size_t count = 0;
    double bound = 0;  // Upper bound of the score
  };
  std::map<Component, Seen> seen;
  std::vector<Component> components;
  for (const std::uint32_t i : observations) {
    const double unexplained = levels_.Unexplained(i);
    if (unexplained <= levels_.BadMin(i)) continue;
    paths_.ComponentsOf(i, components);
    for (const Component& component : components) {
      ++seen[component].count;
      seen[component].bound += std::min(unexplained, scorer_.EventScoreMax());
    }
  }
  Scores scores;
  for (const auto& [component, what] : seen) {
    if (what.bound + scorer_.LogPrior(component) < against_chance_min) continue;
    if (Wide(component.kind) &&
        static_cast<double>(what.count) < kOneOfMany * static_cast<double>(paths_.Width(component)))
      continue;
    const std::vector<Hypothesis>& directions = ScoreOf(component);
    if (AgainstChance(directions) >= against_chance_min) scores.emplace(component, directions);
  }
  return scores;
}

const std::vector<Hypothesis>& SearchRun::ScoreOf(const Component& component) {
  const auto [at, fresh] = known_.try_emplace(component);
  if (fresh) at->second = scorer_.Score(component);
  return at->second;
}

void SearchRun::InvalidateScores(std::uint32_t observation) {
  paths_.ComponentsOf(observation, changed_);
  for (const Component& component : changed_) known_.erase(component);
}

void SearchRun::Ignore(const Fault& stalled) {
  for (const std::uint32_t endpoint :
       paths_.EndpointsOfNode(stalled.candidates[0].hypothesis.component.first))
    for (const std::uint32_t i : paths_.ObservationsOf(endpoint)) levels_.Ignore(i);
}

void SearchRun::Choose() {
  const double usual = scorer_.transient();
  for (int turn = 0; turn < kTransientsMax; ++turn) {
    ChooseOnce();
    const double rate =
        TransientRate(paths_, TransientObservations(paths_, levels_, bad_, chosen_), usual);
    if (rate < kTransientsMore * scorer_.transient()) return;
    scorer_.SetTransient(rate);
    chosen_.clear();
    known_.clear();
    as_uplinks_.clear();
    shared_causes_.clear();
    levels_.Reset();
  }
  ChooseOnce();
}

void SearchRun::ChooseOnce() {
  ChooseGreedily();
  Reconsider();
  SplitSpines();
  JoinUplinks();
}

void SearchRun::ChooseGreedily() {
  Scores scores = ComponentsOfBad(bad_, 0);
  while (!scores.empty() && chosen_.size() < kTroublesMax) {
    auto best = scores.begin();
    for (auto at = scores.begin(); at != scores.end(); ++at)
      if (Best(at->second).fit.score > Best(best->second).fit.score) best = at;
    const Hypothesis hypothesis = LikeliestDirection(best->second);
    chosen_.push_back(hypothesis);
    scores.erase(best);
    std::set<Component> touched;
    std::vector<Component> components;
    for (const std::uint32_t i : paths_.Through(hypothesis.component)) {
      if (!levels_.Has(i) || !scorer_.Explains(hypothesis, i)) continue;
      levels_.SetLevel(i, hypothesis.fit.level);
      InvalidateScores(i);
      paths_.ComponentsOf(i, components);
      touched.insert(components.begin(), components.end());
    }
    for (const Component& component : touched) {
      const auto at = scores.find(component);
      if (at == scores.end()) continue;
      at->second = ScoreOf(component);
      if (AgainstChance(at->second) < 0) scores.erase(at);
    }
  }
}

void SearchRun::RecomputeLevels(const std::vector<std::uint32_t>& observations,
                                std::size_t without) {
  for (const std::uint32_t i : observations) {
    if (!levels_.Has(i)) continue;
    const std::size_t before = levels_.LevelOf(i);
    levels_.SetLevel(i, 0);
    for (std::size_t n = 0; n < chosen_.size(); ++n) {
      const Hypothesis& hypothesis = chosen_[n];
      if (n == without || !paths_.Passes(hypothesis.component, i)) continue;
      if (scorer_.Explains(hypothesis, i)) levels_.SetLevel(i, hypothesis.fit.level);
    }
    if (levels_.LevelOf(i) != before) InvalidateScores(i);
  }
}

SearchRun::Scores SearchRun::Alternatives(std::size_t index,
                                          std::vector<std::uint32_t>& explained) {
  const std::vector<std::uint32_t> through = paths_.Through(chosen_[index].component);
  RecomputeLevels(through, index);
  explained.clear();
  for (const std::uint32_t i : through)
    if (levels_.Has(i) && levels_.Unexplained(i) > levels_.BadMin(i) &&
        scorer_.Explains(chosen_[index], i))
      explained.push_back(i);
  return ComponentsOfBad(explained, std::log(kShownMin));
}

void SearchRun::Reconsider() {
  bool changed = true;
  for (int sweep = 0; changed && sweep < kReconsiderMax; ++sweep) {
    changed = false;
    for (std::size_t index = 0; index < chosen_.size();) {
      std::vector<std::uint32_t> explained;
      const Component before = chosen_[index].component;
      const std::vector<std::uint32_t> through = paths_.Through(before);
      const Scores scores = Alternatives(index, explained);
      const std::vector<Hypothesis>* best = nullptr;
      for (const auto& [component, directions] : scores)
        if (best == nullptr || Best(directions).fit.score > Best(*best).fit.score)
          best = &directions;
      if (best == nullptr || AgainstChance(*best) <= 0) {
        chosen_.erase(chosen_.begin() + static_cast<long>(index));
        RecomputeLevels(through, chosen_.size());
        changed = true;
        continue;
      }
      const Hypothesis chosen = LikeliestDirection(*best);
      changed = changed || chosen.component != before;
      chosen_[index] = chosen;
      RecomputeLevels(through, chosen_.size());
      if (chosen.component != before)
        RecomputeLevels(paths_.Through(chosen.component), chosen_.size());
      ++index;
    }
  }
}

bool SearchRun::IsChosen(const Component& component) const {
  return std::any_of(chosen_.begin(), chosen_.end(), [&](const Hypothesis& hypothesis) {
    return hypothesis.component == component;
  });
}

bool SearchRun::WasSlowPeriod(const Hypothesis& hypothesis) const {
  std::vector<std::uint32_t> explained;
  for (const std::uint32_t i : paths_.Through(hypothesis.component))
    if (levels_.Has(i) && levels_.Unexplained(i) > levels_.BadMin(i) &&
        scorer_.Explains(hypothesis, i))
      explained.push_back(i);
  const SlowPeriods::Explanation slow =
      slow_periods_->Explain(hypothesis.component, explained, levels_,
                             {.log_prior = scorer_.LogPrior(hypothesis.component),
                              .against_chance = hypothesis.fit.against_chance,
                              .transient = scorer_.transient()});
  return slow.log_odds > 0 && slow.since >= slow.pairs;
}

void SearchRun::AddDeadPorts(std::vector<Component>& suspicious) {
  if (levels_.channel() != Channel::kLoss) return;
  std::set<Component> dead;
  for (const std::uint32_t i : bad_) {
    const Observation& seen = paths_.observations()[i];
    if (seen.failures < seen.attempts || seen.attempts < kNothingCameMin) continue;
    dead.insert({{ComponentKind::kPort, seen.from}, {ComponentKind::kPort, seen.to}});
  }
  for (const Component& component : dead) {
    const bool known =
        std::find(suspicious.begin(), suspicious.end(), component) != suspicious.end();
    if (!known && !IsChosen(component) && AgainstChance(ScoreOf(component)) >= kSuspiciousDead)
      suspicious.push_back(component);
  }
}

Candidate SearchRun::CandidateOf(const std::vector<Hypothesis>& directions, double probability) {
  const Hypothesis& chosen = LikeliestDirection(directions);
  const double odds = scorer_.LogOddsOfDirection(chosen);
  double all = 0;
  for (const Hypothesis& direction : directions)
    all += std::exp(scorer_.LogOddsOfDirection(direction) - odds);
  return {chosen, probability, 1 / all};
}

std::optional<double> SearchRun::OddsOfOthers(const Hypothesis& chosen, const Scores& scores,
                                              Fault& fault) const {
  double top = -1e18;
  double against_chance = 0;
  for (const auto& [component, directions] : scores) {
    if (Best(directions).fit.score > top) against_chance = AgainstChance(directions);
    top = std::max(top, Best(directions).fit.score);
  }
  double sum = std::exp(-against_chance) + OddsOfOtherExtent(chosen, top);
  if (const auto split = as_uplinks_.find(chosen.component); split != as_uplinks_.end())
    sum += std::exp(split->second);
  if (MayShareItsPaths(chosen))
    sum += std::exp(LogOddsOfSharedPaths(paths_, levels_, chosen, chosen_));
  const SlowPeriods::Explanation slow =
      slow_periods_->Explain(chosen.component, fault.observations, levels_,
                             {.log_prior = scorer_.LogPrior(chosen.component),
                              .against_chance = against_chance,
                              .transient = scorer_.transient()});
  const double odds = std::exp(slow.log_odds);
  const double share = odds / (1 + sum + odds);
  if (share > kSlowPeriodMin) fault.slow_periods = slow.periods;
  fault.slow_until_s = slow.last_s + kSlowPeriodMaxS;
  if (share > kSlowPeriodLikely && slow.since >= slow.pairs) return std::nullopt;
  return sum + odds;
}

std::optional<Fault> SearchRun::FaultOf(std::size_t index) {
  Fault fault{.channel = levels_.channel()};
  const Scores scores = Alternatives(index, fault.observations);
  SetPeriod(paths_, fault);
  const std::optional<double> others = OddsOfOthers(chosen_[index], scores, fault);
  double top = -1e18;
  for (const auto& [component, directions] : scores)
    top = std::max(top, Best(directions).fit.score);
  for (const auto& [component, directions] : scores) {
    double all = 0;
    for (const Hypothesis& direction : directions) all += std::exp(direction.fit.score - top);
    fault.candidates.push_back(CandidateOf(directions, all));
  }
  AddSharedCauses(chosen_[index].component, fault.candidates);
  RecomputeLevels(paths_.Through(chosen_[index].component), chosen_.size());
  if (!others || !IsLargeEnough(paths_, fault)) return std::nullopt;
  double sum = *others;
  for (const Candidate& candidate : fault.candidates) sum += candidate.probability;
  for (Candidate& candidate : fault.candidates) candidate.probability /= sum;
  std::stable_sort(fault.candidates.begin(), fault.candidates.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  // What a slow period explains better stays open until it is over.
  const std::vector<Candidate> likeliest(
      fault.candidates.begin(),
      fault.candidates.begin() + (fault.slow_periods > 0 && !fault.candidates.empty() ? 1 : 0));
  std::erase_if(fault.candidates, [](const Candidate& one) { return one.probability < kShownMin; });
  if (fault.candidates.empty()) fault.candidates = likeliest;
  if (fault.candidates.size() > kCandidatesMax) fault.candidates.resize(kCandidatesMax);
  if (fault.candidates.empty()) return std::nullopt;
  Decide(paths_, levels_, scorer_, fault);
  return fault;
}

SearchResult Search(const ObservationPaths& paths, const ChannelLikelihoods& figures,
                    const CounterEvidence& counters, const KnownFaults& known) {
  return SearchRun(paths, figures, counters, known).Run();
}

}  // namespace fabric::blame
