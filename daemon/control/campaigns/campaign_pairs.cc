// The part of Campaigns that leads each pair through its probes.
#include <string>
#include <utility>

#include "daemon/control/campaigns/campaigns.h"

namespace fabric::control {
namespace {

// The node for whose host the probe was not done in time; nothing where that is not known.
std::string WhoWasLate(const v1::ProbeResult& result) {
  return result.status() == v1::PROBE_STATUS_TIMED_OUT ? result.blamed_node() : "";
}

}  // namespace

// Starts the pair's current probe; when that ends at once, the next one, and so on.
void Campaigns::Begin(Pair pair, Moment now) {
  const ProbeId id(next_probe_++);
  const Campaign& campaign = campaigns_.at(pair.campaign);
  const v1::ProbeSpec& spec =
      pair.round == 0 ? campaign.work->quick_probe : campaign.summary.spec().probes(pair.probe);
  pair.recorded = false;
  pair.run = std::make_unique<ProbeRun>(id, pair.task.from, pair.task.to, spec, pair.of_incast);
  const auto at = pairs_.emplace(id, std::move(pair)).first;
  at->second.run->Start(agents_, now);
  Settle(at, now);
}

// Takes the probe's result when it is decided, and lets go of what the pair does not need any
// more. When the probe is over too, the pair goes on to its next one or is forgotten. Returns the
// pair after this one; pairs that begin meanwhile come later still.
Campaigns::PairMap::iterator Campaigns::Settle(PairMap::iterator at, Moment now) {
  Pair& pair = at->second;
  if (pair.run->decided() && !pair.recorded) TakeResult(pair, now);
  if (pair.recorded && !pair.settled && IsCancelled(pair)) Finish(pair, now);
  if (pair.settled) Release(pair, now);
  if (!pair.run->over()) return std::next(at);
  if (pair.settled) {
    Uncount(pair);
    TakeIncast(pair);
    return pairs_.erase(at);
  }
  Pair goes_on = std::move(pair);
  const auto next = pairs_.erase(at);
  ++goes_on.probe;
  Begin(std::move(goes_on), now);
  return next;
}

void Campaigns::TakeResult(Pair& pair, Moment now) {
  Campaign& campaign = campaigns_.at(pair.campaign);
  CampaignWork& work = *campaign.work;
  const v1::CampaignSpec& spec = campaign.summary.spec();
  pair.recorded = true;
  const bool quick = pair.round == 0;
  v1::PairResult result =
      ResultOf(pair.task, pair.round, quick ? work.quick_probe : spec.probes(pair.probe),
               pair.run->started(), now);
  *result.mutable_result() = pair.run->result();
  v1::PairResult seen = result;
  // Stages are apart in time as rounds are.
  seen.set_round(work.stage + (quick ? work.rounds_begun : pair.round));
  if (!quick) work.reachability.TakePlanned(pair.ports, result.result());
  if (quick) {
    work.reachability.Take(pair.ports, result.result());
    seen.mutable_result()->clear_latency();  // Of so few pings it says nothing.
  }
  // Under an incast everybody is slow, and what fails may fail for that.
  const bool tells = !pair.of_incast && result.result().status() != v1::PROBE_STATUS_CANCELLED;
  if (tells) work.analyzer.Add(std::move(seen));
  const std::string late = WhoWasLate(result.result());
  if (!quick) Record(campaign, std::move(result));
  if (!late.empty()) ++work.late[late];
  if (quick || pair.probe + 1 == spec.probes_size()) Finish(pair, now);
}

bool Campaigns::IsCancelled(const Pair& pair) const {
  return campaigns_.at(pair.campaign).summary.state() == v1::CAMPAIGN_STATE_CANCELLED;
}

// Nothing more comes of the pair. Those of its probes that will not run are recorded.
void Campaigns::Finish(Pair& pair, Moment now) {
  Campaign& campaign = campaigns_.at(pair.campaign);
  const v1::CampaignSpec& spec = campaign.summary.spec();
  for (int probe = pair.probe + 1; pair.round != 0 && probe < spec.probes_size(); ++probe) {
    v1::PairResult result = ResultOf(pair.task, pair.round, spec.probes(probe), now, now);
    result.mutable_result()->set_status(v1::PROBE_STATUS_CANCELLED);
    result.mutable_result()->set_reason(std::string(kCancelled));
    Record(campaign, std::move(result));
  }
  if (pair.budgeted) campaign.work->budget.Give(pair.ports);
  if (pair.round != 0) campaign.work->progress.EndPair();
  --campaign.work->pairs_running;
  pair.settled = true;
}

// Frees the ports whose ends have let go.
void Campaigns::Release(Pair& pair, Moment now) {
  const auto release = [&](bool& holds, const v1::ProbePort& port) {
    if (!std::exchange(holds, false)) return;
    const std::string name = plan::PortName(port);
    if (const auto at = busy_ports_.find(name); --at->second == 0) busy_ports_.erase(at);
    probed_at_[name] = now.steady;
  };
  const bool one_port = pair.ports.from == pair.ports.to;
  if (one_port && !pair.run->over()) return;
  if (!pair.run->initiator_busy()) release(pair.holds_from, pair.task.from);
  if (!pair.run->responder_busy()) release(pair.holds_to, pair.task.to);
}

void Campaigns::Uncount(Pair& pair) {
  if (std::exchange(pair.counted, false)) --pairs_counted_;
}

}  // namespace fabric::control
