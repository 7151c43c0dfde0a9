#include "daemon/blame/blame.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "daemon/blame/analyzer.h"
#include "daemon/blame/named_cables.h"
#include "daemon/blame/probe_requests.h"
#include "daemon/blame/report.h"
#include "daemon/blame/search.h"
#include "daemon/blame/stalled_hosts.h"

namespace fabric::blame {
namespace {

// Maximum fraction of bad, unexplained observations that can be chance.
constexpr double kUnexplainedMax = 0.02;
constexpr std::size_t kEnough = 2;  // Minimum observations of a healthy endpoint
// After this many bad rounds, candidates that still look the same cannot be distinguished, unless
// probes outside all of them would help.
constexpr std::size_t kRoundsEnough = 8;
constexpr std::size_t kSlowPeriodsEnough = 4;  // The same, if slow periods can explain the fault

const Component& ComponentOf(const Fault& fault) {
  return fault.candidates[0].hypothesis.component;
}

double NewestOf(const ObservationPaths& paths) {
  double newest_s = 0;
  for (const Observation& seen : paths.observations()) newest_s = std::max(newest_s, seen.began_s);
  return newest_s;
}

// Seconds until the fault has lasted longer than a host pause, or a slow period that can explain
// it.
double WaitFor(const Fault& fault, double newest_s) {
  double until_s = 0;
  if (fault.first_s > 0 && MayPause(ComponentOf(fault))) until_s = fault.first_s + kPauseMaxS;
  if (!fault.decided && fault.slow_periods > 0) until_s = std::max(until_s, fault.slow_until_s);
  return std::max(0.0, until_s - newest_s);
}

// More rounds would not change the candidates.
bool HasEnoughRounds(const Fault& fault) {
  return fault.rounds >= kRoundsEnough &&
         (fault.slow_periods == 0 || fault.slow_periods >= kSlowPeriodsEnough);
}

// Number of endpoints that fit into a round of their own.
constexpr std::size_t FewOf(std::size_t endpoints) {
  return std::max<std::size_t>(2, endpoints / 8);
}

// A component can be lossy, slow and late at once: report the worst.
void Merge(const v1::Suspect& other, v1::Suspect& suspect) {
  // Of the few flows on one path of a leaf, those of another channel can have one direction by
  // chance.
  const bool of_path = suspect.kind() == v1::SUSPECT_KIND_UPLINK;
  if (suspect.direction() == v1::DIRECTION_UNSPECIFIED && !of_path)
    suspect.set_direction(other.direction());
  suspect.set_confidence(std::max(suspect.confidence(), other.confidence()));
  if (other.has_latency_ratio()) suspect.set_latency_ratio(other.latency_ratio());
  for (const std::string& evidence : other.evidence())
    if (std::find(suspect.evidence().begin(), suspect.evidence().end(), evidence) ==
        suspect.evidence().end())
      suspect.add_evidence(evidence);
}

v1::CoverageGap NotProbed(const Endpoint& endpoint) {
  v1::CoverageGap gap;
  gap.set_reason(v1::COVERAGE_GAP_REASON_NOT_PROBED);
  gap.set_text("not probed");
  gap.set_node(endpoint.node);
  gap.set_device(endpoint.device);
  gap.set_port(endpoint.port);
  return gap;
}

void AddCoverage(const ObservationPaths& paths, v1::BlameReport& report) {
  const std::vector<Endpoint>& endpoints = paths.fabric().endpoints;
  for (std::uint32_t endpoint = 0; endpoint < endpoints.size(); ++endpoint)
    if (!paths.Observed(endpoint)) *report.add_not_covered() = NotProbed(endpoints[endpoint]);
}

// At least half of its probes failed completely. With few probes this may be chance, so the
// endpoint is not blamed, but it is not healthy either.
bool MostlyFailed(const ObservationPaths& paths, std::uint32_t endpoint) {
  const auto seen = paths.ObservationsOf(endpoint);
  const auto failed = std::count_if(seen.begin(), seen.end(), [&](std::uint32_t index) {
    const Observation& one = paths.observations()[index];
    return one.failed_end || (one.attempts > 0 && one.failures == one.attempts);
  });
  return failed > 0 && 2 * static_cast<std::size_t>(failed) >= seen.size();
}

v1::BlameState StateOf(const ObservationPaths& paths, double unexplained_loss,
                       const v1::BlameReport& report) {
  if (report.undecided_size() > 0) return v1::BLAME_STATE_UNDECIDED;
  if (report.suspects_size() > 0) return v1::BLAME_STATE_DECIDED;
  if (unexplained_loss > kUnexplainedMax) return v1::BLAME_STATE_INSUFFICIENT_DATA;
  bool any = false;
  for (std::uint32_t endpoint = 0; endpoint < paths.fabric().endpoints.size(); ++endpoint) {
    const std::size_t seen = paths.ObservationsOf(endpoint).size();
    any = any || seen > 0;
    if (seen > 0 && seen < kEnough) return v1::BLAME_STATE_INSUFFICIENT_DATA;
    if (MostlyFailed(paths, endpoint)) return v1::BLAME_STATE_INSUFFICIENT_DATA;
  }
  return any ? v1::BLAME_STATE_HEALTHY : v1::BLAME_STATE_INSUFFICIENT_DATA;
}

v1::SuggestedProbe ToSuggestedProbe(const Fabric& fabric, const ProbeRequest& request,
                                    const std::string& reason) {
  const Endpoint& from = fabric.endpoints[request.from];
  const Endpoint& to = fabric.endpoints[request.to];
  v1::SuggestedProbe probe;
  probe.set_from_node(from.node);
  probe.set_from_device(from.device);
  probe.set_from_port(from.port);
  probe.set_to_node(to.node);
  probe.set_to_device(to.device);
  probe.set_to_port(to.port);
  probe.set_reason(reason);
  return probe;
}

// "worst of 12 results: lost 3 of 200, 40 % of the bandwidth, 2.8 times the latency of peers"
std::string WorstResults(const ObservationPaths& paths, const Component& component) {
  const std::vector<std::uint32_t> through = paths.Through(component);
  const Observation* lossy = nullptr;
  float slowest = 1;
  float latest = 1;
  for (const std::uint32_t i : through) {
    const Observation& seen = paths.observations()[i];
    if (seen.failures > 0 &&
        (lossy == nullptr || seen.failures * std::uint64_t{lossy->attempts} >
                                 lossy->failures * std::uint64_t{seen.attempts}))
      lossy = &seen;
    slowest = std::min(slowest, seen.speed.value_or(1));
    latest = std::max(latest, seen.latency.value_or(1));
  }
  std::vector<std::string> words;
  if (lossy != nullptr) words.push_back(Format("lost {} of {}", lossy->failures, lossy->attempts));
  if (slowest < 1) words.push_back(Format("{:.0f} % of the bandwidth of peers", 100 * slowest));
  if (latest > 1) words.push_back(Format("{:.1f} times the latency of peers", latest));
  return Format("worst of {} results: {}", through.size(), Join(words, ", "));
}

struct Judgement {
  std::vector<Fault> faults;
  std::vector<Component> suspicious;
  std::set<Component> decided;
  double unexplained_loss = 0;  // Fraction of all observations
};

bool IsBad(const Observation& seen, Channel channel) {
  constexpr double kSlow = 0.87;
  constexpr double kLate = 1.8;
  if (channel == Channel::kLoss) return seen.failures > 0;
  return channel == Channel::kSpeed ? seen.speed.value_or(1) < kSlow
                                    : seen.latency.value_or(1) > kLate;
}

bool Measures(const Observation& seen, Channel channel) {
  return channel == Channel::kLoss    ? seen.attempts > 0
         : channel == Channel::kSpeed ? seen.speed.has_value()
                                      : seen.latency.has_value();
}

// Faint loss of one path of a leaf looks like fainter loss of all paths: most flows lose no packet.
// Another channel that is bad for some flows shows which it is, if the same flows lose packets.
std::uint8_t ExtentOf(const ObservationPaths& paths, const Fault& all, const Fault& some) {
  constexpr std::size_t kFlowsMin = 3;
  constexpr double kSame = 0.75;
  const Hypothesis& hypothesis = all.candidates[0].hypothesis;
  const auto same = std::ranges::find_if(some.candidates, [&](const Candidate& candidate) {
    return candidate.hypothesis.component == hypothesis.component;
  });
  if (same == some.candidates.end() || same->hypothesis.fit.share == 0) return 0;
  std::size_t measured = 0;
  std::size_t bad = 0;
  for (const std::uint32_t i : all.observations) {
    const Observation& seen = paths.observations()[i];
    if (!Measures(seen, some.channel)) continue;
    ++measured;
    bad += IsBad(seen, some.channel) ? 1 : 0;
  }
  const bool is_same =
      measured >= kFlowsMin && static_cast<double>(bad) >= kSame * static_cast<double>(measured);
  return is_same ? same->hypothesis.fit.share : 0;
}

void SetExtents(const ObservationPaths& paths, std::vector<Fault>& faults) {
  for (Fault& fault : faults) {
    Hypothesis& hypothesis = fault.candidates[0].hypothesis;
    if (hypothesis.component.kind != ComponentKind::kUplink) continue;
    for (const Fault& other : faults)
      if (hypothesis.fit.share == 0 && other.channel != fault.channel)
        hypothesis.fit.share = ExtentOf(paths, fault, other);
  }
}

Judgement JudgeAll(const ObservationPaths& paths, std::span<const ChannelLikelihoods> channels,
                   const CounterEvidence& counters) {
  Judgement judgement;
  const std::vector<Fault> stalled = StalledHosts(paths);
  for (const ChannelLikelihoods& figures : channels) {
    SearchResult found = Search(paths, figures, counters, {judgement.decided, stalled});
    if (figures.channel() == Channel::kLoss) judgement.unexplained_loss = found.unexplained;
    for (Fault& fault : found.faults) {
      if (fault.decided) judgement.decided.insert(fault.candidates[0].hypothesis.component);
      judgement.faults.push_back(std::move(fault));
    }
    judgement.suspicious.insert(judgement.suspicious.end(), found.suspicious.begin(),
                                found.suspicious.end());
  }
  SetExtents(paths, judgement.faults);
  // Drop undecided faults with a candidate that another channel decided.
  std::erase_if(judgement.faults, [&](const Fault& fault) {
    return !fault.decided &&
           std::any_of(fault.candidates.begin(), fault.candidates.end(),
                       [&](const Candidate& candidate) {
                         return judgement.decided.contains(candidate.hypothesis.component);
                       });
  });
  judgement.faults.insert(judgement.faults.end(), stalled.begin(), stalled.end());
  std::erase_if(judgement.suspicious,
                [&](const Component& component) { return judgement.decided.contains(component); });
  return judgement;
}

v1::BlameReport ReportOf(const ObservationPaths& paths, const Judgement& judgement,
                         const Partners& partners, std::span<const v1::Finding> findings,
                         const CounterEvidence& counters) {
  v1::BlameReport report;
  std::map<Component, v1::Suspect> suspects;
  for (const Fault& fault : judgement.faults) {
    if (!fault.decided) {
      v1::UndecidedGroup& group = *report.add_undecided();
      for (const Candidate& candidate : fault.candidates)
        *group.add_suspects() = SuspectOf(paths, fault, candidate, findings, counters);
      for (const ReasonedProbe& probe : DiscriminatingProbes(paths, partners, fault))
        *group.add_probes() = ToSuggestedProbe(paths.fabric(), probe.pair, probe.why);
      continue;
    }
    const Candidate& candidate = fault.candidates[0];
    v1::Suspect suspect = SuspectOf(paths, fault, candidate, findings, counters);
    const auto [at, fresh] = suspects.emplace(candidate.hypothesis.component, suspect);
    if (!fresh) Merge(suspect, at->second);
  }
  std::vector<v1::Suspect> ordered;
  for (auto& [component, suspect] : suspects) ordered.push_back(std::move(suspect));
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.confidence() > b.confidence(); });
  for (v1::Suspect& suspect : ordered) *report.add_suspects() = std::move(suspect);
  report.set_observations(static_cast<std::uint32_t>(paths.observations().size()));
  AddCoverage(paths, report);
  report.set_state(StateOf(paths, judgement.unexplained_loss, report));
  return report;
}

bool AreAlreadyTried(const Partners& partners, const std::vector<ProbeRequest>& next) {
  return std::ranges::all_of(
      next, [&](const ProbeRequest& pair) { return !pair.repeat && partners.MetInNewest(pair); });
}

}  // namespace

void Analyzer::Add(std::span<const Observation> more) {
  const std::size_t from = paths_.Add(more);
  for (ChannelLikelihoods& figures : figures_) figures.Take(paths_.observations(), from);
}

void Analyzer::KeepNewest(std::size_t count) {
  if (size() <= count) return;
  Analyzer kept(paths_.fabric());
  kept.Add(paths_.observations().last(count));
  *this = std::move(kept);
}

v1::BlameReport Analyzer::Judge(std::span<const v1::Finding> findings,
                                std::span<const PortCounters> counters) const {
  const CounterEvidence evidence(paths_, counters);
  const Judgement judgement = JudgeAll(paths_, figures_, evidence);
  v1::BlameReport report =
      ReportOf(paths_, judgement, Partners(paths_, judgement.faults, {}), findings, evidence);
  (void)NamedCables(paths_, judgement.faults, report);
  return report;
}

Assessment Analyzer::Assess(std::span<const std::uint32_t> usable,
                            std::span<const v1::Finding> findings,
                            std::span<const PortCounters> counters) const {
  const ObservationPaths& paths = paths_;
  const CounterEvidence evidence(paths, counters);
  const Judgement judgement = JudgeAll(paths, figures_, evidence);
  const Partners partners(paths, judgement.faults, usable);
  Assessment assessment{.report = ReportOf(paths, judgement, partners, findings, evidence)};
  const NamedCables named(paths, judgement.faults, assessment.report);
  ProbeRequests requests(paths, partners);
  std::string unsettled;
  const double newest_s = NewestOf(paths);
  for (const Fault& fault : judgement.faults) {
    const double wait_s = WaitFor(fault, newest_s);
    assessment.wait_s = std::max(assessment.wait_s, wait_s);
    if (named.Explain(fault.observations)) continue;
    const bool few_rounds = !HasEnoughRounds(fault);
    const bool unnamed = few_rounds && named.IsOfUnnamed(fault);
    const bool doubtful = few_rounds && named.IsPortOrCable(fault);
    if (fault.decided && wait_s == 0 && !unnamed && !doubtful) continue;
    const std::string name = NameOf(paths, ComponentOf(fault));
    const std::vector<ReasonedProbe> probes = DiscriminatingProbes(paths, partners, fault);
    if (fault.decided) {
      if (assessment.open_question.empty())
        assessment.open_question =
            unnamed    ? Format("the cable of {} is not known yet", name)
            : doubtful ? Format("cannot distinguish {} from a cable on its paths yet", name)
                       : Format("{} may have paused", name);
      requests.Add(probes);
      continue;
    }
    const bool elsewhere = std::any_of(probes.begin(), probes.end(),
                                       [](const ReasonedProbe& probe) { return probe.elsewhere; });
    if (!few_rounds && !elsewhere) {
      unsettled =
          Format("cannot distinguish {} from other suspects; more rounds would not help", name);
      continue;
    }
    if (assessment.open_question.empty())
      assessment.open_question = Format("cannot distinguish {} from other suspects yet", name);
    requests.Add(probes);
  }
  const CoverageGaps gaps =
      FindCoverageGaps(paths, Of(Channel::kLoss), Of(Channel::kSpeed), partners);
  // For many endpoints the planned pairs are more efficient.
  const bool few = gaps.endpoints.size() <= FewOf(paths.fabric().endpoints.size());
  for (const Component& component : judgement.suspicious) {
    if (named.Explain(paths.Through(component))) continue;
    if (assessment.open_question.empty()) {
      assessment.open_question = Format("{} may have a fault", NameOf(paths, component));
      assessment.suspicious = Located(paths, component);
      assessment.suspicious->add_evidence(WorstResults(paths, component));
    }
    if (few) requests.Add(component);
  }
  if (assessment.open_question.empty()) assessment.open_question = gaps.open_question;
  const std::string unpassed = named.AddUnpassed(usable, assessment.report);
  if (assessment.open_question.empty()) assessment.open_question = unpassed;
  assessment.decided = assessment.open_question.empty();
  if (few)
    for (const std::uint32_t endpoint : gaps.endpoints) requests.Add(endpoint);
  if (assessment.decided) {
    assessment.open_question = std::move(unsettled);
  } else {
    assessment.next = requests.Take();
    named.AddPairs(judgement.faults, usable, assessment.next);
  }
  assessment.next_already_tried = AreAlreadyTried(partners, assessment.next);
  return assessment;
}

v1::BlameReport Judge(const Fabric& fabric, std::span<const Observation> observations,
                      std::span<const v1::Finding> findings,
                      std::span<const PortCounters> counters) {
  Analyzer analyzer(fabric);
  analyzer.Add(observations);
  return analyzer.Judge(findings, counters);
}

Assessment Assess(const Fabric& fabric, std::span<const Observation> observations,
                  std::span<const std::uint32_t> usable, std::span<const v1::Finding> findings,
                  std::span<const PortCounters> counters) {
  Analyzer analyzer(fabric);
  analyzer.Add(observations);
  return analyzer.Assess(usable, findings, counters);
}

}  // namespace fabric::blame
