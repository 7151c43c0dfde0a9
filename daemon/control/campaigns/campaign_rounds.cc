// The part of Campaigns that begins and ends rounds, and starts pairs.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/campaigns.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

using Phase = CampaignWork::Phase;

// Steps of one call. Pairs that end without their agents take no time, so without a limit they
// would keep the controller busy; Continue() goes on.
constexpr int kStepsMax = 100;

// To end a round takes time for each port of the campaign: as much as a step for this many.
constexpr std::size_t kPortsOfStep = 8;

// Ports of a campaign from which on its results are judged in the background. Smaller ones take a
// few milliseconds, and would wait longer for the next turn.
constexpr std::size_t kPortsOfBackground = 128;

// The summary has the names of all nodes, and rounds of nodes that do not answer end at once. After
// a crash, probes are counted from the stored results.
constexpr Duration kStoreEvery = std::chrono::seconds(1);

// Rounds that a campaign may add to its plan because blame asks for pairs.
constexpr std::uint32_t kAdditionalRoundsMax = 16;

// Adds each node and port that is left out once.
void AddLeftOut(const CampaignWork& work, v1::Campaign& summary) {
  std::set<std::string> known;
  for (const v1::CoverageGap& gap : summary.skipped())
    if (gap.reason() == v1::COVERAGE_GAP_REASON_UNREACHABLE) known.insert(SubjectName(gap));
  for (v1::CoverageGap& gap : work.reachability.LeftOut())
    if (!known.contains(SubjectName(gap))) *summary.add_skipped() = std::move(gap);
}

}  // namespace

Campaigns::~Campaigns() {
  for (const std::uint64_t number : running_)
    if (const auto& work = campaigns_.at(number).work; work->answer.valid()) work->answer.wait();
}

// Starts what can be started, one pair of each campaign in turn, until nothing moves.
void Campaigns::Advance(Moment now) {
  unfinished_ = false;
  if (!agents_.MayOrder()) return;
  int steps = 0;
  bool moved = true;
  while (moved && steps < kStepsMax) {
    moved = false;
    std::vector<std::uint64_t> order(running_.upper_bound(turn_), running_.end());
    order.insert(order.end(), running_.begin(), running_.upper_bound(turn_));
    for (const std::uint64_t number : order) {
      if (steps >= kStepsMax) break;
      const int taken = Step(number, campaigns_.at(number), now);
      moved = moved || taken > 0;
      steps += taken;
    }
  }
  unfinished_ = moved;
}

bool Campaigns::Continue(Moment now) {
  if (!unfinished_) return false;
  Advance(now);
  Keep();
  return unfinished_;
}

// One move of one campaign: ends a round, the campaign, or starts a pair. Returns its cost in
// steps; 0: it has to wait.
int Campaigns::Step(std::uint64_t number, Campaign& campaign, Moment now) {
  CampaignWork& work = *campaign.work;
  const bool cancelled = campaign.summary.state() == v1::CAMPAIGN_STATE_CANCELLED;
  if (cancelled) work.waiting.clear();
  const bool together = campaign.summary.spec().pattern() == v1::CAMPAIGN_PATTERN_INCAST;
  if (!work.waiting.empty())
    return (together ? StartTogether(number, campaign, now) : StartOne(number, campaign, now)) ? 1
                                                                                               : 0;
  if (work.pairs_running > 0) {
    if (together) OpenGate(number);
    return 0;
  }
  // The receiver has not reported its counters yet.
  if (!cancelled && work.incast != nullptr && !work.incast->over()) return 0;
  if (!cancelled && work.phase == Phase::kPaused && now.steady < work.postponed_until) return 0;
  if (work.answer.valid() && work.answer.wait_for(Duration(0)) != std::future_status::ready)
    return 0;
  const int cost = 1 + static_cast<int>(work.plan.ports.size() / kPortsOfStep);
  turn_ = number;
  if (work.phase == Phase::kEnding) {
    ContinueEnd(number, campaign, now);
  } else if (cancelled) {
    BeginEnd(campaign);
  } else if (work.phase == Phase::kPaused) {
    BeginAdditional(campaign, std::exchange(work.postponed, {}), now);
  } else {
    NextRound(campaign, now);
  }
  return cost;
}

// Nothing runs: closes the round that has ended, or begins the next one, or the end of the
// campaign.
void Campaigns::NextRound(Campaign& campaign, Moment now) {
  CampaignWork& work = *campaign.work;
  if (work.phase == Phase::kRound) {
    work.phase = Phase::kBetweenRounds;
    work.progress.EndRound(now);
    work.EndRound();
    campaign.summary.set_rounds_done(work.rounds_begun);
    if (work.incast != nullptr) *campaign.summary.add_incasts() = work.incast->Report();
    work.incast.reset();
    return;
  }
  if (work.phase == Phase::kReachability) {
    const std::vector<plan::Pair> stage = work.reachability.NextStage();
    if (!stage.empty()) return BeginQuick(work, stage);
    AddLeftOut(work, campaign.summary);
  }
  work.phase = Phase::kBetweenRounds;
  if (NeedsCounters(work, campaign.summary.spec())) {
    if (!work.port_counters) work.port_counters.emplace();
    return counters_(work.analyzer.fabric(), *work.port_counters);
  }
  if (work.port_counters) {
    std::vector<blame::PortCounters> counters = work.port_counters->Take();
    work.port_counters.reset();
    return Ask(work, std::packaged_task<blame::Assessment()>([&analyzer = work.analyzer,
                                                              usable = work.Usable(),
                                                              counters = std::move(counters)] {
                 return analyzer.Assess(usable, {}, counters);
               }));
  }
  const bool over = work.planned_begun == work.plan.rounds.size();
  std::vector<plan::Pair> wanted;
  const bool deciding = campaign.summary.spec().until_decided() || (work.settle && over);
  if (deciding && Judge(campaign, wanted, now)) {
    campaign.summary.set_rounds_saved(
        static_cast<std::uint32_t>(work.plan.rounds.size() - work.planned_begun));
    return BeginEnd(campaign);
  }
  if (!wanted.empty() && work.additional_rounds < kAdditionalRoundsMax) {
    ++work.additional_rounds;
    if (now.steady >= work.postponed_until)
      return BeginAdditional(campaign, std::move(wanted), now);
    work.phase = Phase::kPaused;
    work.postponed = std::move(wanted);
    return;
  }
  if (over) return BeginEnd(campaign);
  if (!deciding) Judge(campaign, wanted, now);
  BeginRound(campaign, work.plan.rounds.At(work.planned_begun++), true, now);
}

void Campaigns::BeginAdditional(Campaign& campaign, std::vector<plan::Pair> wanted, Moment now) {
  CampaignWork& work = *campaign.work;
  // Each probe of a port that is left out would time out; a quick probe shows as much.
  const auto dead = std::stable_partition(wanted.begin(), wanted.end(), [&](const auto& pair) {
    return !work.reachability.IsOut(pair.from) && !work.reachability.IsOut(pair.to);
  });
  if (dead != wanted.end()) {
    work.phase = Phase::kQuickRound;
    return BeginQuick(work, {dead, wanted.end()});
  }
  BeginRound(campaign, std::move(wanted), false, now);
}

void Campaigns::BeginQuick(CampaignWork& work, const std::vector<plan::Pair>& pairs) {
  ++work.stage;
  work.waiting.assign(pairs.begin(), pairs.end());
}

void Campaigns::BeginRound(Campaign& campaign, std::vector<plan::Pair> pairs, bool planned,
                           Moment now) {
  CampaignWork& work = *campaign.work;
  ++work.rounds_begun;
  if (!planned) {
    v1::Campaign& summary = campaign.summary;
    summary.set_rounds(summary.rounds() + 1);
    summary.set_probes_planned(summary.probes_planned() +
                               static_cast<std::uint32_t>(pairs.size()) *
                                   static_cast<std::uint32_t>(summary.spec().probes_size()));
  }
  work.phase = Phase::kRound;
  work.progress.BeginRound(pairs.size(), planned, now);
  work.waiting.assign(pairs.begin(), pairs.end());
  Keep();
  if (now.steady - work.stored_at < kStoreEvery) return;
  work.stored_at = now.steady;
  outbox_.store().PutCampaign(campaign.summary);
}

// Whether blame is asked before the next round, and not all counters are there yet.
bool Campaigns::NeedsCounters(CampaignWork& work, const v1::CampaignSpec& spec) {
  const bool over = work.planned_begun == work.plan.rounds.size();
  const bool deciding = spec.until_decided() || (work.settle && over);
  const bool read = work.port_counters && work.port_counters->done();
  return !read && !work.answer.valid() && (deciding || !over) && work.analyzer.Due(deciding);
}

// The answer comes in `answer` of the work.
void Campaigns::Ask(CampaignWork& work, std::packaged_task<blame::Assessment()> question) {
  work.question = std::move(question);
  work.answer = work.question.get_future();
  if (background_ == nullptr || work.plan.ports.size() < kPortsOfBackground) return work.question();
  background_->Post(std::packaged_task<void()>([&work] { work.question(); }));
}

// No pair of the campaign takes a result any more, so that its work does not change meanwhile.
void Campaigns::AskForEnd(CampaignWork& work) {
  Ask(work, std::packaged_task<blame::Assessment()>([&work, usable = work.Usable()] {
        CampaignEnding& ending = *work.ending;
        const auto& counters = ending.counters.counters();
        blame::Assessment assessment = work.analyzer.Assess(usable, ending.findings, counters);
        work.Complete(assessment.report, ending.findings, counters);
        ending.affected = AffectedBy(assessment.report, work.analyzer.fabric());
        return assessment;
      }));
}

// Takes the answer of blame, if it was asked. True: the fault is located. `next`: the pairs that
// would locate it.
bool Campaigns::Judge(Campaign& campaign, std::vector<plan::Pair>& next, Moment now) {
  CampaignWork& work = *campaign.work;
  if (!work.answer.valid()) return false;
  const bool over = work.planned_begun == work.plan.rounds.size();
  blame::Assessment assessment = work.answer.get();
  if (!assessment.next_already_tried || over) next = work.PairsOf(assessment.next);
  work.postponed_until = now.steady + std::chrono::duration_cast<Duration>(
                                          std::chrono::duration<double>(assessment.wait_s));
  *campaign.summary.mutable_blame() = std::move(assessment.report);
  campaign.suspicious = std::move(assessment.suspicious);
  return assessment.decided;
}

void Campaigns::BeginEnd(Campaign& campaign) {
  CampaignWork& work = *campaign.work;
  work.phase = Phase::kEnding;
  work.answer = {};
  AddLeftOut(work, campaign.summary);
  for (v1::CoverageGap& gap : work.cross_rail.Finish(work.analyzer))
    *campaign.summary.add_skipped() = std::move(gap);
}

// One step of the end of a campaign.
void Campaigns::ContinueEnd(std::uint64_t number, Campaign& campaign, Moment now) {
  CampaignWork& work = *campaign.work;
  if (campaign.summary.spec().pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    return End(number, campaign, now);
  if (!work.ending) work.ending.emplace();
  CampaignEnding& ending = *work.ending;
  if (!ending.findings_done) {
    ending.findings_done = !open_findings_(ending.last_finding, ending.findings);
    return;
  }
  if (!ending.counters.done()) return counters_(work.analyzer.fabric(), ending.counters);
  if (!ending.assessment) {
    if (!work.answer.valid()) return AskForEnd(work);
    ending.assessment = work.answer.get();
    return;
  }
  if (!ending.located) {
    *campaign.summary.mutable_blame() = std::move(ending.assessment->report);
    campaign.suspicious = std::move(ending.assessment->suspicious);
    Locate(campaign, now);
    ending.located = true;
    return;
  }
  End(number, campaign, now);
}

void Campaigns::End(std::uint64_t number, Campaign& campaign, Moment now) {
  v1::Campaign& summary = campaign.summary;
  const std::uint32_t left = summary.probes_planned() - summary.probes_ok() -
                             summary.probes_failed() - summary.probes_cancelled();
  if (summary.state() == v1::CAMPAIGN_STATE_RUNNING) {
    summary.set_state(v1::CAMPAIGN_STATE_DONE);
  } else if (left > 0) {
    *summary.add_skipped() = CoverageGapOf(
        v1::COVERAGE_GAP_REASON_CANCELLED,
        Format("not run: {} of {} probes: {}", left, summary.probes_planned(), kCancelled));
  }
  summary.clear_remaining_seconds();
  *summary.mutable_ended_at() = ToProto(now.wall);
  campaign.not_judged = campaign.work->tally.not_judged();
  // To free the memory of a large campaign takes as long as a step.
  if (background_ != nullptr && campaign.work->plan.ports.size() >= kPortsOfBackground)
    background_->Post(std::packaged_task<void()>([work = std::move(campaign.work)] {}));
  campaign.work.reset();
  running_.erase(number);
  Publish(campaign, now);
}

// Reports what the campaign located, for findings. One result for each class of traffic.
void Campaigns::Locate(Campaign& campaign, Moment now) {
  if (!on_located_) return;
  v1::Campaign& summary = campaign.summary;
  const CampaignWork& work = *campaign.work;
  const auto report = [&](std::uint32_t traffic_class, const ProbeCoverage& coverage) {
    // Without the ports that are not covered, which can be thousands.
    v1::BlameReport own;
    own.set_state(summary.blame().state());
    *own.mutable_undecided() = summary.blame().undecided();
    std::vector<AffectedPorts> affected;
    for (int n = 0; n < summary.blame().suspects_size(); ++n) {
      if (summary.blame().suspects(n).traffic_class() != traffic_class) continue;
      *own.add_suspects() = summary.blame().suspects(n);
      affected.push_back(work.ending->affected[static_cast<std::size_t>(n)]);
    }
    const std::vector<std::string> ids =
        on_located_({.located_by = Format("campaign {}", summary.id()),
                     .show_command = Format("fabricctl probe show {}", summary.id()),
                     .traffic_class = traffic_class,
                     .report = own,
                     .coverage = coverage,
                     .affected = affected},
                    now);
    for (const std::string& id : ids) summary.add_findings(id);
  };
  const auto& classes = work.traffic_classes;
  report(classes.empty() ? 0 : classes.front().traffic_class(), work.coverage);
  if (work.compared != nullptr) report(classes.back().traffic_class(), work.compared_coverage);
}

bool Campaigns::StartOne(std::uint64_t number, Campaign& campaign, Moment now) {
  CampaignWork& work = *campaign.work;
  for (auto at = work.waiting.begin(); at != work.waiting.end(); ++at) {
    const plan::Pair ports = *at;
    const bool needless = work.phase == Phase::kRound          ? LeaveOut(campaign, ports, now)
                          : work.phase == Phase::kReachability ? !work.reachability.IsUseful(ports)
                                                               : false;
    if (needless) {
      work.waiting.erase(at);
      return true;
    }
    plan::PairTask task = work.plan.Task(ports);
    const std::string& from = work.port_names[ports.from];
    const std::string& to = work.port_names[ports.to];
    // A pair with a dead end needs no port: it fails at once.
    const bool alive = agents_.Usable(task.from.node()) && agents_.Usable(task.to.node());
    if (alive) {
      if (pairs_counted_ >= pairs_at_once_max_) return false;
      if (busy_ports_.contains(from) || busy_ports_.contains(to)) continue;
      if (!work.budget.Take(ports)) continue;
      ++pairs_counted_;
      ++busy_ports_[from];
      if (to != from) ++busy_ports_[to];
    }
    Pair pair{.campaign = number,
              .ports = ports,
              .task = std::move(task),
              .round = work.quick() ? 0 : work.rounds_begun,
              .holds = {.from_port = alive,
                        .to_port = alive && ports.from != ports.to,
                        .budget = alive,
                        .slot = alive}};
    work.waiting.erase(at);
    ++work.pairs_running;
    turn_ = number;
    Begin(std::move(pair), now);
    return true;
  }
  return false;
}

// True when one of the ports is left out; then every probe of the pair is recorded with that
// result.
bool Campaigns::LeaveOut(Campaign& campaign, const plan::Pair& pair, Moment now) {
  CampaignWork& work = *campaign.work;
  auto result = work.reachability.LeftOut(pair.from);
  if (!result) result = work.reachability.LeftOut(pair.to);
  if (!result) return false;
  const plan::PairTask task = work.plan.Task(pair);
  for (const v1::ProbeSpec& probe : campaign.summary.spec().probes()) {
    v1::PairResult recorded = ResultOf(task, work.rounds_begun, probe, now, now);
    *recorded.mutable_result() = *result;
    Record(campaign, std::move(recorded));
  }
  work.progress.EndPair();
  return true;
}

}  // namespace fabric::control
