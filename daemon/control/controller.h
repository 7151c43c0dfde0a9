// The controller: takes what agents say, keeps the fleet, judges it, runs campaigns and answers the
// API. Driven from outside by On...(), Tick() and the query functions, each given the time; it has
// no thread and no socket of its own.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/agent_sink.h"
#include "daemon/control/certificates/certificate_options.h"
#include "daemon/control/events.h"
#include "daemon/control/findings/lifecycle.h"
#include "daemon/control/mesh/mesh_settings.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/engine/engine.h"
#include "daemon/store/store.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

class Campaigns;
class Certificates;
class NodeHistory;
class FindingRegistry;
class Mesh;
class Outbox;
class Sessions;
struct Session;

// Rules of operators.
struct CustomRules {
  std::vector<rules::NodeRule> rules = {};
  std::vector<v1::RuleInfo> infos = {};  // One for each
  std::uint32_t problems = 0;            // Of their files
};

struct ControllerOptions {
  Duration heartbeat_interval = std::chrono::seconds(1);
  Duration lost_after = std::chrono::seconds(3);  // Without any message from the agent.
  std::uint32_t pairs_at_once_max = 64;           // Of all campaigns together.
  profile::Profile profile = {};                  // What is expected of the fabric
  fleet::Sites sites = {};                        // Where its ports are
  LifecycleOptions lifecycle = {};                // Of findings
  // Settings that were told longer ago are not judged. Agents tell them at least once a minute.
  Duration settings_age_max = std::chrono::minutes(5);
  CustomRules custom_rules = {};
  CertificateOptions certificates = {};
  MeshSettings mesh = {};
};

// What is known of the InfiniBand topology.
struct InfinibandState {
  bool known = false;
  WallTime made_at = {};
  std::size_t switches = 0;
  std::size_t ports = 0;  // Of adapters, in the file
  fleet::TopologyCover cover = {};
};

// Safe to call from any thread: one lock around everything.
class Controller {
 public:
  // All are borrowed and must outlive the controller.
  Controller(const ControllerOptions& options, store::Store& store, AgentSink& agents,
             EventBus& events, Moment now);
  ~Controller();

  // Restores nodes (as lost), open findings and campaigns (running ones end as cancelled). Rules
  // are not evaluated until the restored nodes are back, `lost_after` at most: half a fleet is no
  // ground for judging the other half.
  Status Load(Moment now);

  // Agents. OnMessage's first one must be Hello; a failure means: close the session with it.
  // A second session of a node that is connected replaces the first, which is closed; when it comes
  // from another machine, it is refused with ALREADY_EXISTS.
  Status OnMessage(SessionId session, const v1::AgentMessage& message, Moment now);
  void OnGone(SessionId session, const std::string& reason, Moment now);

  // Every 100 ms or so: evaluates rules when something changed, finds lost nodes, times out probes.
  // Time in which it was not called does not count as silence of the agents.
  void Tick(Moment now);

  // The API; shapes and errors as in fabric.proto. Codes: NOT_FOUND for an unknown name or id (with
  // "did you mean" when one is close), INVALID_ARGUMENT for what cannot be meant.
  Status GetVersion(const v1::GetVersionRequest&, v1::GetVersionResponse&);
  Status ListNodes(const v1::ListNodesRequest&, v1::ListNodesResponse&);
  Status GetNode(const v1::GetNodeRequest&, v1::GetNodeResponse&);
  Status ListDevices(const v1::ListDevicesRequest&, v1::ListDevicesResponse&);
  Status ListFindings(const v1::ListFindingsRequest&, v1::ListFindingsResponse&);
  Status GetFinding(const v1::GetFindingRequest&, v1::GetFindingResponse&);
  Status AcknowledgeFinding(const v1::AcknowledgeFindingRequest&, v1::Finding&, Moment now);
  Status CreateSilence(const v1::CreateSilenceRequest&, v1::Silence&, Moment now);
  Status ListSilences(const v1::ListSilencesRequest&, v1::ListSilencesResponse&);
  Status DeleteSilence(const v1::DeleteSilenceRequest&, v1::Silence&, Moment now);
  Status ListRules(const v1::ListRulesRequest&, v1::ListRulesResponse&);
  Status Validate(const v1::ValidateRequest&, v1::ValidateResponse&, Moment now);
  Status DiffNode(const v1::DiffNodeRequest&, v1::DiffNodeResponse&, Moment now);
  Status InferProfile(const v1::InferProfileRequest&, v1::InferProfileResponse&);
  Status StartCampaign(const v1::StartCampaignRequest&, v1::Campaign&, Moment now);
  Status GetCampaign(const v1::GetCampaignRequest&, v1::Campaign&);
  Status ListCampaigns(const v1::ListCampaignsRequest&, v1::ListCampaignsResponse&);
  Status CancelCampaign(const v1::CancelCampaignRequest&, v1::Campaign&, Moment now);
  Status GetMesh(const v1::GetMeshRequest&, v1::MeshStatus&);

  // Where InfiniBand ports are from now on; campaigns that run go on with what they began with.
  void SetInfiniband(fleet::InfinibandTopology topology, Moment now);
  InfinibandState Infiniband();

  Status StartCertificate(const v1::StartCertificateRequest&, v1::Certificate&, Moment now);
  Status GetCertificate(const v1::GetCertificateRequest&, v1::GetCertificateResponse&);

  // Store writes that failed since the start; the last failure is in `last`. For metrics and
  // health.
  std::uint64_t StoreFailures(Status* last);
  // Problems in files of operators' rules.
  std::uint32_t RuleProblems() const { return options_.custom_rules.problems; }

 private:
  Status OnHello(SessionId session, const v1::Hello& hello, Moment now) REQUIRES(mutex_);
  Status OnSnapshot(Session& session, v1::NodeSnapshot snapshot, Moment now) REQUIRES(mutex_);
  Status OnChange(Session& session, v1::SnapshotChange change, Moment now) REQUIRES(mutex_);
  template <class Message>
  Status OnCounters(Session& session, const Message& message, Moment now) REQUIRES(mutex_);
  void AdvanceCounterRates(const std::string& node, Moment now) REQUIRES(mutex_);
  void AskForSnapshot(Session& session) REQUIRES(mutex_);
  void Wake(Session& session, bool wants_snapshot, Moment now) REQUIRES(mutex_);
  void Lose(const std::string& node, const std::string& reason, Moment now) REQUIRES(mutex_);
  void PublishNode(const std::string& node, Moment now) REQUIRES(mutex_);
  // Ports, settings or the topology are not what they were.
  void OnFleetChange(Moment now) REQUIRES(mutex_);
  void PublishPorts(const std::vector<v1::PortEvent>& ports, Moment now) REQUIRES(mutex_);
  void StoreNode(Session& session, Moment now) REQUIRES(mutex_);
  void UpdateEngine() REQUIRES(mutex_);
  void EvaluateRules(Moment now) REQUIRES(mutex_);
  bool Settled(Moment now) const REQUIRES(mutex_);
  Status CheckNode(const std::string& name) const REQUIRES(mutex_);
  Status CheckRule(const std::string& id) const REQUIRES(mutex_);
  v1::Finding Shown(v1::Finding finding) const REQUIRES(mutex_);

  const ControllerOptions options_;
  AgentSink& agents_;
  const Moment started_;

  Mutex mutex_;
  fleet::Fleet fleet_ GUARDED_BY(mutex_);
  fleet::Sites sites_ GUARDED_BY(mutex_);
  std::optional<fleet::TopologyCover> cover_ GUARDED_BY(mutex_);  // Counted when asked for
  std::unique_ptr<Outbox> outbox_ GUARDED_BY(mutex_);
  std::unique_ptr<Sessions> sessions_ GUARDED_BY(mutex_);
  std::unique_ptr<NodeHistory> history_ GUARDED_BY(mutex_);
  std::unique_ptr<FindingRegistry> findings_ GUARDED_BY(mutex_);
  std::unique_ptr<Campaigns> campaigns_ GUARDED_BY(mutex_);
  std::unique_ptr<Certificates> certificates_ GUARDED_BY(mutex_);
  std::unique_ptr<Mesh> mesh_ GUARDED_BY(mutex_);
  std::set<std::string> awaited_ GUARDED_BY(mutex_);  // Restored and not back yet
  SteadyTime awaited_until_ GUARDED_BY(mutex_);
  rules::Engine engine_ GUARDED_BY(mutex_);
  std::set<std::string> dirty_ GUARDED_BY(mutex_);  // Nodes that the engine has yet to be told of
  SteadyTime evaluated_at_ GUARDED_BY(mutex_);
  SteadyTime ticked_at_ GUARDED_BY(mutex_);
};

}  // namespace fabric::control
