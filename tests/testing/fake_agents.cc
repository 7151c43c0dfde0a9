#include "tests/testing/fake_agents.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/text.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::testing {
namespace {

using namespace std::chrono_literals;

v1::ProbeResult Failed(v1::ProbeStatus status, const std::string& reason) {
  v1::ProbeResult result;
  result.set_status(status);
  result.set_reason(reason);
  return result;
}

v1::ProbeResult Figures(const v1::ProbeSpec& spec) {
  v1::ProbeResult result;
  result.set_status(v1::PROBE_STATUS_OK);
  const std::string_view kind = ProbeKindName(spec);
  if (kind.ends_with("latency")) {
    result.mutable_latency()->set_median_us(2.5);
    result.mutable_latency()->set_samples(1000);
  }
  if (spec.has_incast()) {
    result.mutable_bandwidth()->set_mean_bps(20e9);
    result.mutable_bandwidth()->set_bytes(500'000'000);
    result.mutable_bandwidth()->set_seconds(0.2);
  }
  if (kind.ends_with("bandwidth")) result.mutable_bandwidth()->set_mean_bps(97e9);
  if (spec.rc_write_bandwidth().bidirectional())
    result.mutable_reverse_bandwidth()->set_mean_bps(97e9);
  if (spec.has_ud_ping()) {
    result.mutable_ping()->set_sent(100);
    result.mutable_ping()->set_answered(100);
    result.mutable_ping()->mutable_network_round_trip()->set_median_us(5);
  }
  if (spec.has_gpu_memory()) {
    v1::GpuMemoryStep& step = *result.add_gpu_memory();
    step.set_gpu("0000:1b:00.0");
    step.set_registration(v1::GPU_MEMORY_REGISTRATION_DMA_BUF);
    step.set_works(true);
    step.mutable_bandwidth()->set_mean_bps(90e9);
  }
  if (spec.has_path_mtu()) {
    v1::MtuStep& step = *result.add_mtu_steps();
    step.set_mtu_bytes(4096);
    result.set_path_mtu_bytes(4096);
    step.set_delivered(true);
  }
  return result;
}

// Responders of an incast share their port.
bool MayShare(const v1::ProbeAssignment& a, const v1::ProbeAssignment& b) {
  const auto is_receiver = [](const v1::ProbeAssignment& one) {
    return one.spec().has_incast() && one.role() == v1::PROBE_ROLE_RESPONDER;
  };
  return is_receiver(a) && is_receiver(b);
}

bool SamePort(const v1::ProbePort& a, const v1::ProbePort& b) {
  return a.node() == b.node() && a.device() == b.device() && a.port() == b.port();
}

}  // namespace

FakeAgents::FakeAgents() {
  now_.steady = SteadyTime(1000s);
  now_.wall = WallTime(1'800'000'000s);
}

void FakeAgents::Attach(control::Controller& controller) {
  controller_ = &controller;
  for (auto& [node, agent] : agents_) {
    agent.connected = false;
    agent.probes.clear();
    agent.inbox.clear();
  }
}

Status FakeAgents::Connect(const v1::NodeSnapshot& snapshot) {
  const std::string& node = snapshot.node().name();
  const SessionId session(next_session_++);
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  *hello.mutable_node() = snapshot.node();
  if (hello.node().machine_id().empty()) hello.mutable_node()->set_machine_id("machine-" + node);
  const auto* const kinds = v1::ProbeSpec::descriptor()->FindOneofByName("kind");
  for (int n = 0; n < kinds->field_count(); ++n) hello.add_probe_kinds(kinds->field(n)->name());
  Status status = controller_->OnMessage(session, message, now_);
  if (!status.ok()) return status;
  Agent& agent = agents_[node];
  agent.snapshot = snapshot;
  agent.session = session;
  agent.connected = true;
  agent.probes.clear();
  agent.inbox.clear();
  nodes_[session] = node;
  return SendSnapshot(snapshot);
}

void FakeAgents::Disconnect(const std::string& node, const std::string& reason) {
  Agent& agent = agents_.at(node);
  agent.connected = false;
  agent.probes.clear();
  agent.inbox.clear();
  controller_->OnGone(agent.session, reason, now_);
}

void FakeAgents::Behave(const std::string& node, Behaviour behaviour) {
  agents_.at(node).behaviour = behaviour;
}

void FakeAgents::Mute(const std::string& node, bool mute) {
  agents_.at(node).mute = mute;
}

Status FakeAgents::Say(const std::string& node, const v1::AgentMessage& message) {
  const Agent& agent = agents_.at(node);
  if (!agent.connected || agent.mute) return {};
  return controller_->OnMessage(agent.session, message, now_);
}

Status FakeAgents::SendSnapshot(const v1::NodeSnapshot& snapshot) {
  v1::AgentMessage message;
  *message.mutable_snapshot() = snapshot;
  agents_.at(snapshot.node().name()).snapshot = snapshot;
  return Say(snapshot.node().name(), message);
}

void FakeAgents::Deliver(std::mt19937_64* shuffle) {
  const auto has_mail = [](const Agent& agent) {
    return !agent.inbox.empty() && agent.connected && !agent.mute;
  };
  const auto answer_next = [this](const std::string& node, Agent& agent) {
    const v1::ControllerMessage message = std::move(agent.inbox.front());
    agent.inbox.pop_front();
    Answer(node, message);
  };
  while (true) {
    std::vector<std::string> ready;
    for (const auto& [node, agent] : agents_)
      if (has_mail(agent)) ready.push_back(node);
    if (ready.empty()) return;
    if (shuffle != nullptr) {
      const std::string& node = ready[static_cast<std::size_t>((*shuffle)() % ready.size())];
      answer_next(node, agents_.at(node));
      continue;
    }
    for (const std::string& node : ready)
      for (Agent& agent = agents_.at(node); has_mail(agent);) answer_next(node, agent);
  }
}

void FakeAgents::Advance(Duration time, std::mt19937_64* shuffle) {
  for (Duration passed{}; passed < time; passed += 100ms) {
    now_.steady += 100ms;
    now_.wall += 100ms;
    v1::AgentMessage heartbeat;
    heartbeat.mutable_heartbeat();
    for (const auto& [node, agent] : agents_) (void)Say(node, heartbeat);
    // As agents do, whose settings stay as they are.
    const bool minute = (now_.steady.time_since_epoch() + 100ms) % 60s == 0s;
    v1::AgentMessage confirmation;
    *confirmation.mutable_change()->mutable_taken_at() = ToProto(now_.wall);
    if (minute)
      for (const auto& [node, agent] : agents_)
        if (!agent.idle) (void)Say(node, confirmation);
    Deliver(shuffle);
    controller_->Tick(now_);
    Deliver(shuffle);
  }
}

void FakeAgents::Send(SessionId session, const v1::ControllerMessage& message) {
  const auto node = nodes_.find(session);
  if (node == nodes_.end()) return void(others_.emplace_back(session, message));
  Agent& agent = agents_.at(node->second);
  if (agent.session == session && agent.connected) agent.inbox.push_back(message);
}

void FakeAgents::Close(SessionId session, const Status& status) {
  closed_[session] = status;
}

void FakeAgents::Answer(const std::string& node, const v1::ControllerMessage& message) {
  Agent& agent = agents_.at(node);
  switch (message.body_case()) {
    case v1::ControllerMessage::kProbeAssignment:
      return OnAssignment(node, message.probe_assignment());
    case v1::ControllerMessage::kProbeStart: return OnStart(node, message.probe_start());
    case v1::ControllerMessage::kProbeStop:
      for (const v1::ProbeRole role : {v1::PROBE_ROLE_INITIATOR, v1::PROBE_ROLE_RESPONDER}) {
        const EndId id(message.probe_stop().probe_id(), role);
        v1::ProbeResult result = Failed(v1::PROBE_STATUS_CANCELLED, message.probe_stop().reason());
        if (const auto probe = agent.probes.find(id);
            probe != agent.probes.end() && probe->second.assignment.spec().has_incast() &&
            counters_)
          *result.mutable_counter_deltas() = counters_(probe->second.assignment);
        if (agent.behaviour != Behaviour::kSilent) End(node, id, std::move(result));
        agent.probes.erase(id);
      }
      return;
    case v1::ControllerMessage::kMeshAssignment:
      ++agent.mesh_orders;
      agent.mesh_assignment = message.mesh_assignment();
      return;
    case v1::ControllerMessage::kSnapshotRequest:
      ++snapshot_requests_;
      (void)SendSnapshot(v1::NodeSnapshot(agent.snapshot));
      return;
    default: return;
  }
}

std::string FakeAgents::GidOf(const v1::ProbePort& port) const {
  const auto agent = agents_.find(port.node());
  if (agent == agents_.end()) return port.node();  // Not one of these
  for (const v1::RdmaDevice& device : agent->second.snapshot.rdma_devices())
    for (const v1::Port& one : device.ports())
      if (device.name() == port.device() && one.number() == port.port() && !one.gids().empty())
        return one.gids(0).gid();
  return port.node();
}

void FakeAgents::OnAssignment(const std::string& node, const v1::ProbeAssignment& assignment) {
  Agent& agent = agents_.at(node);
  ++agent.assignments;
  const EndId end(assignment.probe_id(), assignment.role());
  for (const auto& [id, probe] : agent.probes)
    if (SamePort(probe.assignment.local(), assignment.local()) && id.first != end.first &&
        !MayShare(probe.assignment, assignment))
      violations_.push_back(Format("{}/{}: probes {} and {}", node, assignment.local().device(),
                                   id.first, assignment.probe_id()));
  agent.probes[end].assignment = assignment;
  CountProbes();
  switch (agent.behaviour) {
    case Behaviour::kSilent: return;
    case Behaviour::kVanish: return Disconnect(node, "connection reset by peer");
    case Behaviour::kRefuse: return End(node, end, Failed(v1::PROBE_STATUS_REFUSED, "port busy"));
    default: break;
  }
  v1::AgentMessage message;
  message.mutable_probe_ready()->set_probe_id(assignment.probe_id());
  message.mutable_probe_ready()->set_role(assignment.role());
  message.mutable_probe_ready()->mutable_endpoint()->set_gid(
      agent.behaviour == Behaviour::kAimsElsewhere ? "::ffff:192.0.2.1"
                                                   : GidOf(assignment.local()));
  (void)Say(node, message);
}

void FakeAgents::OnStart(const std::string& node, const v1::ProbeStart& start) {
  Agent& agent = agents_.at(node);
  const EndId end(start.probe_id(), start.role());
  const auto found = agent.probes.find(end);
  if (found == agent.probes.end()) return;
  const v1::ProbeAssignment assignment = found->second.assignment;
  if (start.remote().gid() != GidOf(assignment.remote()))
    violations_.push_back(Format("{}: got the endpoint {}, expected that of {}", node,
                                 start.remote().gid(), assignment.remote().node()));
  if (agent.behaviour == Behaviour::kVanishRunning)
    return Disconnect(node, "connection reset by peer");
  if (assignment.role() == v1::PROBE_ROLE_RESPONDER) {
    if (agent.behaviour == Behaviour::kNeverArms) return;
    v1::AgentMessage message;
    message.mutable_probe_armed()->set_probe_id(start.probe_id());
    (void)Say(node, message);
    return;
  }
  v1::ProbeResult result = Figures(assignment.spec());
  if (assignment.spec().has_incast() && counters_)
    *result.mutable_counter_deltas() = counters_(assignment);
  if (on_path_) on_path_(assignment, result);
  if (result.status() == v1::PROBE_STATUS_UNSPECIFIED) return;
  switch (agent.behaviour) {
    case Behaviour::kNeverFinishes: return;
    case Behaviour::kFail:
      result = Failed(v1::PROBE_STATUS_FAILED, "transport retry counter exceeded");
      break;
    case Behaviour::kNonsense:
      result.mutable_latency()->set_median_us(std::numeric_limits<double>::quiet_NaN());
      break;
    default: break;
  }
  End(node, end, std::move(result));
}

void FakeAgents::End(const std::string& node, EndId end, v1::ProbeResult result) {
  Agent& agent = agents_.at(node);
  if (agent.probes.erase(end) == 0) return;
  v1::AgentMessage message;
  message.mutable_probe_outcome()->set_probe_id(end.first);
  message.mutable_probe_outcome()->set_role(end.second);
  *message.mutable_probe_outcome()->mutable_result() = std::move(result);
  (void)Say(node, message);
}

void FakeAgents::CountProbes() {
  std::set<std::uint64_t> running;
  for (const auto& [node, agent] : agents_)
    for (const auto& [id, probe] : agent.probes) running.insert(id.first);
  probes_at_once_max_ = std::max(probes_at_once_max_, running.size());
}

std::vector<std::string> EventLog::Lines() const {
  std::vector<std::string> lines;
  for (const v1::Event& event : events) {
    if (event.has_node())
      lines.push_back(
          Format("node {} {}", event.node().name(),
                 event.node().state() == v1::NODE_STATE_CONNECTED ? "connected" : "lost"));
    if (event.has_finding())
      lines.push_back(Format("finding {} {}", SubjectName(event.finding().subject()),
                             Name(event.finding().state())));
    if (event.has_campaign())
      lines.push_back(
          Format("campaign {} {}", event.campaign().id(), Name(event.campaign().state())));
    if (event.has_port())
      lines.push_back(Format("port {}/{}/{} {}", event.port().node(), event.port().device(),
                             event.port().port(), Name(event.port().after())));
  }
  return lines;
}

}  // namespace fabric::testing
