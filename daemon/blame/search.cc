#include "daemon/blame/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace fabric::blame {
namespace {

constexpr double kBad = 2;           // Log likelihood ratio from which an observation needs a cause
constexpr double kBadInNoise = 0.7;  // The same, where none stands out by itself
constexpr double kClearlyBad = 5;    // The same, for one observation to be looked after
constexpr double kSuspicious = -4;   // Score from which a part is watched
// The same for a port through which for a while nothing came at all: noise does not do that, but a
// port that is away in one round of four does, and looks well for three.
constexpr double kSuspiciousDead = -7;
constexpr std::uint32_t kNothingCameMin = 10;  // Packets
constexpr double kDecided = 0.95;              // Probability from which a name is named
constexpr double kDecidedInNoise = 0.98;       // The same, where all figures scatter
constexpr double kWorthNaming = 0.01;          // Probability from which a candidate is shown
constexpr double kOneOfMany = 0.005;           // Bad part of a rail below which it is not the rail
constexpr std::size_t kPortsMin = 3;           // Bad ones, before what they share is named
constexpr std::size_t kCandidatesMax = 8;
constexpr std::size_t kTroublesMax = 512;
constexpr int kSweepsMax = 4;

bool Wide(PartKind kind) {
  return kind == PartKind::kRail || kind == PartKind::kSpine || kind == PartKind::kFabric;
}

class SearchRun {
 public:
  SearchRun(const Passages& passages, const Figures& figures, const CounterEvidence& counters,
            const std::set<Part>& expected)
      : passages_(passages), readings_(figures), scorer_(passages, readings_, counters) {
    for (const Part& part : expected) scorer_.Expect(part);
  }

  Found Run() {
    for (std::uint32_t i = 0; i < passages_.observations().size(); ++i)
      if (readings_.Has(i) && readings_.Badness(i) > BadFrom(i)) bad_.push_back(i);
    if (bad_.empty()) return {};
    Collect();
    Sweep();
    Found found;
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      if (auto trouble = TroubleOf(i)) found.troubles.push_back(*std::move(trouble));
    // Behind what is explained more may hide; it shows once that is mended.
    std::erase_if(bad_, [&](std::uint32_t i) { return readings_.LevelOf(i) > 0; });
    found.unexplained =
        static_cast<double>(bad_.size()) / static_cast<double>(passages_.observations().size());
    for (const auto& [part, hypothesis] : PartsOfBad(bad_, kSuspicious))
      if (!IsChosen(part)) found.suspicious.push_back(part);
    AddDeadPorts(found.suspicious);
    AddOddPairs(found.suspicious);
    return found;
  }

 private:
  using Scores = std::map<Part, std::vector<Hypothesis>>;

  static const Hypothesis& Best(const std::vector<Hypothesis>& ways) {
    return *std::max_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) {
      return a.fit.score < b.fit.score;
    });
  }

  // What one event says of a part is bounded, and with it what tells its ways apart. So the way is
  // taken from all that was seen, where it explains the part nearly as well: of many pairs, each of
  // which lost both ways, one way says all that may be said.
  const Hypothesis& LikeliestWay(const std::vector<Hypothesis>& ways) {
    const Hypothesis& best = Best(ways);
    const double nearly = std::max(3.0, best.fit.score / 10);
    const Hypothesis* likeliest = &best;
    double odds = scorer_.LogOddsOfWay(best);
    for (const Hypothesis& way : ways) {
      if (way.fit.score < best.fit.score - nearly) continue;
      const double of_way = scorer_.LogOddsOfWay(way);
      if (of_way <= odds) continue;
      likeliest = &way;
      odds = of_way;
    }
    return *likeliest;
  }

  double BadFrom(std::uint32_t observation) const {
    return readings_.Noisy(observation) ? kBadInNoise : kBad;
  }

  static double Sure(const std::vector<Hypothesis>& ways) { return Best(ways).fit.sure; }

  // Parts through which some of the observations pass that are not explained by now, and that
  // explain them this surely.
  Scores PartsOfBad(const std::vector<std::uint32_t>& observations, double sure_min) {
    struct Seen {
      std::size_t count = 0;
      double bound = 0;  // More than that it cannot gain.
    };
    std::map<Part, Seen> seen;
    std::vector<Part> parts;
    for (const std::uint32_t i : observations) {
      const double unexplained = readings_.Unexplained(i);
      if (unexplained <= BadFrom(i)) continue;
      passages_.PartsOf(i, parts);
      for (const Part& part : parts) {
        ++seen[part].count;
        seen[part].bound += std::min(unexplained, scorer_.EventMax());
      }
    }
    Scores scores;
    for (const auto& [part, what] : seen) {
      if (what.bound + scorer_.LogPrior(part) < sure_min) continue;
      if (Wide(part.kind) &&
          static_cast<double>(what.count) < kOneOfMany * static_cast<double>(passages_.Width(part)))
        continue;
      const std::vector<Hypothesis>& ways = ScoreOf(part);
      if (Sure(ways) >= sure_min) scores.emplace(part, ways);
    }
    return scores;
  }

  // Worked out once while the levels of its observations stay.
  const std::vector<Hypothesis>& ScoreOf(const Part& part) {
    const auto [at, fresh] = known_.try_emplace(part);
    if (fresh) at->second = scorer_.Score(part);
    return at->second;
  }

  // The level of the observation is another one.
  void Forget(std::uint32_t observation) {
    passages_.PartsOf(observation, changed_);
    for (const Part& part : changed_) known_.erase(part);
  }

  // The best part, then the best for what that leaves unexplained, and so on.
  void Collect() {
    Scores scores = PartsOfBad(bad_, 0);
    while (!scores.empty() && chosen_.size() < kTroublesMax) {
      auto best = scores.begin();
      for (auto at = scores.begin(); at != scores.end(); ++at)
        if (Best(at->second).fit.score > Best(best->second).fit.score) best = at;
      const Hypothesis hypothesis = LikeliestWay(best->second);
      chosen_.push_back(hypothesis);
      scores.erase(best);
      std::set<Part> touched;
      std::vector<Part> parts;
      for (const std::uint32_t i : passages_.Through(hypothesis.part)) {
        if (!readings_.Has(i) || !scorer_.Explains(hypothesis, i)) continue;
        readings_.SetLevel(i, hypothesis.fit.level);
        Forget(i);
        passages_.PartsOf(i, parts);
        touched.insert(parts.begin(), parts.end());
      }
      for (const Part& part : touched) {
        const auto at = scores.find(part);
        if (at == scores.end()) continue;
        at->second = ScoreOf(part);
        if (Sure(at->second) < 0) scores.erase(at);
      }
    }
  }

  // Levels of these observations by the chosen ones but `without`.
  void Relevel(const std::vector<std::uint32_t>& observations, std::size_t without) {
    for (const std::uint32_t i : observations) {
      if (!readings_.Has(i)) continue;
      const std::size_t before = readings_.LevelOf(i);
      readings_.SetLevel(i, 0);
      for (std::size_t n = 0; n < chosen_.size(); ++n) {
        const Hypothesis& hypothesis = chosen_[n];
        if (n == without || !passages_.Passes(hypothesis.part, i)) continue;
        if (scorer_.Explains(hypothesis, i)) readings_.SetLevel(i, hypothesis.fit.level);
      }
      if (readings_.LevelOf(i) != before) Forget(i);
    }
  }

  // All that would explain what the chosen one does, were it not chosen. The levels stay without
  // it.
  Scores Alternatives(std::size_t index, std::vector<std::uint32_t>& explained) {
    const std::vector<std::uint32_t> through = passages_.Through(chosen_[index].part);
    Relevel(through, index);
    explained.clear();
    for (const std::uint32_t i : through)
      if (readings_.Has(i) && readings_.Unexplained(i) > BadFrom(i) &&
          scorer_.Explains(chosen_[index], i))
        explained.push_back(i);
    return PartsOfBad(explained, std::log(kWorthNaming));
  }

  // Each chosen one has to stand up once more, now that the others are known.
  void Sweep() {
    bool changed = true;
    for (int sweep = 0; changed && sweep < kSweepsMax; ++sweep) {
      changed = false;
      for (std::size_t index = 0; index < chosen_.size();) {
        std::vector<std::uint32_t> explained;
        const Part before = chosen_[index].part;
        const std::vector<std::uint32_t> through = passages_.Through(before);
        const Scores scores = Alternatives(index, explained);
        const std::vector<Hypothesis>* best = nullptr;
        for (const auto& [part, ways] : scores)
          if (best == nullptr || Best(ways).fit.score > Best(*best).fit.score) best = &ways;
        if (best == nullptr || Sure(*best) <= 0) {
          chosen_.erase(chosen_.begin() + static_cast<long>(index));
          Relevel(through, chosen_.size());
          changed = true;
          continue;
        }
        const Hypothesis chosen = LikeliestWay(*best);
        changed = changed || chosen.part != before;
        chosen_[index] = chosen;
        Relevel(through, chosen_.size());
        if (chosen.part != before) Relevel(passages_.Through(chosen.part), chosen_.size());
        ++index;
      }
    }
  }

  bool IsChosen(const Part& part) const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const Hypothesis& hypothesis) { return hypothesis.part == part; });
  }

  void AddDeadPorts(std::vector<Part>& suspicious) {
    if (readings_.channel() != Channel::kLoss) return;
    std::set<Part> dead;
    for (const std::uint32_t i : bad_) {
      const Observation& seen = passages_.observations()[i];
      if (seen.failures < seen.attempts || seen.attempts < kNothingCameMin) continue;
      dead.insert({{PartKind::kPort, seen.from}, {PartKind::kPort, seen.to}});
    }
    for (const Part& part : dead) {
      const bool known = std::find(suspicious.begin(), suspicious.end(), part) != suspicious.end();
      if (!known && !IsChosen(part) && Sure(ScoreOf(part)) >= kSuspiciousDead)
        suspicious.push_back(part);
    }
  }

  // Pairs that were clearly bad, for no known reason, and were not seen to be good since.
  void AddOddPairs(std::vector<Part>& suspicious) const {
    std::set<Part> odd;
    for (const std::uint32_t i : bad_) {
      if (readings_.Unexplained(i) < kClearlyBad) continue;
      const Observation& seen = passages_.observations()[i];
      if (seen.failed_end || seen.from == seen.to) continue;
      const auto [low, high] = std::minmax(seen.from, seen.to);
      const Part pair{PartKind::kPair, low, high};
      const std::vector<std::uint32_t> all = passages_.Through(pair);
      const bool good_since = std::any_of(all.begin(), all.end(), [&](std::uint32_t other) {
        return passages_.observations()[other].round > seen.round && readings_.Has(other) &&
               readings_.Badness(other) <= BadFrom(other);
      });
      if (!good_since) odd.insert(pair);
    }
    suspicious.insert(suspicious.end(), odd.begin(), odd.end());
  }

  Candidate CandidateOf(const std::vector<Hypothesis>& ways, double probability);
  std::optional<Trouble> TroubleOf(std::size_t index);
  bool Enough(const Trouble& trouble) const;
  static bool WasAPause(const Trouble& trouble);
  bool Compared(const Trouble& trouble) const;
  void AddSeveralPorts(Trouble& trouble) const;
  static void AddAllOfIt(Trouble& trouble);

  const Passages& passages_;
  Readings readings_;
  Scorer scorer_;
  std::vector<std::uint32_t> bad_;
  std::vector<Hypothesis> chosen_;
  std::map<Part, std::vector<Hypothesis>> known_;
  std::vector<Part> changed_;  // Scratch
};

// The ends of a trouble's observations that lie in the part; for others than ports, hosts and
// leaves all of them.
std::set<std::uint32_t> EndsIn(const Passages& passages, const Part& part,
                               const std::vector<std::uint32_t>& observations, bool inside) {
  std::set<std::uint32_t> ends;
  for (const std::uint32_t i : observations) {
    const Observation& seen = passages.observations()[i];
    for (const std::uint32_t place : {seen.from, seen.to})
      if (passages.Holds(part, place) == inside) ends.insert(place);
  }
  return ends;
}

// Once is no fault: two rounds. A port or node has to be bad with two partners, and what many share
// with three of them: two ports under a leaf may just as well be two bad ports.
bool SearchRun::Enough(const Trouble& trouble) const {
  const Part& part = trouble.candidates[0].hypothesis.part;
  if (trouble.rounds < 2) return false;
  const auto ends = [&](bool inside) {
    return EndsIn(passages_, part, trouble.observations, inside).size();
  };
  switch (part.kind) {
    case PartKind::kPort:
    case PartKind::kHost: return ends(false) >= 2;
    case PartKind::kLeaf:
    case PartKind::kUplink: return ends(true) >= kPortsMin;
    case PartKind::kPair: return true;
    default: return std::max(ends(false), ends(true)) >= kPortsMin;
  }
}

// It was bad for no longer than a pause takes, and is well again.
bool SearchRun::WasAPause(const Trouble& trouble) {
  const Hypothesis& hypothesis = trouble.candidates[0].hypothesis;
  return MayPause(hypothesis.part) && hypothesis.fit.share > 0 && trouble.first_s > 0 &&
         trouble.last_s - trouble.first_s < kPauseMaxS;
}

// Something that the part has no share in is well. Where all is bad that was tried, a setting, a
// driver or machines that are starved explain it as well as any part that all of it passes; but who
// failed by itself is known.
bool SearchRun::Compared(const Trouble& trouble) const {
  const Hypothesis& hypothesis = trouble.candidates[0].hypothesis;
  if (hypothesis.part.kind == PartKind::kFabric) return true;
  const auto observations = passages_.observations();
  if (std::any_of(trouble.observations.begin(), trouble.observations.end(),
                  [&](std::uint32_t i) { return observations[i].failed_end.has_value(); }))
    return true;
  const bool some_flows = hypothesis.fit.share > 0;
  for (std::uint32_t i = 0; i < observations.size(); ++i) {
    if (!readings_.Has(i) || readings_.Badness(i) > BadFrom(i)) continue;
    if (some_flows || !passages_.Passes(hypothesis.part, i) || !scorer_.Affects(hypothesis, i))
      return true;
  }
  return false;
}

// As likely as the one that nothing was compared with.
void SearchRun::AddAllOfIt(Trouble& trouble) {
  Candidate all = trouble.candidates[0];
  all.hypothesis.part = {PartKind::kFabric};
  all.hypothesis.way = Way::kBoth;
  all.way_is = 1;
  std::erase_if(trouble.candidates,
                [](const Candidate& one) { return one.hypothesis.part.kind == PartKind::kFabric; });
  trouble.candidates[0].probability /= 2;
  all.probability = trouble.candidates[0].probability;
  trouble.candidates.insert(trouble.candidates.begin() + 1, all);
}

// A switch of which one or two ports were probed is taken to be as likely as these ports.
void SearchRun::AddSeveralPorts(Trouble& trouble) const {
  const Candidate top = trouble.candidates[0];
  const PartKind kind = top.hypothesis.part.kind;
  if (kind != PartKind::kLeaf && kind != PartKind::kUplink) return;
  const auto ports = EndsIn(passages_, top.hypothesis.part, trouble.observations, true);
  if (ports.size() >= kPortsMin) return;
  std::vector<Candidate> more;
  for (const std::uint32_t port : ports) {
    const Part part{PartKind::kPort, port};
    const auto same = [&](const Candidate& one) { return one.hypothesis.part == part; };
    if (std::any_of(trouble.candidates.begin(), trouble.candidates.end(), same)) continue;
    more.push_back(top);
    more.back().hypothesis.part = part;
    more.back().probability = top.probability / 2;
  }
  if (more.empty()) return;
  trouble.candidates[0].probability /= 2;
  trouble.candidates.insert(trouble.candidates.end(), more.begin(), more.end());
}

Candidate SearchRun::CandidateOf(const std::vector<Hypothesis>& ways, double probability) {
  const Hypothesis& chosen = LikeliestWay(ways);
  const double odds = scorer_.LogOddsOfWay(chosen);
  double all = 0;
  for (const Hypothesis& way : ways) all += std::exp(scorer_.LogOddsOfWay(way) - odds);
  return {chosen, probability, 1 / all};
}

std::optional<Trouble> SearchRun::TroubleOf(std::size_t index) {
  Trouble trouble{.channel = readings_.channel()};
  const Scores scores = Alternatives(index, trouble.observations);
  double top = -1e18;
  double sure = 0;
  for (const auto& [part, ways] : scores) {
    if (Best(ways).fit.score > top) sure = Sure(ways);
    top = std::max(top, Best(ways).fit.score);
  }
  double sum = std::exp(-sure);  // Chance
  for (const auto& [part, ways] : scores) {
    double all = 0;
    for (const Hypothesis& way : ways) all += std::exp(way.fit.score - top);
    sum += all;
    trouble.candidates.push_back(CandidateOf(ways, all));
  }
  Relevel(passages_.Through(chosen_[index].part), chosen_.size());
  for (Candidate& candidate : trouble.candidates) candidate.probability /= sum;
  std::stable_sort(trouble.candidates.begin(), trouble.candidates.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  std::erase_if(trouble.candidates,
                [](const Candidate& one) { return one.probability < kWorthNaming; });
  if (trouble.candidates.size() > kCandidatesMax) trouble.candidates.resize(kCandidatesMax);
  if (trouble.candidates.empty()) return std::nullopt;
  std::set<std::uint32_t> rounds;
  for (const std::uint32_t i : trouble.observations) {
    const Observation& seen = passages_.observations()[i];
    rounds.insert(seen.round);
    if (trouble.last_s == 0 || seen.began_s < trouble.first_s) trouble.first_s = seen.began_s;
    trouble.last_s = std::max(trouble.last_s, seen.began_s);
  }
  trouble.rounds = rounds.size();
  const bool noisy = std::any_of(trouble.observations.begin(), trouble.observations.end(),
                                 [&](std::uint32_t i) { return readings_.Noisy(i); });
  const double needed = noisy ? kDecidedInNoise : kDecided;
  const bool likely =
      trouble.candidates[0].probability >= needed && Enough(trouble) && !WasAPause(trouble);
  trouble.decided = likely && Compared(trouble);
  if (likely && !trouble.decided) AddAllOfIt(trouble);
  if (!likely) AddSeveralPorts(trouble);
  return trouble;
}

}  // namespace

bool MayPause(const Part& part) {
  return part.kind == PartKind::kPort || part.kind == PartKind::kHost ||
         part.kind == PartKind::kPair;
}

Found Search(const Passages& passages, const Figures& figures, const CounterEvidence& counters,
             const std::set<Part>& expected) {
  return SearchRun(passages, figures, counters, expected).Run();
}

}  // namespace fabric::blame
