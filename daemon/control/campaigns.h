// Campaigns: plans carried out round by round, several at a time. Every planned probe gets one
// result whatever happens to its agents, and no port is in two probes at once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "daemon/control/outbox.h"
#include "daemon/control/probe_run.h"
#include "daemon/control/sessions.h"
#include "daemon/plan/plan.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class Campaigns {
 public:
  // As many campaigns are known; the store keeps the same number.
  static constexpr std::uint32_t kKnownMax = 1000;

  Campaigns(std::uint32_t pairs_at_once_max, Sessions& agents, Outbox& outbox, Moment now);

  // From the store, newest first. Those that were running have ended with the controller.
  void Restore(const std::vector<v1::Campaign>& newest_first, Moment now);

  // `spec` is complete (see probe_check.h) and `plan` was made of it.
  v1::Campaign Start(const v1::CampaignSpec& spec, plan::Plan plan, Moment now);
  Result<v1::Campaign> Get(const std::string& id, bool with_results);
  std::vector<v1::Campaign> List() const;  // Newest first, bare
  // What runs is stopped; what has not run is recorded as cancelled. Idempotent.
  Result<v1::Campaign> Cancel(const std::string& id, Moment now);

  // What agents say; about probes that are not theirs or not known any more: ignored.
  void OnReady(const std::string& node, const v1::ProbeReady& ready, Moment now);
  void OnArmed(const std::string& node, const v1::ProbeArmed& armed, Moment now);
  void OnOutcome(const std::string& node, const v1::ProbeOutcome& outcome, Moment now);
  void OnLost(const std::string& node, const std::string& reason, Moment now);
  void Tick(Moment now);

 private:
  struct Campaign {
    v1::Campaign summary;                 // Without results
    std::vector<v1::PairResult> unsaved;  // Results that the store did not take
    // While it runs:
    plan::Plan plan;
    std::size_t rounds_begun = 0;
    std::deque<plan::PairTask> waiting;  // Of the current round
    std::uint32_t pairs_running = 0;
  };
  // A pair that holds its ports, with the probe that it is at.
  struct Pair {
    std::uint64_t campaign;
    plan::PairTask task;
    std::uint32_t round;  // From 1
    bool holds_ports;
    int probe = 0;  // Index in the campaign's probes
    bool recorded = false;
    std::unique_ptr<ProbeRun> run;
  };
  using PairMap = std::map<ProbeId, Pair>;

  Result<std::uint64_t> Find(const std::string& id) const;
  void Forget();
  void Begin(Pair pair, Moment now);
  PairMap::iterator Settle(PairMap::iterator at, Moment now);
  template <class Act>
  void ForEachPair(Moment now, Act act) {
    for (auto at = pairs_.begin(); at != pairs_.end(); at = Settle(at, now)) act(at->second);
  }
  void Advance(Moment now);
  bool Step(std::uint64_t number, Campaign& campaign, Moment now);
  bool StartOne(std::uint64_t number, Campaign& campaign, Moment now);
  void CancelProbes(Campaign& campaign, const plan::PairTask& task, int first, Moment now);
  void Record(Campaign& campaign, v1::PairResult result, Moment now);
  void Publish(const Campaign& campaign, Moment now);

  static constexpr std::string_view kCancelled = "the campaign was cancelled";

  const std::uint32_t pairs_at_once_max_;
  Sessions& agents_;
  Outbox& outbox_;
  std::map<std::uint64_t, Campaign> campaigns_;  // By the number in their id
  std::set<std::uint64_t> running_;              // Those of them that have not ended
  PairMap pairs_;
  std::set<std::string> busy_ports_;
  std::uint64_t next_campaign_ = 1;
  std::uint64_t next_probe_;
  std::uint64_t turn_ = 0;  // The campaign that started a pair last; the next one goes first.
};

}  // namespace fabric::control
