// The part of Campaigns that starts pairs, leads each through its probes and ends rounds.
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns.h"

namespace fabric::control {
namespace {

// Pairs that end without their agents cost no time of their own: so many of them are recorded in
// one go before others get the controller again. The next Tick goes on.
constexpr int kStepsMax = 1000;

std::string PortKey(const v1::ProbePort& port) {
  return Format("{}/{}/{}", port.node(), port.device(), port.port());
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

}  // namespace

// Starts the pair's current probe; when that ends at once, the next one, and so on.
void Campaigns::Begin(Pair pair, Moment now) {
  const ProbeId id(next_probe_++);
  const v1::CampaignSpec& spec = campaigns_.at(pair.campaign).summary.spec();
  pair.recorded = false;
  pair.run = std::make_unique<ProbeRun>(id, pair.task.from, pair.task.to, spec.probes(pair.probe));
  const auto at = pairs_.emplace(id, std::move(pair)).first;
  at->second.run->Start(agents_, now);
  Settle(at, now);
}

// Records the probe when it is decided. When it is over too, the pair goes on to its next probe or
// ends. Returns the pair after this one; pairs that begin meanwhile come later still.
Campaigns::PairMap::iterator Campaigns::Settle(PairMap::iterator at, Moment now) {
  Pair& pair = at->second;
  Campaign& campaign = campaigns_.at(pair.campaign);
  if (pair.run->decided() && !pair.recorded) {
    v1::PairResult result =
        ResultOf(pair.task, pair.round, campaign.summary.spec().probes(pair.probe),
                 pair.run->started(), now);
    *result.mutable_result() = pair.run->result();
    pair.recorded = true;
    Record(campaign, std::move(result), now);
  }
  if (!pair.run->over()) return std::next(at);
  Pair ended = std::move(pair);
  const auto next = pairs_.erase(at);
  ++ended.probe;
  const bool cancelled = campaign.summary.state() == v1::CAMPAIGN_STATE_CANCELLED;
  if (!cancelled && ended.probe < campaign.summary.spec().probes_size()) {
    Begin(std::move(ended), now);
    return next;
  }
  CancelProbes(campaign, ended.task, ended.probe, now);
  if (ended.holds_ports) {
    busy_ports_.erase(PortKey(ended.task.from));
    busy_ports_.erase(PortKey(ended.task.to));
  }
  --campaign.pairs_running;
  return next;
}

// Records those probes of a pair that will not run, from `first` on.
void Campaigns::CancelProbes(Campaign& campaign, const plan::PairTask& task, int first,
                             Moment now) {
  const auto round = static_cast<std::uint32_t>(campaign.rounds_begun);
  for (int probe = first; probe < campaign.summary.spec().probes_size(); ++probe) {
    v1::PairResult result = ResultOf(task, round, campaign.summary.spec().probes(probe), now, now);
    result.mutable_result()->set_status(v1::PROBE_STATUS_CANCELLED);
    result.mutable_result()->set_reason(std::string(kCancelled));
    Record(campaign, std::move(result), now);
  }
}

// Starts what can be started, one pair of each campaign in turn, until nothing moves.
void Campaigns::Advance(Moment now) {
  int steps = 0;
  bool moved = true;
  while (moved && steps < kStepsMax) {
    moved = false;
    std::vector<std::uint64_t> order(running_.upper_bound(turn_), running_.end());
    order.insert(order.end(), running_.begin(), running_.upper_bound(turn_));
    for (const std::uint64_t number : order) {
      if (!Step(number, campaigns_.at(number), now)) continue;
      moved = true;
      ++steps;
    }
  }
}

// One move of one campaign: ends a round, the campaign, or starts a pair. False: it has to wait.
bool Campaigns::Step(std::uint64_t number, Campaign& campaign, Moment now) {
  if (!campaign.waiting.empty()) return StartOne(number, campaign, now);
  if (campaign.pairs_running > 0) return false;
  if (campaign.rounds_begun < campaign.plan.rounds.size()) {
    const auto& round = campaign.plan.rounds[campaign.rounds_begun++];
    campaign.waiting.assign(round.begin(), round.end());
    // The counts so far: after a crash no more than one round of them is missing.
    outbox_.Stored(outbox_.store().PutCampaign(campaign.summary));
    return true;
  }
  if (campaign.summary.state() == v1::CAMPAIGN_STATE_RUNNING)
    campaign.summary.set_state(v1::CAMPAIGN_STATE_DONE);
  *campaign.summary.mutable_ended_at() = ToProto(now.wall);
  campaign.plan = {};
  running_.erase(number);
  Publish(campaign, now);
  return true;
}

bool Campaigns::StartOne(std::uint64_t number, Campaign& campaign, Moment now) {
  if (campaign.summary.state() == v1::CAMPAIGN_STATE_CANCELLED) {
    CancelProbes(campaign, campaign.waiting.front(), 0, now);
    campaign.waiting.pop_front();
    return true;
  }
  if (pairs_.size() >= pairs_at_once_max_) return false;
  for (auto at = campaign.waiting.begin(); at != campaign.waiting.end(); ++at) {
    const std::string from = PortKey(at->from);
    const std::string to = PortKey(at->to);
    // A pair with a dead end needs no port: it fails at once.
    const bool alive = agents_.Usable(at->from.node()) && agents_.Usable(at->to.node());
    if (alive && (busy_ports_.contains(from) || busy_ports_.contains(to))) continue;
    if (alive) busy_ports_.insert({from, to});
    Pair pair{.campaign = number,
              .task = std::move(*at),
              .round = static_cast<std::uint32_t>(campaign.rounds_begun),
              .holds_ports = alive};
    campaign.waiting.erase(at);
    ++campaign.pairs_running;
    turn_ = number;
    Begin(std::move(pair), now);
    return true;
  }
  return false;
}

}  // namespace fabric::control
