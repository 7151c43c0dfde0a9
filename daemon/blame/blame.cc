#include "daemon/blame/blame.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "daemon/blame/book.h"
#include "daemon/blame/report.h"
#include "daemon/blame/search.h"
#include "daemon/blame/wanted.h"

namespace fabric::blame {
namespace {

// Loss in more than so many of all observations that nothing explains is more than chance.
constexpr double kUnexplainedMax = 0.02;
constexpr std::size_t kEnough = 2;  // Observations of a place before one can say that it is well
// Bad rounds of a trouble after which, with all that they say, it is clear that its suspects look
// the same; but not while parts that none of them is in would tell.
constexpr std::size_t kRoundsEnough = 8;

const Part& PartOf(const Trouble& trouble) {
  return trouble.candidates[0].hypothesis.part;
}

double NewestOf(const Passages& passages) {
  double newest_s = 0;
  for (const Observation& seen : passages.observations())
    newest_s = std::max(newest_s, seen.began_s);
  return newest_s;
}

// Until what is bad now has been so for longer than a host pauses.
double WaitFor(const Trouble& trouble, double newest_s) {
  if (trouble.first_s == 0 || !MayPause(PartOf(trouble))) return 0;
  return std::max(0.0, trouble.first_s + kPauseMaxS - newest_s);
}

// So many of all places can be probed in rounds of their own.
constexpr std::size_t FewOf(std::size_t places) {
  return std::max<std::size_t>(2, places / 8);
}

// One part may be lossy, and slow and late for that: the worst is what is said of it.
void Merge(const v1::Suspect& other, v1::Suspect& suspect) {
  if (suspect.direction() == v1::DIRECTION_UNSPECIFIED) suspect.set_direction(other.direction());
  suspect.set_confidence(std::max(suspect.confidence(), other.confidence()));
  if (other.has_latency_ratio()) suspect.set_latency_ratio(other.latency_ratio());
  for (const std::string& evidence : other.evidence())
    if (std::find(suspect.evidence().begin(), suspect.evidence().end(), evidence) ==
        suspect.evidence().end())
      suspect.add_evidence(evidence);
}

void AddCoverage(const Passages& passages, v1::BlameReport& report) {
  const std::vector<Place>& places = passages.fabric().places;
  for (std::uint32_t place = 0; place < places.size(); ++place)
    if (!passages.Observed(place))
      report.add_not_covered(Format("{}: was not probed", NameOf(places[place])));
}

// At least half of what was tried there failed as a whole. Chance may have done it where little was
// tried, so that nobody is accused; but nobody may call it healthy.
bool MostlyFailed(const Passages& passages, std::uint32_t place) {
  const auto seen = passages.ObservationsOf(place);
  const auto failed = std::count_if(seen.begin(), seen.end(), [&](std::uint32_t index) {
    const Observation& one = passages.observations()[index];
    return one.failed_end || (one.attempts > 0 && one.failures == one.attempts);
  });
  return failed > 0 && 2 * static_cast<std::size_t>(failed) >= seen.size();
}

v1::BlameState StateOf(const Passages& passages, double unexplained_loss,
                       const v1::BlameReport& report) {
  if (report.undecided_size() > 0) return v1::BLAME_STATE_UNDECIDED;
  if (report.suspects_size() > 0) return v1::BLAME_STATE_DECIDED;
  if (unexplained_loss > kUnexplainedMax) return v1::BLAME_STATE_TOO_LITTLE;
  bool any = false;
  for (std::uint32_t place = 0; place < passages.fabric().places.size(); ++place) {
    const std::size_t seen = passages.ObservationsOf(place).size();
    any = any || seen > 0;
    if (seen > 0 && seen < kEnough) return v1::BLAME_STATE_TOO_LITTLE;
    if (MostlyFailed(passages, place)) return v1::BLAME_STATE_TOO_LITTLE;
  }
  return any ? v1::BLAME_STATE_HEALTHY : v1::BLAME_STATE_TOO_LITTLE;
}

v1::ProbeWanted ToProto(const Fabric& fabric, const Wanted& wanted, const std::string& why) {
  const Place& from = fabric.places[wanted.from];
  const Place& to = fabric.places[wanted.to];
  v1::ProbeWanted probe;
  probe.set_from_node(from.node);
  probe.set_from_device(from.device);
  probe.set_from_port(from.port);
  probe.set_to_node(to.node);
  probe.set_to_device(to.device);
  probe.set_to_port(to.port);
  probe.set_why(why);
  return probe;
}

struct Judgement {
  std::vector<Trouble> troubles;
  std::vector<Part> suspicious;
  std::set<Part> decided;
  double unexplained_loss = 0;  // Part of all observations
};

Judgement JudgeAll(const Passages& passages, std::span<const Figures> channels,
                   const CounterEvidence& counters) {
  Judgement judgement;
  for (const Figures& figures : channels) {
    Found found = Search(passages, figures, counters, judgement.decided);
    if (figures.channel() == Channel::kLoss) judgement.unexplained_loss = found.unexplained;
    for (Trouble& trouble : found.troubles) {
      if (trouble.decided) judgement.decided.insert(trouble.candidates[0].hypothesis.part);
      judgement.troubles.push_back(std::move(trouble));
    }
    judgement.suspicious.insert(judgement.suspicious.end(), found.suspicious.begin(),
                                found.suspicious.end());
  }
  // What one figure leaves open another one may have answered.
  std::erase_if(judgement.troubles, [&](const Trouble& trouble) {
    return !trouble.decided &&
           std::any_of(trouble.candidates.begin(), trouble.candidates.end(),
                       [&](const Candidate& candidate) {
                         return judgement.decided.contains(candidate.hypothesis.part);
                       });
  });
  std::erase_if(judgement.suspicious,
                [&](const Part& part) { return judgement.decided.contains(part); });
  return judgement;
}

v1::BlameReport ReportOf(const Passages& passages, const Judgement& judgement,
                         const Partners& partners, std::span<const v1::Finding> findings,
                         const CounterEvidence& counters) {
  v1::BlameReport report;
  std::map<Part, v1::Suspect> suspects;
  for (const Trouble& trouble : judgement.troubles) {
    if (!trouble.decided) {
      v1::UndecidedGroup& group = *report.add_undecided();
      for (const Candidate& candidate : trouble.candidates)
        *group.add_between() = SuspectOf(passages, trouble, candidate, findings, counters);
      for (const Reasoned& probe : Deciding(passages, partners, trouble))
        *group.add_probes() = ToProto(passages.fabric(), probe.pair, probe.why);
      continue;
    }
    const Candidate& candidate = trouble.candidates[0];
    v1::Suspect suspect = SuspectOf(passages, trouble, candidate, findings, counters);
    const auto [at, fresh] = suspects.emplace(candidate.hypothesis.part, suspect);
    if (!fresh) Merge(suspect, at->second);
  }
  std::vector<v1::Suspect> ordered;
  for (auto& [part, suspect] : suspects) ordered.push_back(std::move(suspect));
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.confidence() > b.confidence(); });
  for (v1::Suspect& suspect : ordered) *report.add_suspects() = std::move(suspect);
  report.set_observations(static_cast<std::uint32_t>(passages.observations().size()));
  AddCoverage(passages, report);
  report.set_state(StateOf(passages, judgement.unexplained_loss, report));
  return report;
}

}  // namespace

void Book::Add(std::span<const Observation> more) {
  const std::size_t from = passages_.Add(more);
  for (Figures& figures : figures_) figures.Take(passages_.observations(), from);
}

void Book::KeepNewest(std::size_t count) {
  if (size() <= count) return;
  Book kept(passages_.fabric());
  kept.Add(passages_.observations().last(count));
  *this = std::move(kept);
}

v1::BlameReport Book::Judge(std::span<const v1::Finding> findings,
                            std::span<const PortCounters> counters) const {
  const CounterEvidence evidence(passages_, counters);
  const Judgement judgement = JudgeAll(passages_, figures_, evidence);
  return ReportOf(passages_, judgement, Partners(passages_, judgement.troubles, {}), findings,
                  evidence);
}

Standing Book::Stand(std::span<const std::uint32_t> usable, std::span<const v1::Finding> findings,
                     std::span<const PortCounters> counters) const {
  const Passages& passages = passages_;
  const CounterEvidence evidence(passages, counters);
  const Judgement judgement = JudgeAll(passages, figures_, evidence);
  const Partners partners(passages, judgement.troubles, usable);
  Standing standing{.report = ReportOf(passages, judgement, partners, findings, evidence)};
  Wishes wishes(passages, partners);
  std::string unsettled;
  const double newest_s = NewestOf(passages);
  for (const Trouble& trouble : judgement.troubles) {
    const double wait_s = WaitFor(trouble, newest_s);
    standing.wait_s = std::max(standing.wait_s, wait_s);
    if (trouble.decided && wait_s == 0) continue;
    const std::string name = NameOf(passages, PartOf(trouble));
    const std::vector<Reasoned> probes = Deciding(passages, partners, trouble);
    if (trouble.decided) {
      if (standing.open.empty()) standing.open = Format("{} may have paused", name);
      wishes.Add(probes);
      continue;
    }
    const bool elsewhere = std::any_of(probes.begin(), probes.end(),
                                       [](const Reasoned& probe) { return probe.elsewhere; });
    if (trouble.rounds >= kRoundsEnough && !elsewhere) {
      unsettled = Format("it may be {} or others, and more rounds would not tell", name);
      continue;
    }
    if (standing.open.empty()) standing.open = Format("it may be {} or others", name);
    wishes.Add(probes);
  }
  const TooLittle little =
      SeenTooLittle(passages, Of(Channel::kLoss), Of(Channel::kSpeed), partners);
  // The planned pairs tell of so many at once, and of what is suspicious as well.
  const bool few = little.places.size() <= FewOf(passages.fabric().places.size());
  for (const Part& part : judgement.suspicious) {
    if (standing.open.empty()) standing.open = Format("{} is suspicious", NameOf(passages, part));
    if (few) wishes.Add(part);
  }
  if (standing.open.empty()) standing.open = little.open;
  standing.decided = standing.open.empty();
  if (few)
    for (const std::uint32_t place : little.places) wishes.Add(place);
  if (standing.decided)
    standing.open = std::move(unsettled);
  else
    standing.next = wishes.Take();
  standing.again = std::all_of(standing.next.begin(), standing.next.end(), [&](const Wanted& pair) {
    return !pair.once_more && partners.MetInNewest(pair);
  });
  return standing;
}

v1::BlameReport Judge(const Fabric& fabric, std::span<const Observation> observations,
                      std::span<const v1::Finding> findings,
                      std::span<const PortCounters> counters) {
  Book book(fabric);
  book.Add(observations);
  return book.Judge(findings, counters);
}

Standing Stand(const Fabric& fabric, std::span<const Observation> observations,
               std::span<const std::uint32_t> usable, std::span<const v1::Finding> findings,
               std::span<const PortCounters> counters) {
  Book book(fabric);
  book.Add(observations);
  return book.Stand(usable, findings, counters);
}

}  // namespace fabric::blame
