#include "daemon/control/controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/campaigns/port_counters.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/mesh/mesh.h"
#include "daemon/control/node_history.h"
#include "daemon/control/outbox.h"
#include "daemon/control/sessions.h"
#include "daemon/control/summaries.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEvaluateEvery = 200ms;
// Ticks come every 100 ms. One that is so late means that the controller itself stood still, as a
// suspended or starved machine does: nobody could be heard, and that is no silence of the agents.
constexpr Duration kTickLate = 1s;
// Settings are stored when they change. Counters change all the time and are only nice to have.
// A snapshot has up to 300 kB.
constexpr Duration kStoreCountersEvery = 15min;

// Agents' clocks may say anything; beyond this range nanoseconds do not fit.
constexpr std::int64_t kSecondsMax = 9'000'000'000;

void CheckTakenAt(google::protobuf::Timestamp& at, Moment now) {
  const bool sound = at.seconds() >= 0 && at.seconds() <= kSecondsMax && at.nanos() >= 0 &&
                     at.nanos() <= 999'999'999;
  if (!sound) at = ToProto(now.wall);
}

bool ChangesSettings(const v1::SnapshotChange& change) {
  return change.rdma_devices_size() > 0 || change.removed_rdma_devices_size() > 0 ||
         change.net_interfaces_size() > 0 || change.removed_net_interfaces_size() > 0 ||
         change.fields_size() > 0;
}

}  // namespace

Controller::Controller(const ControllerOptions& options, store::Store& store, AgentSink& agents,
                       EventBus& events, Moment now)
    : options_(options),
      agents_(agents),
      started_(now),
      sites_(options.sites),
      outbox_(std::make_unique<Outbox>(store, events)),
      sessions_(std::make_unique<Sessions>(agents)),
      history_(std::make_unique<NodeHistory>(*outbox_)),
      findings_(std::make_unique<FindingRegistry>(*outbox_, options.lifecycle)),
      campaigns_(std::make_unique<Campaigns>(
          options.pairs_at_once_max, *sessions_, *outbox_,
          [book = findings_.get()] { return book->Failing(); },
          [fleet = &fleet_](const blame::Fabric& fabric) { return CountersOf(*fleet, fabric); },
          now)),
      certificates_(std::make_unique<Certificates>(options.certificates,
                                                   CertificateSources{.fleet = fleet_,
                                                                      .profile = options_.profile,
                                                                      .sites = sites_,
                                                                      .findings = *findings_,
                                                                      .campaigns = *campaigns_},
                                                   options.pairs_at_once_max, now)),
      mesh_(std::make_unique<Mesh>(
          options.mesh, sites_, options.lost_after, *sessions_,
          [book = findings_.get()] { return book->Failing(); }, now)),
      awaited_until_(now.steady),
      engine_(options.profile),
      evaluated_at_(now.steady - kEvaluateEvery),
      ticked_at_(now.steady) {
  for (const rules::NodeRule& rule : options.custom_rules.rules) engine_.AddNodeRule(rule);
  campaigns_->Listen(
      [all = certificates_.get()](const std::string& id, const v1::PairResult& result) {
        all->Take(id, result);
      });
}

Controller::~Controller() = default;

Status Controller::Load(Moment now) {
  const MutexLock lock(mutex_);
  store::Store& store = outbox_->store();
  ASSIGN_OR_RETURN(std::vector<v1::NodeSnapshot> nodes, store.Nodes());
  ASSIGN_OR_RETURN(std::vector<v1::Finding> findings, store.OpenFindings());
  ASSIGN_OR_RETURN(std::vector<v1::Silence> silences, store.Silences());
  ASSIGN_OR_RETURN(const std::vector<v1::Campaign> campaigns,
                   store.Campaigns(Campaigns::kKnownMax));
  for (v1::NodeSnapshot& snapshot : nodes) {
    fleet::NodeRecord record;
    record.name = snapshot.node().name();
    record.state = v1::NODE_STATE_LOST;
    record.state_since = now;
    record.reported_at = {now.steady, FromProto(snapshot.taken_at())};
    record.inspected_at = record.reported_at;
    record.lost_reason = "not heard of since the controller was started";
    record.snapshot = std::move(snapshot);
    awaited_.insert(record.name);
    history_->SetKnown(record.name, now);
    fleet_.Restore(std::move(record));
  }
  awaited_until_ = now.steady + options_.lost_after;
  findings_->Restore(std::move(findings), std::move(silences), now);
  campaigns_->Restore(campaigns, now);
  return {};
}

Status Controller::OnMessage(SessionId id, const v1::AgentMessage& message, Moment now) {
  const MutexLock lock(mutex_);
  Session* const session = sessions_->Find(id);
  if (session == nullptr) {
    if (message.has_hello()) return OnHello(id, message.hello(), now);
    return {Code::kFailedPrecondition, "expected hello as the first message, saw another"};
  }
  session->heard_at = std::max(session->heard_at, now.steady);
  const std::string node = session->node.name();
  if (session->silent) Wake(*session, !message.has_snapshot(), now);
  switch (message.body_case()) {
    case v1::AgentMessage::kHello:
      return {Code::kFailedPrecondition, Format("{}: expected hello once, saw a second", node)};
    case v1::AgentMessage::kSnapshot: return OnSnapshot(*session, message.snapshot(), now);
    case v1::AgentMessage::kChange: return OnChange(*session, message.change(), now);
    case v1::AgentMessage::kProbeReady:
      campaigns_->OnReady(node, message.probe_ready(), now);
      return {};
    case v1::AgentMessage::kProbeArmed:
      campaigns_->OnArmed(node, message.probe_armed(), now);
      return {};
    case v1::AgentMessage::kProbeOutcome:
      campaigns_->OnOutcome(node, message.probe_outcome(), now);
      return {};
    case v1::AgentMessage::kCounterTable: return OnCounters(*session, message.counter_table(), now);
    case v1::AgentMessage::kCounterSample:
      return OnCounters(*session, message.counter_sample(), now);
    case v1::AgentMessage::kMeshEndpoints:
      mesh_->OnEndpoints(*session, message.mesh_endpoints(), now);
      return {};
    case v1::AgentMessage::kMeshWindow:
      mesh_->OnWindow(*session, message.mesh_window(), now);
      return {};
    case v1::AgentMessage::kHeartbeat:
    case v1::AgentMessage::BODY_NOT_SET:  // Of a newer agent: heard of all the same.
      AdvanceCounterRates(node, now);     // Counters that stand still send no samples.
      return {};
  }
  return {};
}

Status Controller::OnHello(SessionId id, const v1::Hello& hello, Moment now) {
  const std::string& node = hello.node().name();
  RETURN_IF_ERROR(CheckNodeName(node));
  if (const Session* const older = sessions_->OfNode(node)) {
    const std::string& theirs = older->node.machine_id();
    const std::string& ours = hello.node().machine_id();
    const bool same = theirs == ours || theirs.empty() || ours.empty();
    if (!same && !older->silent)
      return {Code::kAlreadyExists,
              Format("node {} is connected from another machine: machine id {}, this one has {}",
                     node, Quoted(theirs), Quoted(ours))};
    const SessionId replaced = older->id;
    agents_.Close(replaced,
                  Status(Code::kCancelled, Format("a newer session of node {} has come", node)));
    sessions_->Remove(replaced);
    campaigns_->OnLost(node, "the agent connected anew", now);
    mesh_->OnLost(node, now);
  }
  sessions_->Add(id, hello, now);
  v1::ControllerMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_controller_version(std::string(kVersion));
  welcome.set_heartbeat_interval_ms(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.heartbeat_interval).count()));
  sessions_->Send(id, message);
  return {};
}

Status Controller::OnSnapshot(Session& session, v1::NodeSnapshot snapshot, Moment now) {
  // The name that the session was opened with counts: it is the key of everything.
  const std::string node = session.node.name();
  snapshot.mutable_node()->set_name(node);
  CheckTakenAt(*snapshot.mutable_taken_at(), now);
  const fleet::NodeRecord* const before = fleet_.Find(node);
  const bool news = before == nullptr || before->state != v1::NODE_STATE_CONNECTED;
  std::vector<v1::PortEvent> ports;
  facts::Change changed;
  if (before != nullptr) {
    ports = PortChanges(before->snapshot, snapshot);
    changed = NodeHistory::Compare(before->snapshot, snapshot, now);
  }
  fleet_.Put(snapshot, now);
  OnFleetChange(now);
  session.reported = true;
  session.asked = false;
  awaited_.erase(node);
  dirty_.insert(node);
  if (news) PublishNode(node, now);
  PublishPorts(ports, now);
  StoreNode(session, now);  // After what somebody may be waiting for: the disk may be slow.
  history_->Write(node, changed, now);
  return {};
}

Status Controller::OnChange(Session& session, v1::SnapshotChange change, Moment now) {
  const std::string node = session.node.name();
  const fleet::NodeRecord* const before = fleet_.Find(node);
  if (!session.reported || before == nullptr) {
    AskForSnapshot(session);
    return {};
  }
  change.mutable_rest()->mutable_node()->set_name(node);
  if (change.has_taken_at()) CheckTakenAt(*change.mutable_taken_at(), now);
  // Most changes are of counters alone, and a snapshot is no small thing to copy.
  const bool ports = change.rdma_devices_size() > 0 || change.removed_rdma_devices_size() > 0;
  const v1::NodeSnapshot old = ports ? before->snapshot : v1::NodeSnapshot();
  const bool settings = ChangesSettings(change);
  const facts::Change changed =
      settings ? NodeHistory::Compare(before->snapshot, change, now) : facts::Change();
  RETURN_IF_ERROR(fleet_.Change(node, change, now));
  dirty_.insert(node);  // Whatever it says: the record is not what it was.
  if (settings) OnFleetChange(now);
  if (ports) PublishPorts(PortChanges(old, fleet_.Find(node)->snapshot), now);
  if (settings || now.steady - session.stored_at >= kStoreCountersEvery) StoreNode(session, now);
  if (settings) history_->Write(node, changed, now);
  return {};
}

void Controller::OnFleetChange(Moment now) {
  mesh_->OnFleetChange(now);
  cover_.reset();
}

void Controller::PublishPorts(const std::vector<v1::PortEvent>& ports, Moment now) {
  for (const v1::PortEvent& port : ports)
    outbox_->Publish(now, [&](v1::Event& event) { *event.mutable_port() = port; });
}

// A table or a sample. What does not fit to what came before is asked for anew; what cannot be ends
// the session.
template <class Message>
Status Controller::OnCounters(Session& session, const Message& message, Moment now) {
  const std::string node = session.node.name();
  const Status status = session.reported
                            ? fleet_.TakeCounters(node, message, now)
                            : Status(Code::kFailedPrecondition, "no whole snapshot has come");
  if (status.code() == Code::kFailedPrecondition) {
    AskForSnapshot(session);
    return {};
  }
  RETURN_IF_ERROR(status.In(node));
  if constexpr (std::is_same_v<Message, v1::CounterTable>) dirty_.insert(node);
  AdvanceCounterRates(node, now);
  if (now.steady - session.stored_at >= kStoreCountersEvery) StoreNode(session, now);
  return {};
}

// Once for each window of a node's counters, not for each sample.
void Controller::AdvanceCounterRates(const std::string& node, Moment now) {
  if (fleet_.AdvanceMotion(node, now)) dirty_.insert(node);
}

// The session was silent for long and is not any more. What it missed to say is asked for.
void Controller::Wake(Session& session, bool wants_snapshot, Moment now) {
  session.silent = false;
  if (!session.reported) return;
  const std::string node = session.node.name();
  if (!wants_snapshot) return;  // It brings one, and that is news enough.
  fleet_.MarkConnected(node, now);
  cover_.reset();  // Lost nodes are not in it.
  PublishNode(node, now);
  dirty_.insert(node);
  AskForSnapshot(session);
}

// Once until it comes: samples that do not fit may follow each other every second.
void Controller::AskForSnapshot(Session& session) {
  if (std::exchange(session.asked, true)) return;
  v1::ControllerMessage message;
  message.mutable_snapshot_request();
  sessions_->Send(session.id, message);
}

void Controller::OnGone(SessionId id, const std::string& reason, Moment now) {
  const MutexLock lock(mutex_);
  const Session* const session = sessions_->Find(id);
  if (session == nullptr) return;  // Refused, or replaced by a newer one
  const std::string node = session->node.name();
  sessions_->Remove(id);
  Lose(node, "connection closed: " + reason, now);
}

void Controller::Lose(const std::string& node, const std::string& reason, Moment now) {
  const fleet::NodeRecord* const record = fleet_.Find(node);
  if (record != nullptr && record->state == v1::NODE_STATE_CONNECTED) {
    fleet_.MarkLost(node, reason, now);
    cover_.reset();  // Lost nodes are not in it.
    PublishNode(node, now);
    dirty_.insert(node);
  }
  campaigns_->OnLost(node, reason, now);
  mesh_->OnLost(node, now);
}

void Controller::Tick(Moment now) {
  const MutexLock lock(mutex_);
  const Duration since_last = now.steady - ticked_at_;
  ticked_at_ = now.steady;
  for (auto& [id, session] : sessions_->all()) {
    if (since_last >= kTickLate)
      session.heard_at = std::min(session.heard_at + since_last, now.steady);
    const Duration quiet = now.steady - session.heard_at;
    if (session.silent || quiet < options_.lost_after) continue;
    session.silent = true;
    Lose(session.node.name(),
         Format("no message for {:.1f} s", std::chrono::duration<double>(quiet).count()), now);
  }
  campaigns_->Tick(now);
  mesh_->Tick(fleet_, now);
  for (std::string& node : fleet_.FindOutdated(options_.settings_age_max, now))
    dirty_.insert(std::move(node));
  if (!dirty_.empty() && Settled(now) && now.steady - evaluated_at_ >= kEvaluateEvery)
    EvaluateRules(now);
  if (Settled(now)) findings_->Tick(fleet_, now);
  certificates_->Tick(dirty_, now);
}

bool Controller::Settled(Moment now) const {
  return awaited_.empty() || now.steady >= awaited_until_;
}

// Right before the engine judges: records change in place, and it must not look at one of which
// it does not know that.
void Controller::UpdateEngine() {
  for (const std::string& node : dirty_) {
    const fleet::NodeRecord& record = *fleet_.Find(node);
    if (record.known())
      engine_.Put(record);
    else
      engine_.Remove(node);
  }
  dirty_.clear();
}

void Controller::EvaluateRules(Moment now) {
  UpdateEngine();
  findings_->Take(engine_.Take(), fleet_, now);
  evaluated_at_ = now.steady;
}

void Controller::PublishNode(const std::string& node, Moment now) {
  const v1::NodeSummary summary = Summarize(*fleet_.Find(node), findings_->FailingOn(node));
  outbox_->Publish(now, [&](v1::Event& event) { *event.mutable_node() = summary; });
}

void Controller::StoreNode(Session& session, Moment now) {
  session.stored_at = now.steady;
  const v1::NodeSnapshot& snapshot = fleet_.Find(session.node.name())->snapshot;
  outbox_->Stored(outbox_->store().PutNode(snapshot));
  history_->Mark(snapshot, now);
}

std::uint64_t Controller::StoreFailures(Status* last) {
  const MutexLock lock(mutex_);
  if (last != nullptr) *last = outbox_->last_failure();
  return outbox_->failures();
}

}  // namespace fabric::control
