#include "daemon/control/campaigns/campaign_work.h"

#include <algorithm>
#include <map>
#include <utility>

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
      spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    return false;
  return plan.rounds.pairs() >= kReachPairsMin && plan.rounds.size() >= kReachRoundsMin;
}

}  // namespace

CampaignWork::CampaignWork(const v1::CampaignSpec& spec, plan::Plan made, blame::Fabric fabric,
                           std::uint32_t pairs_at_once)
    : plan(std::move(made)),
      port_names(NamesOf(plan)),
      quick_probe(Reachability::QuickProbe(spec.probes(0))),
      budget(plan, spec.pairs_at_once(), spec.pairs_per_uplink()),
      analyzer(std::move(fabric)),
      progress(plan.rounds, spec.pairs_at_once() == 0
                                ? pairs_at_once
                                : std::min(pairs_at_once, spec.pairs_at_once())),
      phase(NeedsReachability(spec, plan) ? Phase::kReachability : Phase::kBetweenRounds) {
  if (phase == Phase::kReachability) reachability = Reachability(plan, spec.seed());
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
