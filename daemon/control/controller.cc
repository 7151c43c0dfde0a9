#include "daemon/control/controller.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/campaign_start.h"
#include "daemon/control/campaigns/port_counters.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/probing/attestation.h"
#include "daemon/control/state.h"
#include "daemon/control/summaries.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// Settings are stored when they change. Counters change all the time, and a snapshot has up to
// 300 kB, so they are stored at this interval only.
constexpr Duration kStoreCountersEvery = 15min;

constexpr Duration kStoreEvery = std::chrono::seconds(Limit("store_node_seconds"));
constexpr std::size_t kPortsOfEventMax = 64;  // As in fabric.proto

const Clock& ClockOf(const ControllerOptions& options) {
  static const SystemClock kSystem;
  return options.turn_clock == nullptr ? kSystem : *options.turn_clock;
}

TurnKind KindOf(const v1::AgentMessage& message) {
  switch (message.body_case()) {
    case v1::AgentMessage::kHello: return TurnKind::kHello;
    case v1::AgentMessage::kSnapshot: return TurnKind::kSnapshot;
    case v1::AgentMessage::kChange: return TurnKind::kChange;
    case v1::AgentMessage::kCounterTable:
    case v1::AgentMessage::kCounterSample: return TurnKind::kCounters;
    case v1::AgentMessage::kProbeReady:
    case v1::AgentMessage::kProbeArmed:
    case v1::AgentMessage::kProbeOutcome: return TurnKind::kProbe;
    case v1::AgentMessage::kMeshEndpoints:
    case v1::AgentMessage::kMeshWindow: return TurnKind::kMesh;
    case v1::AgentMessage::kSubnetPart: return TurnKind::kTopology;
    case v1::AgentMessage::kHeartbeat:
    case v1::AgentMessage::BODY_NOT_SET: break;
  }
  return TurnKind::kHeartbeat;
}

bool ChangesSettings(const v1::SnapshotChange& change) {
  return change.rdma_devices_size() > 0 || change.removed_rdma_devices_size() > 0 ||
         change.net_interfaces_size() > 0 || change.removed_net_interfaces_size() > 0 ||
         change.fields_size() > 0;
}

}  // namespace

State::State(const ControllerOptions& all_options, store::Store& store, AgentSink& agents,
             EventBus& events, Moment now)
    : options(all_options),
      started(now),
      sites(options.sites),
      numbers(FirstNumbers(options, now)),
      outbox(store, events),
      sessions(agents),
      history(outbox),
      findings(outbox, options.lifecycle),
      evaluator(options.profile, options.custom_rules.rules, now),
      job_classes(fleet, options.profile),
      campaigns(
          options.pairs_at_once_max, sessions, outbox,
          [this](auto& after, auto& all) { return findings.ReadForBlame(after, all); },
          [this](const auto& fabric, auto& reader) { (void)reader.Continue(fleet, fabric); },
          store.epoch()),
      schedules(campaigns, located, outbox),
      node_actions(options.actions, outbox),
      rechecks({.fleet = fleet, .findings = findings, .located = located, .campaigns = campaigns},
               [this](const RecheckPlan& plan, Moment at) {
                 return StartAtOnce(*this, CampaignStart(plan.spec, {.rechecks = plan.findings}),
                                    at);
               }),
      certificates(options.certificates,
                   CertificateSources{.fleet = fleet,
                                      .findings = findings,
                                      .evaluator = evaluator,
                                      .campaigns = campaigns,
                                      .background = options.background},
                   outbox),
      mesh(options.mesh,
           {.sites = sites,
            .lost_after = options.lost_after,
            .classes = job_classes,
            .open_findings =
                [this](std::string& after, std::vector<v1::Finding>& read) {
                  return findings.ReadForBlame(after, read);
                },
            .located = located,
            .background = options.background},
           sessions, store.epoch(), now),
      subnets(options.subnet_interval, sites, sessions),
      subnet_histories(outbox) {
  campaigns.JudgeIn(options.background);
  fleet.SetProfile(&options.profile);
  fleet.Listen([this](const std::string& name, const fleet::NodeRecord* record) {
    job_classes.OnNode(name);
    if (record == nullptr)
      numbers.RemoveNode(name);
    else
      numbers.PutNode(*record, CoverOf(*record));
  });
  findings.CountWith(
      [this](const v1::Finding& finding, int change) { numbers.CountFinding(finding, change); });
  campaigns.ListenLocated(
      [this](const LocatedFaults::Result& result, Moment at) { return located.Take(result, at); });
  campaigns.AttestWith([this](const std::string& node, const v1::ProbeEndpoint& endpoint) {
    const fleet::NodeRecord* const record = fleet.Find(node);
    return record == nullptr ? Status() : CheckEndpoint(record->snapshot, endpoint);
  });
  campaigns.Listen([this](const std::string& id, const v1::PairResult& result) {
    certificates.Take(id, result);
    schedules.Take(id, result);
  });
}

Controller::Controller(const ControllerOptions& options, store::Store& store, AgentSink& agents,
                       EventBus& events, Moment now)
    : agents_(agents),
      rule_problems_(options.custom_rules.problems),
      clock_(ClockOf(options)),
      turns_(options.on_long_turn),
      state_(std::make_unique<State>(options, store, agents, events, now)),
      numbers_(state_->numbers),
      ticked_at_(now.steady) {}

Controller::~Controller() = default;

Status Controller::OnMessage(SessionId id, v1::AgentMessage message, Moment now) {
  const Turn turn(mutex_, turns_, clock_, KindOf(message));
  const WriteBatch batch(state_->outbox);
  const Status status = Receive(id, std::move(message), now);
  if (!status.ok()) numbers_.CountRefused(CodeName(status.code()));
  return status;
}

Status Controller::Receive(SessionId id, v1::AgentMessage message, Moment now) {
  Session* const session = state_->sessions.Find(id);
  if (session == nullptr) {
    if (message.has_hello()) return OnHello(id, message.hello(), now);
    return {Code::kFailedPrecondition, "expected hello as the first message"};
  }
  session->heard_at = std::max(session->heard_at, now.steady);
  const std::string node = session->node.name();
  if (session->silent) Resume(*session, !message.has_snapshot(), now);
  switch (message.body_case()) {
    case v1::AgentMessage::kHello:
      return {Code::kFailedPrecondition, Format("{}: expected one hello, saw a second one", node)};
    case v1::AgentMessage::kSnapshot:
      return OnSnapshot(*session, std::move(*message.mutable_snapshot()), now);
    case v1::AgentMessage::kChange:
      return OnChange(*session, std::move(*message.mutable_change()), now);
    case v1::AgentMessage::kProbeReady:
      state_->campaigns.OnReady(node, message.probe_ready(), now);
      return {};
    case v1::AgentMessage::kProbeArmed:
      state_->campaigns.OnArmed(node, message.probe_armed(), now);
      return {};
    case v1::AgentMessage::kProbeOutcome:
      state_->campaigns.OnOutcome(node, message.probe_outcome(), now);
      return {};
    case v1::AgentMessage::kCounterTable: return OnCounters(*session, message.counter_table(), now);
    case v1::AgentMessage::kCounterSample:
      return OnCounters(*session, message.counter_sample(), now);
    case v1::AgentMessage::kMeshEndpoints:
      state_->mesh.OnEndpoints(*session, message.mesh_endpoints(), now);
      return {};
    case v1::AgentMessage::kMeshWindow:
      state_->mesh.OnWindow(*session, message.mesh_window(), now);
      return {};
    case v1::AgentMessage::kSubnetPart:
      state_->subnets.OnPart(*session, message.subnet_part(), now);
      return {};
    case v1::AgentMessage::kHeartbeat:
    case v1::AgentMessage::BODY_NOT_SET:  // From a newer agent: counts as a sign of life.
      AdvanceCounterRates(node, now);     // Unchanged counters send no samples.
      return {};
  }
  return {};
}

Status Controller::OnSnapshot(Session& session, v1::NodeSnapshot snapshot, Moment now) {
  // The name in Hello is the key of the node.
  const std::string node = session.node.name();
  RETURN_IF_ERROR(CheckRoom(node));
  snapshot.mutable_node()->set_name(node);
  if (!snapshot.has_taken_at()) *snapshot.mutable_taken_at() = ToProto(now.wall);
  const fleet::NodeRecord* const before = state_->fleet.Find(node);
  const bool news = before == nullptr || before->state != v1::NODE_STATE_CONNECTED;
  std::vector<v1::PortEvent> ports;
  snapshot_diff::Change changed;
  if (before != nullptr && before->snapshot.has_taken_at()) {
    ports = PortChanges(before->snapshot, snapshot);
    changed = NodeHistory::Compare(before->snapshot, snapshot, now);
  }
  state_->fleet.Put(std::move(snapshot), now);
  OnFleetChange(now);
  session.reported = true;
  session.snapshot_requested = false;
  state_->sessions.OnSnapshot(session.id, now);
  state_->evaluator.OnReport(node);
  if (news) PublishNode(node, now);
  PublishPorts(ports, now);
  MarkToBeStored(session);
  StoreLate(session, now);  // Last: the disk may be slow.
  state_->history.Write(node, changed, now);
  return {};
}

Status Controller::OnChange(Session& session, v1::SnapshotChange change, Moment now) {
  const std::string node = session.node.name();
  const fleet::NodeRecord* const before = state_->fleet.Find(node);
  if (!session.reported || before == nullptr) {
    state_->sessions.RequestSnapshot(session, now);
    return {};
  }
  change.mutable_rest()->mutable_node()->set_name(node);
  // Most changes have counters only; a snapshot is expensive to copy.
  const bool ports = change.rdma_devices_size() > 0 || change.removed_rdma_devices_size() > 0;
  const v1::NodeSnapshot old = ports ? before->snapshot : v1::NodeSnapshot();
  const bool settings = ChangesSettings(change);
  const bool news = before->state != v1::NODE_STATE_CONNECTED;
  const snapshot_diff::Change changed =
      settings ? NodeHistory::Compare(before->snapshot, change, now) : snapshot_diff::Change();
  if (const Status status = state_->fleet.Change(node, std::move(change), now); !status.ok()) {
    session.reported = false;
    return status;
  }
  state_->evaluator.OnReport(node);
  if (news) PublishNode(node, now);
  if (settings || news) OnFleetChange(now);
  if (ports) PublishPorts(PortChanges(old, state_->fleet.Find(node)->snapshot), now);
  if (settings) MarkToBeStored(session);
  StoreLate(session, now);
  if (settings) state_->history.Write(node, changed, now);
  return {};
}

void Controller::OnFleetChange(Moment now) {
  for (const std::string& node : state_->fleet.TakeChanged())
    if (state_->fleet.Find(node)->known()) state_->evaluator.MarkChanged(node);
  state_->mesh.OnFleetChange(now);
  state_->subnets.OnFleetChange();
}

void Controller::PublishPorts(const std::vector<v1::PortEvent>& ports, Moment now) {
  if (ports.size() == 1)
    state_->outbox.Publish(now, [&](v1::Event& event) { *event.mutable_port() = ports.front(); });
  if (ports.size() < 2) return;
  state_->outbox.Publish(now, [&](v1::Event& event) {
    v1::PortEvents& all = *event.mutable_ports();
    all.set_node(ports.front().node());
    all.set_total(static_cast<std::uint32_t>(ports.size()));
    const std::size_t shown = std::min(ports.size(), kPortsOfEventMax);
    all.mutable_ports()->Assign(ports.begin(), ports.begin() + static_cast<std::ptrdiff_t>(shown));
  });
}

// A table or a sample. A message that does not fit the known table leads to a request for a whole
// snapshot; an invalid one ends the session.
template <class Message>
Status Controller::OnCounters(Session& session, const Message& message, Moment now) {
  const std::string node = session.node.name();
  const Status status = session.reported ? state_->fleet.TakeCounters(node, message, now)
                                         : Status(Code::kFailedPrecondition, "no snapshot yet");
  if (status.code() == Code::kFailedPrecondition) {
    state_->sessions.RequestSnapshot(session, now);
    return {};
  }
  RETURN_IF_ERROR(status.In(node));
  if constexpr (std::is_same_v<Message, v1::CounterTable>) state_->evaluator.MarkChanged(node);
  AdvanceCounterRates(node, now);
  StoreLate(session, now);
  return {};
}

// Once for each window of a node's counters, not for each sample.
void Controller::AdvanceCounterRates(const std::string& node, Moment now) {
  if (state_->fleet.AdvanceRates(node, now)) state_->evaluator.MarkChanged(node);
}

// The first message after a silence. Requests a snapshot unless the message brings one.
void Controller::Resume(Session& session, bool wants_snapshot, Moment now) {
  session.silent = false;
  session.lost_check_at = session.heard_at + state_->options.lost_after;
  state_->sessions.WakeAt(session.id, session.lost_check_at);
  if (!session.reported) return;
  const std::string node = session.node.name();
  if (!wants_snapshot) return;
  state_->fleet.MarkConnected(node, now);
  PublishNode(node, now);
  state_->evaluator.MarkChanged(node);
  state_->sessions.RequestSnapshot(session, now);
}

void Controller::OnGone(SessionId id, const std::string& reason, Moment now) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kGone);
  const WriteBatch batch(state_->outbox);
  Session* const session = state_->sessions.Find(id);
  if (session == nullptr) return;  // Refused, or replaced by a newer one
  const std::string node = session->node.name();
  if (session->to_be_stored) StoreNode(*session, now);
  state_->sessions.Remove(id, now);
  Lose(node, "connection closed: " + reason, now);
}

void Controller::PublishNode(const std::string& node, Moment now) {
  const v1::NodeSummary summary = state_->SummaryOf(*state_->fleet.Find(node));
  state_->outbox.Publish(now, [&](v1::Event& event) { *event.mutable_node() = summary; });
}

void Controller::StoreNode(Session& session, Moment now) {
  session.stored_at = now.steady;
  session.to_be_stored = false;
  const fleet::NodeRecord* const record = state_->fleet.Find(session.node.name());
  if (record == nullptr) return;  // Removed while its session was silent
  const v1::NodeSnapshot& snapshot = record->snapshot;
  state_->outbox.store().PutNode(snapshot, state_->fleet.MemoryOf(*record));
  state_->history.Mark(snapshot, now);
}

void Controller::MarkToBeStored(Session& session) {
  if (!std::exchange(session.to_be_stored, true))
    state_->sessions.WakeAt(session.id, session.stored_at + kStoreEvery);
}

// Changed settings at most every 5 s, counters every 15 minutes.
void Controller::StoreLate(Session& session, Moment now) {
  const Duration age = now.steady - session.stored_at;
  if (age >= (session.to_be_stored ? kStoreEvery : kStoreCountersEvery)) StoreNode(session, now);
}

store::Condition Controller::store_condition() {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, "store_condition");
  return state_->outbox.store().condition();
}

}  // namespace fabric::control
