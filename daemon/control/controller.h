// Controller: connects agents, fleet, rules, campaigns and the API. It has no thread and no socket:
// callers drive it by On...(), Tick() and Call() and pass the time. Thread-safe: each of them is a
// turn, or several short ones, under one lock (docs/design/turns.md).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/agent_sink.h"
#include "daemon/control/events.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/options.h"
#include "daemon/control/restoring.h"
#include "daemon/control/subnets/subnet_leases.h"
#include "daemon/control/turns.h"
#include "daemon/fleet/sites.h"
#include "daemon/rules/controller/controller_files.h"
#include "daemon/store/buffered_store.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/labels.h"
#include "subnet/wire/snapshot_outline.h"

namespace fabric {
struct Excess;
}  // namespace fabric

namespace fabric::subnet {
struct Evaluation;
}  // namespace fabric::subnet

namespace fabric::control {

class LiveNumbers;
struct Handler;
struct Session;
struct State;

// Known InfiniBand topology.
struct InfinibandState {
  bool known = false;
  WallTime made_at = {};
  std::size_t switches = 0;
  std::size_t ports = 0;  // Adapter ports in the topology file
  fleet::TopologyCoverage cover = {};
};

class Controller {
 public:
  static constexpr Duration kNumbersAge = std::chrono::seconds(1);

  // All are borrowed and must outlive the controller.
  Controller(const ControllerOptions& options, store::Store& store, AgentSink& agents,
             EventBus& events, Moment now);
  ~Controller();

  // Restores nodes (as lost), open findings, campaigns (running ones end as cancelled) and
  // certificates (running ones end as UNKNOWN). Rules
  // are not evaluated until the restored nodes are back, at most for `lost_after`, or 12 ms for
  // each node and 2 minutes: rules that compare nodes need the whole fleet.
  // With kToFollow, nodes have their names and labels only, and nothing ends: for reads of
  // findings, silences, campaigns, certificates, schedules, actions and subnet histories without
  // Tick().
  Status Load(Moment now, Restoring restoring = Restoring::kToLead);

  // Agents. The first message must be Hello. On failure, the caller closes the session with it.
  // A second session of a connected node replaces the first, which is closed. It is refused with
  // ALREADY_EXISTS from another machine, without a machine id, and soon after a replacement.
  // The caller has checked the message against the bounds (proto/wire_check.h).
  Status OnMessage(SessionId session, v1::AgentMessage message, Moment now);
  // The agent exceeded a bound: a finding about its node. Returns the excess and the node, for the
  // log.
  Status OnExcess(SessionId session, const Excess& excess, Moment now);
  void OnGone(SessionId session, const std::string& reason, Moment now);

  // Call about every 100 ms: evaluates rules when something changed, finds lost nodes, times out
  // probes. Time in which it was not called does not count as silence of the agents.
  void Tick(Moment now);

  // One unary rpc of service Fabric; the type of the request names it. Messages and errors are as
  // in fabric.proto: NOT_FOUND for an unknown name or id (with the closest one), INVALID_ARGUMENT
  // for an invalid request, UNIMPLEMENTED without a handler, INTERNAL for a wrong type of response.
  Status Call(const google::protobuf::Message& request, google::protobuf::Message& response,
              Moment now);

  // Replaces the InfiniBand topology and the verdicts on the subnets. Running campaigns keep the
  // topology that they started with.
  // `files`: the subnets that come from files, for the API.
  void SetInfiniband(fleet::InfinibandTopology topology, subnet::Evaluation checks, Moment now,
                     std::vector<subnet::FileSubnet> files = {});
  // Snapshots of subnets that agents sent, to be decoded by the caller; OnSubnetDecoded() takes the
  // result.
  std::vector<SubnetNews> TakeSubnetNews();
  void OnSubnetDecoded(const std::string& subnet, Result<SubnetContent> content, Moment now);
  // Why subnets that agents read before are not read now, by name.
  std::map<std::string, std::string> SubnetProblems();
  InfinibandState Infiniband();
  // Signs certificates from now on.
  void SetSigningKey(SigningKey key);
  // Faults of the files of fabricd, in place of those of the last call.
  void SetFiles(const rules::ControllerFiles& files);

  // Replaces the profile and the custom rules. All rules judge all nodes again, in the next Ticks.
  // Running campaigns and certificates keep their expectations.
  void SetPolicy(Policy policy, Moment now);
  // Of the profile, for the whole fleet: without its overrides.
  v1::Expectations FleetExpectations();

  // Of these nodes, in their order. Empty for a node without labels or an unknown one.
  std::vector<Labels> LabelsOf(const std::vector<std::string>& nodes);

  // Numbers for /metrics. Those of nodes and findings are up to date, the others at most
  // kNumbersAge old. Does not wait for the controller.
  FleetNumbers Numbers() const;
  // Why the store refuses writes; empty: it does not. Does not wait for the controller.
  std::string StoreFailure() const;
  TurnRecorder::Counts Turns() const { return turns_.Read(clock_.Now().steady); }
  store::Condition store_condition();
  // Problems in rule files.
  std::uint32_t RuleProblems() const { return rule_problems_; }

 private:
  Status LoadNodes(Moment now) REQUIRES(mutex_);
  Status LoadNodeNames(Moment now) REQUIRES(mutex_);
  Status Receive(SessionId session, v1::AgentMessage message, Moment now) REQUIRES(mutex_);
  Status OnHello(SessionId session, const v1::Hello& hello, Moment now) REQUIRES(mutex_);
  Status CheckClaim(const Session& older, const v1::Hello& hello, Moment now) REQUIRES(mutex_);
  Status CheckRoom(const std::string& node) REQUIRES(mutex_);
  Status Refuse(SessionId id, Status status) REQUIRES(mutex_);
  v1::Welcome Greet(Session& session, const v1::Hello& hello, Moment now) REQUIRES(mutex_);
  Status OnSnapshot(Session& session, v1::NodeSnapshot snapshot, Moment now) REQUIRES(mutex_);
  Status OnChange(Session& session, v1::SnapshotChange change, Moment now) REQUIRES(mutex_);
  template <class Message>
  Status OnCounters(Session& session, const Message& message, Moment now) REQUIRES(mutex_);
  void AdvanceCounterRates(const std::string& node, Moment now) REQUIRES(mutex_);
  void Resume(Session& session, bool wants_snapshot, Moment now) REQUIRES(mutex_);
  void Lose(const std::string& node, const std::string& reason, Moment now) REQUIRES(mutex_);
  void PublishNode(const std::string& node, Moment now) REQUIRES(mutex_);
  void PublishPorts(const std::vector<v1::PortEvent>& ports, Moment now) REQUIRES(mutex_);
  void OnFleetChange(Moment now) REQUIRES(mutex_);
  void StoreNode(Session& session, Moment now) REQUIRES(mutex_);
  void MarkToBeStored(Session& session) REQUIRES(mutex_);
  void StoreLate(Session& session, Moment now) REQUIRES(mutex_);

  Status CallLong(const Handler& handler, const google::protobuf::Message& request,
                  google::protobuf::Message& response, Moment now) EXCLUDES(mutex_);

  void StartDue(Moment now) EXCLUDES(mutex_);
  void StartMemoryTests(Moment now) EXCLUDES(mutex_);
  void TickSessions(Moment now) REQUIRES(mutex_);
  void TickSession(Session& session, Moment now) REQUIRES(mutex_);
  void MarkOutdated(Moment now) REQUIRES(mutex_);
  void UpdateNumbers(Moment now) REQUIRES(mutex_);

  AgentSink& agents_;
  std::atomic<std::uint32_t> rule_problems_;
  const Clock& clock_;  // Measures turns
  TurnRecorder turns_;
  Mutex long_calls_;  // Before the turns of such a call
  TurnLock mutex_;
  const std::unique_ptr<State> state_ GUARDED_BY(mutex_);
  LiveNumbers& numbers_;  // Of the state; has a lock of its own
  SteadyTime ticked_at_ GUARDED_BY(mutex_);
  std::optional<SteadyTime> numbers_at_ GUARDED_BY(mutex_);
  SteadyTime outdated_at_ GUARDED_BY(mutex_);  // Of the last MarkOutdated that looked
};

}  // namespace fabric::control
