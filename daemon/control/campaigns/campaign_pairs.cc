// The part of Campaigns that runs the probes of each pair.
#include <string>
#include <utility>

#include "daemon/control/campaigns/campaigns.h"

namespace fabric::control {
namespace {

// The node whose host made the probe time out; empty when unknown.
std::string LateNode(const v1::ProbeResult& result) {
  return result.status() == v1::PROBE_STATUS_TIMED_OUT ? result.blamed_node() : "";
}

}  // namespace

// Starts the pair's current probe; when that ends at once, the next one, and so on.
void Campaigns::Begin(Pair pair, Moment now) {
  const ProbeId id(next_probe_++);
  const Campaign& campaign = campaigns_.at(pair.campaign);
  const v1::ProbeSpec& spec =
      pair.round == 0 ? campaign.work->quick_probe : campaign.summary.spec().probes(pair.probe);
  pair.phase = PairPhase::kProbing;
  pair.run = std::make_unique<ProbeRun>(id, pair.task.from, pair.task.to, spec, pair.of_incast);
  const auto at = pairs_.emplace(id, std::move(pair)).first;
  at->second.run->Start(agents_, now);
  Settle(at, now);
}

// Moves the pair on as far as its probe allows: takes the result, releases what the pair no longer
// needs, starts the next probe or erases the pair. Returns the pair after this one; pairs that
// begin meanwhile come later.
Campaigns::PairMap::iterator Campaigns::Settle(PairMap::iterator at, Moment now) {
  Pair& pair = at->second;
  if (pair.run->decided() && pair.phase == PairPhase::kProbing) TakeResult(pair, now);
  if (pair.phase == PairPhase::kRecorded && IsCancelled(pair)) Finish(pair, now);
  if (pair.phase == PairPhase::kWindingUp) Release(pair, now);
  if (!pair.run->over()) return std::next(at);
  if (pair.phase == PairPhase::kWindingUp) {
    ReleaseSlot(pair);
    TakeIncast(pair);
    return pairs_.erase(at);
  }
  Pair continued = std::move(pair);
  const auto next = pairs_.erase(at);
  ++continued.probe;
  Begin(std::move(continued), now);
  return next;
}

void Campaigns::TakeResult(Pair& pair, Moment now) {
  Campaign& campaign = campaigns_.at(pair.campaign);
  CampaignWork& work = *campaign.work;
  const v1::CampaignSpec& spec = campaign.summary.spec();
  pair.phase = PairPhase::kRecorded;
  const bool quick = pair.round == 0;
  v1::PairResult result =
      ResultOf(pair.task, pair.round, quick ? work.quick_probe : spec.probes(pair.probe),
               pair.run->started(), now);
  *result.mutable_result() = pair.run->result();
  if (v1::ProbeExpectation limits = work.expectations.Of(result); limits.ByteSizeLong() > 0)
    *result.mutable_expectation() = std::move(limits);
  v1::PairResult seen = result;
  // Stages follow each other in time, like rounds.
  seen.set_round(work.stage + (quick ? work.rounds_begun : pair.round));
  if (!quick) work.reachability.TakePlanned(pair.ports, result.result());
  if (quick) {
    work.reachability.Take(pair.ports, result.result());
    seen.mutable_result()->clear_latency();  // Too few pings to judge
  }
  // An incast slows down all of its pairs, so their results do not locate a fault.
  const bool counts = !pair.of_incast && result.result().status() != v1::PROBE_STATUS_CANCELLED;
  if (counts) work.Analyze(std::move(seen));
  const std::string late = LateNode(result.result());
  if (!quick) Record(campaign, std::move(result));
  if (!late.empty()) ++work.late[late];
  if (quick || pair.probe + 1 == spec.probes_size()) Finish(pair, now);
}

bool Campaigns::IsCancelled(const Pair& pair) const {
  return campaigns_.at(pair.campaign).summary.state() == v1::CAMPAIGN_STATE_CANCELLED;
}

// Ends the pair. Its remaining probes are recorded as cancelled.
void Campaigns::Finish(Pair& pair, Moment now) {
  Campaign& campaign = campaigns_.at(pair.campaign);
  const v1::CampaignSpec& spec = campaign.summary.spec();
  for (int probe = pair.probe + 1; pair.round != 0 && probe < spec.probes_size(); ++probe) {
    v1::PairResult result = ResultOf(pair.task, pair.round, spec.probes(probe), now, now);
    result.mutable_result()->set_status(v1::PROBE_STATUS_CANCELLED);
    result.mutable_result()->set_reason(std::string(kCancelled));
    Record(campaign, std::move(result));
  }
  if (pair.holds.budget) campaign.work->budget.Give(pair.ports);
  if (pair.round != 0) campaign.work->progress.EndPair();
  --campaign.work->pairs_running;
  pair.phase = PairPhase::kWindingUp;
}

// Frees the ports of the ends that have let go.
void Campaigns::Release(Pair& pair, Moment now) {
  const auto release = [&](bool& holds, const v1::ProbePort& port) {
    if (!std::exchange(holds, false)) return;
    const std::string name = plan::PortName(port);
    if (const auto at = busy_ports_.find(name); --at->second == 0) busy_ports_.erase(at);
    probed_at_[name] = now.steady;
  };
  const bool one_port = pair.ports.from == pair.ports.to;
  if (one_port && !pair.run->over()) return;
  if (!pair.run->initiator_busy()) release(pair.holds.from_port, pair.task.from);
  if (!pair.run->responder_busy()) release(pair.holds.to_port, pair.task.to);
}

void Campaigns::ReleaseSlot(Pair& pair) {
  if (std::exchange(pair.holds.slot, false)) --pairs_counted_;
}

}  // namespace fabric::control
