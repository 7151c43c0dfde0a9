// Campaigns: executes plans round by round, several at a time. Each started probe gets exactly one
// result, even if its agents fail, and no port is in two probes at once.
//
// Results are written to the store in batches: once per Tick, at the end of a round, and before
// they are published.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "daemon/control/background.h"
#include "daemon/control/campaigns/campaign_work.h"
#include "daemon/control/campaigns/port_counters.h"
#include "daemon/control/campaigns/probe_run.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/outbox.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/restoring.h"
#include "daemon/control/sessions.h"
#include "daemon/store/store.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// Why a campaign starts.
struct CampaignOrigin {
  std::string author = {};                 // Of the request; empty: not known
  std::string schedule = {};               // Id
  std::vector<std::string> rechecks = {};  // Ids of findings
};

class Campaigns {
 public:
  // Number of campaigns that are kept, here and in the store.
  static constexpr std::uint32_t kKnownMax = 1000;

  // Adds the next open findings behind the id `after`, which support suspects: their id and
  // subject. False: these were the last.
  using OpenFindings = std::function<bool(std::string& after, std::vector<v1::Finding>& findings)>;
  // Reads the next recent counter changes of these ports, which support or weaken suspects.
  using Counters = std::function<void(const blame::Fabric&, CounterReader&)>;

  Campaigns(std::uint32_t pairs_at_once_max, Sessions& agents, Outbox& outbox,
            OpenFindings open_findings, Counters counters, std::uint64_t epoch);

  // Where the results of large campaigns are judged. nullptr: within the call.
  void JudgeIn(Background* background) { background_ = background; }

  // Waits for the judgements that run.
  ~Campaigns();
  Campaigns(const Campaigns&) = delete;
  Campaigns& operator=(const Campaigns&) = delete;

  // Called with each recorded result, in order, and the id of its campaign.
  using OnResult = std::function<void(const std::string& id, const v1::PairResult& result)>;
  void Listen(OnResult on_result) { on_result_ = std::move(on_result); }

  // Checks the endpoint of a node before its partner uses it. Without it, all are used.
  using Attest = std::function<Status(const std::string& node, const v1::ProbeEndpoint& endpoint)>;
  void AttestWith(Attest attest) { attest_ = std::move(attest); }

  // From the store, newest first. Campaigns that were running are cancelled, with the counts of
  // their stored results.
  void Restore(const std::vector<v1::Campaign>& newest_first, Moment now,
               Restoring restoring = Restoring::kToLead);

  // RESOURCE_EXHAUSTED while the maximum number of campaigns runs, in all or of this author. Empty:
  // only the first.
  Status CheckRoom(const std::string& author) const;
  // Called with the result of each campaign that locates faults, when it ends.
  using OnLocated =
      std::function<std::vector<std::string>(const LocatedFaults::Result& result, Moment now)>;
  void ListenLocated(OnLocated on_located) { on_located_ = std::move(on_located); }

  // `spec` is complete (see probe_check.h). UNAVAILABLE when it cannot be stored.
  Result<v1::Campaign> Start(const v1::CampaignSpec& spec, CampaignInputs inputs, Moment now);
  // The same with the work of this spec.
  Result<v1::Campaign> Start(const v1::CampaignSpec& spec, std::unique_ptr<CampaignWork> work,
                             const CampaignOrigin& origin, Moment now);
  Result<v1::Campaign> Get(const std::string& id);  // Without results
  // The same without a copy and with the counts of its last round. nullptr: unknown
  const v1::Campaign* Summary(const std::string& id) const;
  // Results in the order in which the probes ended, behind this position.
  Result<std::vector<store::ResultRow>> Results(const std::string& id, std::int64_t after,
                                                std::uint32_t max);
  // Newest first, without results: those older than the campaign `before` (empty: all).
  std::vector<v1::Campaign> List(const std::string& before, std::size_t max);
  void AddTo(FleetNumbers& numbers) const;
  std::string NextId() const;  // Of the next campaign to start
  bool Runs(const std::string& id) const;
  // The bandwidth probe of the newest campaign with this finding, as requested, without the class
  // of traffic. Absent: no campaign that is still known has the finding and such a probe.
  std::optional<v1::ProbeSpec> BandwidthProbeOf(const std::string& finding) const;
  // The part of the fabric that is suspicious in blame's last report, but not a suspect. Empty:
  // none, or the campaign is from an earlier run of the controller.
  std::optional<v1::Suspect> Suspicious(const std::string& id) const;
  // Number of results without an absolute limit, by reason; empty if it ran before a restart.
  std::map<std::string, std::uint32_t> NotJudged(const std::string& id) const;
  // Stops running probes and records them as cancelled; counts the others. Idempotent.
  Result<v1::Campaign> Cancel(const std::string& id, Moment now);

  // Ports, by name, whose counters may include recent probe traffic.
  std::set<std::string> ProbedLately(Moment now);

  // Messages of agents. Messages about unknown probes or probes of other nodes are ignored.
  void OnReady(const std::string& node, const v1::ProbeReady& ready, Moment now);
  void OnArmed(const std::string& node, const v1::ProbeArmed& armed, Moment now);
  void OnOutcome(const std::string& node, const v1::ProbeOutcome& outcome, Moment now);
  void OnLost(const std::string& node, const std::string& reason, Moment now);
  void Tick(Moment now);
  // More of what the last call left, some steps at a time. False: nothing is left.
  bool Continue(Moment now);

 private:
  struct Campaign {
    v1::Campaign summary;                        // Without results
    std::unique_ptr<CampaignWork> work;          // While it runs
    std::optional<v1::Suspect> suspicious = {};  // Not confirmed
    std::map<std::string, std::uint32_t> not_judged = {};
    CampaignNumbers numbers = {};
  };
  // A pair and its current probe.
  //
  //              result               last probe, or the campaign is cancelled
  //   kProbing ─────────► kRecorded ───────────────────────────► kWindingUp
  //      ▲                    │ both ends have let go                 │ both ends have let go
  //      └──── next probe ────┘                                       ▼ erased
  enum class PairPhase {
    kProbing,    // The probe has no result yet.
    kRecorded,   // It has; its ends may still use their ports.
    kWindingUp,  // The campaign does not wait for the pair.
  };
  // What the pair occupies. Each is released on its own.
  struct Holds {
    bool from_port = false, to_port = false;  // Exclusive use of the port
    bool budget = false;                      // Of the campaign
    bool slot = false;                        // Of pairs_at_once_max
  };
  struct Pair {
    std::uint64_t campaign;
    plan::Pair ports;
    plan::PairTask task;
    std::uint32_t round;  // From 1; 0: a quick probe
    Holds holds = {};
    bool of_incast = false;  // Starts together with the others of its round
    int probe = 0;           // Index in the campaign's probes
    PairPhase phase = PairPhase::kProbing;
    std::unique_ptr<ProbeRun> run = nullptr;
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
  void TakeResult(Pair& pair, Moment now);
  bool IsCancelled(const Pair& pair) const;
  void Finish(Pair& pair, Moment now);
  void Release(Pair& pair, Moment now);
  void ReleaseSlot(Pair& pair);

  void Advance(Moment now);
  int Step(std::uint64_t number, Campaign& campaign, Moment now);
  void NextRound(Campaign& campaign, Moment now);
  static void BeginQuick(CampaignWork& work, const std::vector<plan::Pair>& pairs);
  void BeginRound(Campaign& campaign, std::vector<plan::Pair> pairs, bool planned, Moment now);
  void BeginAdditional(Campaign& campaign, std::vector<plan::Pair> wanted, Moment now);
  static bool NeedsCounters(CampaignWork& work, const v1::CampaignSpec& spec);
  void Ask(CampaignWork& work, std::packaged_task<blame::Assessment()> question);
  void AskForEnd(CampaignWork& work);
  bool Judge(Campaign& campaign, std::vector<plan::Pair>& next, Moment now);
  static void BeginEnd(Campaign& campaign);
  void ContinueEnd(std::uint64_t number, Campaign& campaign, Moment now);
  void End(std::uint64_t number, Campaign& campaign, Moment now);
  void Locate(Campaign& campaign, Moment now);
  bool StartOne(std::uint64_t number, Campaign& campaign, Moment now);
  bool StartTogether(std::uint64_t number, Campaign& campaign, Moment now);
  void OpenGate(std::uint64_t number);
  void TakeIncast(const Pair& pair);
  bool LeaveOut(Campaign& campaign, const plan::Pair& pair, Moment now);
  void Record(Campaign& campaign, v1::PairResult result);
  void Keep();
  void Publish(Campaign& campaign, Moment now);
  void Announce(Campaign& campaign, Moment now);
  void CountStored(v1::Campaign& summary);

  static constexpr std::string_view kCancelled = "the campaign was cancelled";

  const std::uint32_t pairs_at_once_max_;
  Sessions& agents_;
  Outbox& outbox_;
  const OpenFindings open_findings_;
  OnResult on_result_;
  Attest attest_;
  OnLocated on_located_;
  const Counters counters_;
  Background* background_ = nullptr;
  std::map<std::uint64_t, Campaign> campaigns_;  // By the number in their id
  std::set<std::uint64_t> running_;              // Those of them that have not ended
  PairMap pairs_;
  std::uint32_t pairs_counted_ = 0;
  std::vector<store::CampaignResult> recorded_;      // Not in the store yet
  std::map<std::string, std::uint32_t> busy_ports_;  // Number of pairs
  std::map<std::string, SteadyTime> probed_at_;      // Ports
  std::uint64_t next_campaign_ = 1;
  std::uint64_t next_probe_;
  bool unfinished_ = false;  // The last Advance() stopped at its number of steps.
  std::uint64_t turn_ = 0;   // The campaign that moved last; the next one is first.
};

}  // namespace fabric::control
