#include "daemon/control/campaigns/campaigns.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "daemon/control/summaries.h"
#include "daemon/fleet/counter_rates.h"
#include "proto/bounds.h"
#include "proto/coverage.h"
#include "proto/probe_kinds.h"

namespace fabric::control {
namespace {

// Size of a batch of results that is stored at once, before the Tick ends.
constexpr std::size_t kRecordedMax = 1'000;
// Of a read from the store: a campaign can have millions of results.
constexpr std::uint32_t kResultsAtOnce = 1'000;

// Time for which a port's counters may include probe traffic: the current window and the next one,
// which is valid until its own end.
constexpr Duration kProbedLately = 3 * fleet::CounterRates::kWindow;
// Usual time in which agents release a probe. After it, the pair no longer counts against the
// maximum of concurrent pairs.
constexpr Duration kWindUpUsual = std::chrono::milliseconds(500);

constexpr int kEpochShift = 32;  // Probes of one run of the controller
constexpr std::string_view kRestarted = "fabricd was restarted";

void CountResult(v1::Campaign& summary, const v1::PairResult& result) {
  const v1::ProbeStatus status = result.result().status();
  if (status == v1::PROBE_STATUS_OK) {
    summary.set_probes_ok(summary.probes_ok() + 1);
    if (result.result().ping().lost() > 0) summary.set_probes_lossy(summary.probes_lossy() + 1);
    if (result.expectation().missed())
      summary.set_probes_below_expectation(summary.probes_below_expectation() + 1);
  } else if (status == v1::PROBE_STATUS_CANCELLED) {
    summary.set_probes_cancelled(summary.probes_cancelled() + 1);
  } else {
    summary.set_probes_failed(summary.probes_failed() + 1);
  }
}

// Takes the lists out of a summary, and puts them back at its end, also without memory for a copy.
class ListsAside {
 public:
  explicit ListsAside(v1::Campaign& summary) : summary_(summary) {
    lists_.mutable_spec();
    lists_.mutable_blame();
    Swap();
  }
  ~ListsAside() { Swap(); }
  ListsAside(const ListsAside&) = delete;
  ListsAside& operator=(const ListsAside&) = delete;

 private:
  void Swap() {
    summary_.mutable_spec()->mutable_nodes()->Swap(lists_.mutable_spec()->mutable_nodes());
    summary_.mutable_skipped()->Swap(lists_.mutable_skipped());
    summary_.mutable_incasts()->Swap(lists_.mutable_incasts());
    if (summary_.has_blame())
      summary_.mutable_blame()->mutable_not_covered()->Swap(
          lists_.mutable_blame()->mutable_not_covered());
  }

  v1::Campaign& summary_;
  v1::Campaign lists_;
};

// Watchers get numbers: the names of nodes can have megabytes, and events are kept. A copy of the
// lists would take milliseconds.
v1::Campaign WithoutLists(v1::Campaign& summary) {
  v1::Campaign shown;
  {
    const ListsAside aside(summary);
    shown = summary;
  }
  shown.set_nodes_requested(static_cast<std::uint32_t>(summary.spec().nodes_size()));
  return shown;
}

std::string IdOf(std::uint64_t number) {
  return Format("c{}", number);
}

std::optional<std::uint64_t> NumberOf(const std::string& id) {
  if (!id.starts_with('c')) return std::nullopt;
  const auto number = ParseNumber<std::uint64_t>(std::string_view(id).substr(1));
  if (!number.ok() || IdOf(*number) != id) return std::nullopt;
  return *number;
}

}  // namespace

Campaigns::Campaigns(std::uint32_t pairs_at_once_max, Sessions& agents, Outbox& outbox,
                     OpenFindings open_findings, Counters counters, std::uint64_t epoch)
    : pairs_at_once_max_(std::max(pairs_at_once_max, 1u)),
      agents_(agents),
      outbox_(outbox),
      open_findings_(std::move(open_findings)),
      counters_(std::move(counters)),
      // Agents may still answer probes of an earlier run of the controller: start at a new number.
      next_probe_(epoch << kEpochShift) {}

void Campaigns::Restore(const std::vector<v1::Campaign>& newest_first, Moment now,
                        Restoring restoring) {
  for (const v1::Campaign& stored : newest_first) {
    const auto number = NumberOf(stored.id());
    if (!number) continue;
    Campaign& campaign = campaigns_[*number];
    campaign.summary = stored;
    next_campaign_ = std::max(next_campaign_, *number + 1);
    if (stored.state() != v1::CAMPAIGN_STATE_RUNNING && stored.has_ended_at()) continue;
    if (restoring == Restoring::kToFollow) continue;
    CountStored(campaign.summary);
    campaign.summary.set_state(v1::CAMPAIGN_STATE_CANCELLED);
    campaign.summary.set_end_reason(std::string(kRestarted));
    *campaign.summary.add_skipped() = CoverageGapOf(v1::COVERAGE_GAP_REASON_CONTROLLER_RESTARTED,
                                                    "not run: the controller restarted");
    campaign.summary.clear_remaining_seconds();
    *campaign.summary.mutable_ended_at() = ToProto(now.wall);
    Publish(campaign, now);
  }
}

Status Campaigns::CheckRoom(const std::string& author) const {
  if (running_.size() >= Limit("campaigns_running"))
    return ToStatus({.bound = &BoundOf("campaigns_running"), .seen = running_.size() + 1});
  const auto own = static_cast<std::uint64_t>(std::ranges::count_if(
      running_, [&](std::uint64_t one) { return campaigns_.at(one).summary.author() == author; }));
  if (author.empty() || own < Limit("campaigns_of_caller")) return {};
  return ToStatus({.bound = &BoundOf("campaigns_of_caller"), .seen = own + 1}).In(author);
}

// Results are stored more often than the counts of a running campaign.
void Campaigns::CountStored(v1::Campaign& summary) {
  v1::Campaign counted = summary;
  counted.clear_probes_ok();
  counted.clear_probes_lossy();
  counted.clear_probes_below_expectation();
  counted.clear_probes_cancelled();
  counted.clear_probes_failed();
  std::int64_t after = 0;
  while (true) {
    const auto rows = outbox_.store().Results(summary.id(), after, kResultsAtOnce);
    if (!rows.ok()) return;  // The counts of the last round
    for (const store::ResultRow& row : *rows) CountResult(counted, row.result);
    if (rows->size() < kResultsAtOnce) break;
    after = rows->back().sequence;
  }
  summary = std::move(counted);
}

Result<v1::Campaign> Campaigns::Start(const v1::CampaignSpec& spec, CampaignInputs inputs,
                                      Moment now) {
  return Start(spec, std::make_unique<CampaignWork>(spec, std::move(inputs), pairs_at_once_max_),
               {}, now);
}

Result<v1::Campaign> Campaigns::Start(const v1::CampaignSpec& spec,
                                      std::unique_ptr<CampaignWork> work,
                                      const CampaignOrigin& origin, Moment now) {
  Forget();
  const std::uint64_t number = next_campaign_;
  Campaign made;
  v1::Campaign& summary = made.summary;
  summary.set_id(IdOf(number));
  *summary.mutable_spec() = spec;
  summary.set_state(v1::CAMPAIGN_STATE_RUNNING);
  *summary.mutable_started_at() = ToProto(now.wall);
  summary.set_author(origin.author);
  summary.set_schedule(origin.schedule);
  summary.mutable_rechecks()->Assign(origin.rechecks.begin(), origin.rechecks.end());
  summary.mutable_classes()->Assign(work->traffic_classes.begin(), work->traffic_classes.end());
  const plan::Plan& plan = work->plan;
  summary.set_rounds(static_cast<std::uint32_t>(plan.rounds.size()));
  summary.set_probes_planned(static_cast<std::uint32_t>(
      plan.rounds.pairs() * static_cast<std::uint64_t>(spec.probes_size())));
  summary.mutable_skipped()->Assign(plan.skipped.begin(), plan.skipped.end());
  RETURN_IF_ERROR(
      outbox_.store().Durably([&](store::Store& store) { return store.PutCampaign(summary); }));
  ++next_campaign_;
  Campaign& campaign = campaigns_[number] = std::move(made);
  campaign.work = std::move(work);
  running_.insert(number);
  Announce(campaign, now);
  Advance(now);
  return campaign.summary;
}

Result<v1::Campaign> Campaigns::Get(const std::string& id) {
  Keep();
  ASSIGN_OR_RETURN(const std::uint64_t number, Find(id));
  v1::Campaign campaign = campaigns_.at(number).summary;
  campaign.set_results_total(std::uint64_t{campaign.probes_ok()} + campaign.probes_failed() +
                             campaign.probes_cancelled());
  return campaign;
}

Result<std::vector<store::ResultRow>> Campaigns::Results(const std::string& id, std::int64_t after,
                                                         std::uint32_t max) {
  Keep();
  RETURN_IF_ERROR(Find(id).status());
  return outbox_.store().Results(id, after, max);
}

std::vector<v1::Campaign> Campaigns::List(const std::string& before, std::size_t max) {
  Keep();
  std::vector<v1::Campaign> list;
  auto at = campaigns_.rbegin();
  if (const auto number = NumberOf(before))
    at = std::make_reverse_iterator(campaigns_.lower_bound(*number));
  for (; at != campaigns_.rend() && list.size() < max; ++at)
    list.emplace_back(at->second.summary).clear_incasts();  // As large as results
  return list;
}

void Campaigns::AddTo(FleetNumbers& numbers) const {
  for (const auto& [number, campaign] : campaigns_) {
    const v1::Campaign& summary = campaign.summary;
    ++numbers.campaigns[summary.state()];
    numbers.probes_ok += summary.probes_ok();
    numbers.probes_failed += summary.probes_failed();
    numbers.probes_cancelled += summary.probes_cancelled();
    if (!campaign.numbers.empty()) numbers.newest = campaign.numbers;  // In the order of their ids
  }
}

std::string Campaigns::NextId() const {
  return IdOf(next_campaign_);
}

bool Campaigns::Runs(const std::string& id) const {
  const auto number = NumberOf(id);
  return number && running_.contains(*number);
}

std::optional<v1::ProbeSpec> Campaigns::BandwidthProbeOf(const std::string& finding) const {
  for (auto at = campaigns_.rbegin(); at != campaigns_.rend(); ++at) {
    const v1::Campaign& summary = at->second.summary;
    if (std::ranges::find(summary.findings(), finding) == summary.findings().end()) continue;
    for (const v1::ProbeSpec& probe : summary.spec().probes()) {
      const v1::ProbeKindOptions& kind = ProbeOptionsOf(probe);
      if (kind.measure() != v1::MEASURE_BANDWIDTH || kind.incast()) continue;
      v1::ProbeSpec requested = probe;
      requested.clear_traffic_class();
      requested.clear_queue_pair();
      requested.clear_resolved_class();
      return requested;
    }
  }
  return std::nullopt;
}

const v1::Campaign* Campaigns::Summary(const std::string& id) const {
  const auto number = NumberOf(id);
  const auto at = number ? campaigns_.find(*number) : campaigns_.end();
  return at == campaigns_.end() ? nullptr : &at->second.summary;
}

std::optional<v1::Suspect> Campaigns::Suspicious(const std::string& id) const {
  const auto number = NumberOf(id);
  const auto at = number ? campaigns_.find(*number) : campaigns_.end();
  return at == campaigns_.end() ? std::nullopt : at->second.suspicious;
}

std::map<std::string, std::uint32_t> Campaigns::NotJudged(const std::string& id) const {
  const auto number = NumberOf(id);
  const auto at = number ? campaigns_.find(*number) : campaigns_.end();
  if (at == campaigns_.end()) return {};
  return at->second.not_judged;
}

Result<v1::Campaign> Campaigns::Cancel(const std::string& id, Moment now) {
  ASSIGN_OR_RETURN(const std::uint64_t number, Find(id));
  Campaign& campaign = campaigns_.at(number);
  if (campaign.summary.state() == v1::CAMPAIGN_STATE_RUNNING) {
    campaign.summary.set_state(v1::CAMPAIGN_STATE_CANCELLED);
    ForEachPair(now, [&](Pair& pair) {
      if (pair.campaign == number && pair.phase != PairPhase::kWindingUp)
        pair.run->Cancel(std::string(kCancelled), agents_, now);
    });
    Advance(now);
    Keep();
  }
  return campaign.summary;
}

void Campaigns::OnReady(const std::string& node, const v1::ProbeReady& ready, Moment now) {
  const auto at = pairs_.find(ProbeId(ready.probe_id()));
  if (at == pairs_.end()) return;
  const Status attested = attest_ ? attest_(node, ready.endpoint()) : Status();
  if (attested.ok())
    at->second.run->OnReady(node, ready, agents_);
  else
    at->second.run->Reject(node, ready.role(), attested.In(node).message(), agents_, now);
  Settle(at, now);
}

void Campaigns::OnArmed(const std::string& node, const v1::ProbeArmed& armed, Moment now) {
  const auto at = pairs_.find(ProbeId(armed.probe_id()));
  if (at == pairs_.end()) return;
  at->second.run->OnArmed(node, agents_);
  if (at->second.of_incast) OpenGate(at->second.campaign);
  Settle(at, now);
}

void Campaigns::OnOutcome(const std::string& node, const v1::ProbeOutcome& outcome, Moment now) {
  const auto at = pairs_.find(ProbeId(outcome.probe_id()));
  if (at == pairs_.end()) return;
  at->second.run->OnOutcome(node, outcome, agents_, now);
  Settle(at, now);
  Advance(now);
}

void Campaigns::OnLost(const std::string& node, const std::string& reason, Moment now) {
  ForEachPair(now, [&](Pair& pair) { pair.run->OnLost(node, reason, agents_, now); });
  Advance(now);
}

void Campaigns::Tick(Moment now) {
  ForEachPair(now, [&](Pair& pair) {
    pair.run->Tick(agents_, now);
    const bool stuck =
        pair.phase == PairPhase::kWindingUp && now.steady - pair.run->decided_at() >= kWindUpUsual;
    if (stuck) ReleaseSlot(pair);
  });
  Advance(now);
  Keep();
  for (const std::uint64_t number : running_) {
    Campaign& campaign = campaigns_.at(number);
    if (const auto seconds = campaign.work->progress.RemainingSeconds(now))
      campaign.summary.set_remaining_seconds(*seconds);
  }
}

std::set<std::string> Campaigns::ProbedLately(Moment now) {
  std::erase_if(probed_at_, [&](const auto& port) {
    return now.steady - port.second > kProbedLately && !busy_ports_.contains(port.first);
  });
  std::set<std::string> ports;
  for (const auto& [port, pairs] : busy_ports_) ports.insert(port);
  for (const auto& [port, at] : probed_at_) ports.insert(port);
  return ports;
}

Result<std::uint64_t> Campaigns::Find(const std::string& id) const {
  const auto number = NumberOf(id);
  if (number && campaigns_.contains(*number)) return *number;
  std::vector<std::string> ids;
  for (const auto& [known, campaign] : campaigns_) ids.push_back(IdOf(known));
  return NoSuch("campaign", id, ids);
}

// Drops the oldest campaigns that have ended.
void Campaigns::Forget() {
  auto at = campaigns_.begin();
  while (campaigns_.size() >= kKnownMax && at != campaigns_.end())
    at = running_.contains(at->first) ? std::next(at) : campaigns_.erase(at);
}

void Campaigns::Record(Campaign& campaign, v1::PairResult result) {
  if (on_result_) on_result_(campaign.summary.id(), result);
  AddResult(result, campaign.numbers);
  CountResult(campaign.summary, result);
  recorded_.push_back({.campaign = campaign.summary.id(), .result = std::move(result)});
  if (recorded_.size() >= kRecordedMax) Keep();
}

// Stores the recorded results, then publishes them.
void Campaigns::Keep() {
  if (recorded_.empty()) return;
  std::vector<store::CampaignResult> results = std::exchange(recorded_, {});
  outbox_.store().AddPairResults(results);
  for (store::CampaignResult& one : results) {
    const google::protobuf::Timestamp at = one.result.ended_at();
    outbox_.Publish(
        at, [&](v1::Event& event) { *event.mutable_pair_result() = std::move(one.result); });
  }
}

void Campaigns::Publish(Campaign& campaign, Moment now) {
  Keep();
  outbox_.store().PutCampaign(campaign.summary);
  Announce(campaign, now);
}

void Campaigns::Announce(Campaign& campaign, Moment now) {
  outbox_.Publish(
      now, [&](v1::Event& event) { *event.mutable_campaign() = WithoutLists(campaign.summary); });
}

}  // namespace fabric::control
