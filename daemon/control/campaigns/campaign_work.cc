#include "daemon/control/campaigns/campaign_work.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/class_comparison.h"
#include "proto/ports.h"
#include "proto/probe_kinds.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// Fewer pairs, or rounds, take no longer than a reachability pass would.
constexpr std::uint64_t kReachPairsMin = 20;
constexpr std::size_t kReachRoundsMin = 3;
constexpr std::uint32_t kLateMax = 3;

std::vector<std::string> NamesOf(const plan::Plan& plan) {
  std::vector<std::string> names;
  names.reserve(plan.ports.size());
  for (const plan::Port& port : plan.ports) names.push_back(plan::PortName(port.port));
  return names;
}

bool NeedsReachability(const v1::CampaignSpec& spec, const plan::Plan& plan) {
  if (spec.pattern() == v1::CAMPAIGN_PATTERN_LOOPBACK ||
      spec.pattern() == v1::CAMPAIGN_PATTERN_WITHIN_NODE ||
      spec.pattern() == v1::CAMPAIGN_PATTERN_CROSS_RAIL ||
      spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    return false;
  return plan.rounds.pairs() >= kReachPairsMin && plan.rounds.size() >= kReachRoundsMin;
}

// `late`: number of its probes without a result. `left_out`: why it was left out; nullptr: it was
// not.
void AddSilentHost(const std::string& node, std::uint32_t late, const v1::ProbeResult* left_out,
                   v1::BlameReport& report) {
  constexpr std::uint32_t kLateOfOut = 2;
  const bool lost = left_out != nullptr && left_out->status() == v1::PROBE_STATUS_UNREACHABLE;
  v1::Suspect& suspect = *report.add_suspects();
  suspect.set_kind(v1::SUSPECT_KIND_HOST);
  suspect.set_name(node);
  suspect.set_node(node);
  suspect.set_fault(lost ? v1::FAULT_KIND_AGENT_SILENT : v1::FAULT_KIND_HOST_STALLED);
  suspect.set_confidence(1 - 0.1 / std::max(late, kLateOfOut));
  if (late > 0)
    suspect.add_evidence(
        Format("its host did not run, or its agent did not answer, in {} probes", late));
  if (left_out != nullptr) suspect.add_evidence(left_out->reason());
  if (report.state() == v1::BLAME_STATE_HEALTHY ||
      report.state() == v1::BLAME_STATE_INSUFFICIENT_DATA)
    report.set_state(v1::BLAME_STATE_DECIDED);
}

}  // namespace

CampaignWork::CampaignWork(const v1::CampaignSpec& spec, CampaignInputs inputs,
                           std::uint32_t pairs_at_once)
    : plan(std::move(inputs.plan)),
      port_names(NamesOf(plan)),
      quick_probe(Reachability::QuickProbe(spec.probes(0))),
      budget(plan, spec.pairs_at_once(), spec.pairs_per_uplink()),
      traffic_classes(std::move(inputs.classes)),
      expectations(std::move(inputs.expectations)),
      analyzer(std::move(inputs.fabric)),
      settle(inputs.settle),
      coverage(inputs.pairs),
      compared_coverage(inputs.pairs),
      progress(plan.rounds, spec.pairs_at_once() == 0
                                ? pairs_at_once
                                : std::min(pairs_at_once, spec.pairs_at_once())),
      phase(NeedsReachability(spec, plan) ? Phase::kReachability : Phase::kBetweenRounds),
      classes(std::move(inputs.port_classes)),
      explained_(std::move(inputs.explained)) {
  if (traffic_classes.size() > 1) compared = std::make_unique<ResultAnalyzer>(analyzer.fabric());
  if (phase == Phase::kReachability) reachability = Reachability(plan, spec.seed());
  // What most ports have explains no difference between them.
  const auto is_explained = [&](const std::string& port) { return explained_.contains(port); };
  if (3 * std::ranges::count_if(port_names, is_explained) > std::ssize(port_names))
    explained_.clear();
  places_.reserve(plan.ports.size());
  for (const plan::Port& port : plan.ports)
    places_.push_back(blame::Find(analyzer.fabric(), port.port));
}

bool CampaignWork::IsTooLate(const std::string& node) const {
  const auto at = late.find(node);
  return at != late.end() && at->second >= kLateMax;
}

std::vector<std::uint32_t> CampaignWork::Usable() const {
  std::vector<std::uint32_t> usable;
  for (plan::PortIndex port = 0; port < places_.size(); ++port)
    if (places_[port] && !IsTooLate(plan.ports[port].port.node())) usable.push_back(*places_[port]);
  return usable;
}

std::vector<plan::Pair> CampaignWork::PairsOf(
    const std::vector<blame::ProbeRequest>& wanted) const {
  std::map<std::uint32_t, plan::PortIndex> ports;
  for (plan::PortIndex port = 0; port < places_.size(); ++port)
    if (places_[port]) ports.emplace(*places_[port], port);
  std::vector<plan::Pair> pairs;
  for (const blame::ProbeRequest& one : wanted) {
    const auto from = ports.find(one.from);
    const auto to = ports.find(one.to);
    if (from == ports.end() || to == ports.end()) continue;
    if (plan.ports[from->second].network == plan.ports[to->second].network)
      pairs.push_back({from->second, to->second});
  }
  return pairs;
}

bool CampaignWork::IsCompared(const v1::PairResult& result) const {
  return compared != nullptr &&
         result.probe().traffic_class() == traffic_classes.back().traffic_class();
}

// Retransmissions of a lossy port slow down its partners as well.
bool CampaignWork::IsExplained(const v1::PairResult& result) const {
  const v1::Measure measure = MeasureOf(result.probe());
  for (const v1::ProbePort& port : {result.from(), result.to()}) {
    const auto at = explained_.find(PortName(port));
    if (at == explained_.end()) continue;
    const rules::Explained& explained = at->second;
    if (explained.loss || (explained.bandwidth && measure == v1::MEASURE_BANDWIDTH) ||
        (explained.latency && measure == v1::MEASURE_LATENCY))
      return true;
  }
  return false;
}

void CampaignWork::Analyze(v1::PairResult result) {
  // A failure is about the memory of a GPU and its registration, not about a path.
  if (MeasureOf(result.probe()) == v1::MEASURE_GPU_MEMORY) return;
  if (IsExplained(result)) {
    ++explained_count_;
    return;
  }
  if (cross_rail.Take(result, expectations)) return;
  if (IsCompared(result)) {
    compared_coverage.Take(result);
    return compared->Add(std::move(result));
  }
  coverage.Take(result);
  tally.Add(result, expectations);
  analyzer.Add(std::move(result));
}

// Hosts that were late in several probes, or that the reachability pass left out, in addition to
// those that blame names. Their results are too few for blame. With most hosts late, the cause is
// not one of them.
void CampaignWork::AddStalledHosts(v1::BlameReport& report) const {
  std::set<std::string> nodes;
  for (const plan::Port& port : plan.ports) nodes.insert(port.port.node());
  const std::map<std::string, v1::ProbeResult>& out = reachability.NodesOut();
  std::map<std::string, std::uint32_t> times = late;
  for (const auto& [node, result] : out) times.emplace(node, 0);
  if (2 * times.size() > nodes.size()) return;
  for (const auto& [node, count] : times) {
    const auto left_out = out.find(node);
    if (count < kLateMax && left_out == out.end()) continue;
    const std::string& name = node;
    const auto same = [&](const v1::Suspect& one) {
      return one.node() == name && (one.fault() == v1::FAULT_KIND_HOST_STALLED ||
                                    one.fault() == v1::FAULT_KIND_AGENT_SILENT);
    };
    if (std::any_of(report.suspects().begin(), report.suspects().end(), same)) continue;
    AddSilentHost(node, count, left_out == out.end() ? nullptr : &left_out->second, report);
  }
}

void CampaignWork::EndRound() {
  analyzer.EndRound();
  if (compared != nullptr) compared->EndRound();
}

void CampaignWork::Complete(v1::BlameReport& report, std::span<const v1::Finding> findings,
                            std::span<const blame::PortCounters> counters) {
  report.set_observations_explained(explained_count_);
  tally.AddTo(report);
  AddStalledHosts(report);
  if (traffic_classes.empty()) return;
  const v1::BlameReport other = compared == nullptr
                                    ? v1::BlameReport()
                                    : compared->Assess(Usable(), findings, counters).report;
  NameClasses(traffic_classes, other, report);
}

v1::PairResult ResultOf(const plan::PairTask& task, std::uint32_t round, const v1::ProbeSpec& probe,
                        Moment started, Moment ended) {
  v1::PairResult result;
  result.set_round(round);
  *result.mutable_from() = task.from;
  *result.mutable_to() = task.to;
  *result.mutable_probe() = probe;
  *result.mutable_started_at() = ToProto(started.wall);
  *result.mutable_ended_at() = ToProto(ended.wall);
  return result;
}

}  // namespace fabric::control
