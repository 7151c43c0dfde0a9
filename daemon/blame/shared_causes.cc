// One spine or several uplinks: which of them explains the bad flows of several leaves.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "daemon/blame/search_run.h"
#include "daemon/blame/transients.h"

namespace fabric::blame {
namespace {

constexpr double kUplinksRestMax = 0.1;  // Maximum part of its flows that they leave unexplained
constexpr std::size_t kUplinksMax = 3;   // Maximum number of uplinks that replace a spine

// Some of its flows are bad: those of one path.
bool IsPathOfLeaf(const Hypothesis& hypothesis) {
  return hypothesis.component.kind == ComponentKind::kUplink && hypothesis.fit.share > 0;
}

}  // namespace

void SearchRun::Explain(const Hypothesis& hypothesis) {
  for (const std::uint32_t i : paths_.Through(hypothesis.component)) {
    if (!levels_.Has(i) || !scorer_.Explains(hypothesis, i)) continue;
    levels_.SetLevel(i, hypothesis.fit.level);
    InvalidateScores(i);
  }
}

double SearchRun::ScoreAsUplinks(std::size_t index, std::vector<std::uint32_t>& explained,
                                 std::vector<Hypothesis>& uplinks) {
  Scores scores = Alternatives(index, explained);
  double sum = 0;
  while (uplinks.size() < kUplinksMax) {
    const std::vector<Hypothesis>* best = nullptr;
    for (const auto& [component, directions] : scores)
      if (component.kind == ComponentKind::kUplink && AgainstChance(directions) > 0 &&
          (best == nullptr || Best(directions).fit.score > Best(*best).fit.score))
        best = &directions;
    if (best == nullptr) return sum;
    uplinks.push_back(LikeliestDirection(*best));
    sum += Best(*best).fit.score;
    Explain(uplinks.back());
    scores = ComponentsOfBad(explained, 0);
  }
  return sum;
}

std::size_t SearchRun::CountUnexplained(const std::vector<std::uint32_t>& observations) const {
  return static_cast<std::size_t>(std::count_if(
      observations.begin(), observations.end(),
      [&](std::uint32_t i) { return levels_.Has(i) && levels_.Unexplained(i) > kTransientBad; }));
}

void SearchRun::SplitSpines() {
  for (std::size_t index = 0; index < chosen_.size(); ++index) {
    const Hypothesis spine = chosen_[index];
    if (spine.component.kind != ComponentKind::kSpine) continue;
    const std::vector<std::uint32_t> through = paths_.Through(spine.component);
    RecomputeLevels(through, index);
    const double as_spine = Best(ScoreOf(spine.component)).fit.score;
    const auto bad = static_cast<double>(CountUnexplained(through));
    std::vector<Hypothesis> uplinks;
    std::vector<std::uint32_t> explained;  // By the spine
    const double as_uplinks = ScoreAsUplinks(index, explained, uplinks);
    const auto rest = static_cast<double>(CountUnexplained(through));
    const bool uneven = IsWorseForSomeLeaves(paths_, levels_.channel(), explained);
    if (uplinks.size() > 1 && (as_uplinks > as_spine || uneven) && rest <= kUplinksRestMax * bad) {
      chosen_.erase(chosen_.begin() + static_cast<long>(index));
      chosen_.insert(chosen_.end(), uplinks.begin(), uplinks.end());
      --index;
    } else {
      as_uplinks_[spine.component] = as_uplinks - as_spine;
    }
    RecomputeLevels(through, chosen_.size());
  }
}

bool SearchRun::MayShareItsPaths(const Hypothesis& hypothesis) const {
  return levels_.channel() == Channel::kSpeed && hypothesis.fit.share > 0 &&
         hypothesis.component.kind == ComponentKind::kUplink &&
         !scorer_.Expects(hypothesis.component);
}

double SearchRun::ScoreOfUplinks(const std::vector<Hypothesis>& uplinks,
                                 std::vector<std::uint32_t>& explained) {
  double sum = 0;
  explained.clear();
  for (const Hypothesis& uplink : uplinks) {
    const std::vector<Hypothesis> directions = ScoreOf(uplink.component);
    sum += Best(directions).fit.score;
    const Hypothesis& likeliest = LikeliestDirection(directions);
    for (const std::uint32_t i : paths_.Through(uplink.component))
      if (levels_.Has(i) && scorer_.Explains(likeliest, i)) explained.push_back(i);
    Explain(likeliest);
  }
  std::sort(explained.begin(), explained.end());
  return sum;
}

void SearchRun::JoinUplinks() {
  std::set<Component> spines;
  std::vector<Component> components;
  for (const Hypothesis& hypothesis : chosen_) {
    if (!IsPathOfLeaf(hypothesis)) continue;
    const std::vector<std::uint32_t> through = paths_.Through(hypothesis.component);
    if (through.empty()) continue;
    paths_.ComponentsOf(through.front(), components);
    for (const Component& component : components)
      if (component.kind == ComponentKind::kSpine && !IsChosen(component)) spines.insert(component);
  }
  for (const Component& spine : spines) JoinUplinksOf(spine);
}

void SearchRun::JoinUplinksOf(const Component& spine) {
  const std::vector<Hypothesis> before = chosen_;
  const std::vector<std::uint32_t> through = paths_.Through(spine);
  // The uplinks that the spine may explain, and what stays chosen.
  std::vector<Hypothesis> uplinks;
  const auto passes = [&](const Hypothesis& uplink) {
    const std::vector<std::uint32_t> own = paths_.Through(uplink.component);
    return !own.empty() && paths_.Passes(spine, own.front());
  };
  const auto take = std::stable_partition(
      chosen_.begin(), chosen_.end(),
      [&](const Hypothesis& one) { return !IsPathOfLeaf(one) || !passes(one); });
  uplinks.assign(take, chosen_.end());
  chosen_.erase(take, chosen_.end());
  RecomputeLevels(through, chosen_.size());
  while (uplinks.size() > 1) {
    const std::vector<Hypothesis> directions = ScoreOf(spine);
    const Hypothesis cause = LikeliestDirection(directions);
    const double as_spine = Best(directions).fit.score;
    Explain(cause);
    // An uplink that explains more than the spine does is another fault.
    const auto more = std::stable_partition(
        uplinks.begin(), uplinks.end(),
        [&](const Hypothesis& uplink) { return AgainstChance(ScoreOf(uplink.component)) <= 0; });
    if (more != uplinks.end()) {
      chosen_.insert(chosen_.end(), more, uplinks.end());
      uplinks.erase(more, uplinks.end());
      RecomputeLevels(through, chosen_.size());
      continue;
    }
    RecomputeLevels(through, chosen_.size());
    std::vector<std::uint32_t> explained;
    const double log_odds = as_spine - ScoreOfUplinks(uplinks, explained);
    if (IsWorseForSomeLeaves(paths_, levels_.channel(), explained)) break;
    if (log_odds > 0) {
      chosen_.push_back(cause);
      as_uplinks_[spine] = -log_odds;
      RecomputeLevels(through, chosen_.size());
      return;
    }
    for (const Hypothesis& uplink : uplinks)
      shared_causes_[uplink.component].push_back({cause, log_odds});
    break;
  }
  chosen_ = before;
  RecomputeLevels(through, chosen_.size());
}

void SearchRun::AddSharedCauses(const Component& component, std::vector<Candidate>& candidates) {
  const auto causes = shared_causes_.find(component);
  if (causes == shared_causes_.end()) return;
  for (const auto& cause : causes->second) {
    const Hypothesis& hypothesis = cause.hypothesis;
    const double log_odds = cause.log_odds;
    const auto same =
        std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
          return candidate.hypothesis.component == hypothesis.component;
        });
    if (same == candidates.end())
      candidates.push_back({hypothesis, std::exp(log_odds), 1});
    else
      same->probability = std::max(same->probability, std::exp(log_odds));
  }
}

}  // namespace fabric::blame
