#include "agents/session/agent.h"

#include <algorithm>
#include <utility>

#include "proto/bounds.h"
#include "proto/settings_digest.h"
#include "proto/snapshot_change.h"
#include "proto/trim.h"

namespace fabric::agent {
namespace {

constexpr Duration kHeartbeatDefault = std::chrono::seconds(1);
constexpr Duration kIdleTick = std::chrono::seconds(1);
// Interval of confirmations that settings have not changed: the controller does not judge settings
// older than some minutes.
constexpr std::int64_t kConfirmSeconds = 60;
constexpr std::uint32_t kProtocolVersion = 2;
// Limits of what the controller can demand.
constexpr Duration kSpreadMax = std::chrono::seconds(60);
constexpr Duration kRetryAfterMax = std::chrono::minutes(5);

// The clock may have been set forward or back.
bool ToBeConfirmed(const v1::NodeSnapshot& sent, const v1::NodeSnapshot& latest) {
  const std::int64_t passed = latest.taken_at().seconds() - sent.taken_at().seconds();
  return passed >= kConfirmSeconds || passed <= -kConfirmSeconds;
}

}  // namespace

Agent::Agent(AgentOptions options, AgentOutput& output)
    : options_(std::move(options)),
      output_(output),
      backoff_(options_.backoff_min),
      random_(static_cast<std::minstd_rand::result_type>(options_.seed)) {}

void Agent::OnSnapshot(v1::NodeSnapshot snapshot, Moment) {
  latest_ = std::move(snapshot);
  latest_->clear_counters();
  TrimToBounds(*latest_);
  SendState();
}

void Agent::OnCounterTable(counters::Table table) {
  counters_.SetTable(std::move(table));
}

void Agent::OnCounterSample(counters::Sample sample) {
  counters_.SetSample(std::move(sample));
  SendCounters();
}

void Agent::OnConnected(Moment) {
  if (state_ != State::kDialing) return;
  state_ = State::kGreeting;
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  *hello.mutable_node() = latest_->node();
  for (const std::string& kind : options_.probe_kinds) hello.add_probe_kinds(kind);
  if (options_.probe_memory_bytes_max != 0)
    hello.set_probe_memory_bytes_max(options_.probe_memory_bytes_max);
  hello.set_reads_subnets(options_.reads_subnets);
  hello.set_message_bytes_max(Limit("controller_message_bytes"));
  hello.set_protocol_version(kProtocolVersion);
  if (sent_) hello.set_settings_digest(SettingsDigest(*sent_));
  output_.Send(message);
}

void Agent::OnDisconnected(const Status& why, Moment now) {
  if (state_ == State::kWaiting) return;
  // A connection resets the backoff only if it lasted: a controller that drops connections at once
  // is treated like one that does not answer.
  if (state_ == State::kStreaming && now.steady - streaming_since_ >= options_.backoff_max) {
    backoff_ = options_.backoff_min;
    failures_ = 0;
  }
  // All agents lose a controller at the same moment.
  const Duration spread = state_ == State::kStreaming ? spread_ : Duration();
  if (state_ == State::kStreaming) disconnected_since_ = now.steady;
  state_ = State::kWaiting;
  const bool round = ++failures_ % options_.controllers == 0;
  const Duration pause = round ? backoff_ : options_.between_controllers;
  std::uniform_int_distribution<Duration::rep> jitter(pause.count() / 2,
                                                      std::max(pause, spread).count());
  next_dial_ = now.steady + std::max(Duration(jitter(random_)), retry_after_);
  retry_after_ = {};
  if (round) backoff_ = std::min(backoff_ * 2, options_.backoff_max);
  output_.StopAllProbes("controller disconnected: " + why.message());
  OnSubnetOrder({});
}

// Whether a controller sent it that no longer leads. Then the stream ends.
bool Agent::IsOutdated(const v1::ControllerMessage& message, Moment now) {
  if (!message.has_epoch()) return false;
  const bool outdated = message.epoch() < epoch_;
  epoch_ = std::max(epoch_, message.epoch());
  if (!outdated || state_ == State::kWaiting || state_ == State::kHangingUp) return outdated;
  state_ = State::kHangingUp;
  disconnected_since_ = now.steady;
  output_.StopAllProbes("the controller no longer leads");
  OnSubnetOrder({});
  output_.HangUp();
  return true;
}

void Agent::OnMessage(const v1::ControllerMessage& message, Moment now) {
  if (IsOutdated(message, now)) return;
  if (message.has_welcome()) return OnWelcome(message.welcome(), now);
  if (message.has_retry_later())
    retry_after_ = std::min<Duration>(std::chrono::milliseconds(message.retry_later().after_ms()),
                                      kRetryAfterMax);
  if (state_ != State::kStreaming) return;  // Nothing may come before Welcome.
  switch (message.body_case()) {
    case v1::ControllerMessage::kProbeAssignment:
      return output_.StartProbe(message.probe_assignment());
    case v1::ControllerMessage::kProbeStart: return output_.ContinueProbe(message.probe_start());
    case v1::ControllerMessage::kProbeStop: return output_.StopProbe(message.probe_stop());
    case v1::ControllerMessage::kSnapshotRequest:
      awaits_request_ = false;
      sent_.reset();
      return SendState();
    case v1::ControllerMessage::kMeshAssignment: return OnMeshOrder(message.mesh_assignment());
    case v1::ControllerMessage::kSubnetOrder: return OnSubnetOrder(message.subnet_order());
    case v1::ControllerMessage::kWelcome:
    case v1::ControllerMessage::kRetryLater:
    case v1::ControllerMessage::BODY_NOT_SET: return;  // Of a newer controller
  }
}

void Agent::OnWelcome(const v1::Welcome& welcome, Moment now) {
  if (state_ != State::kGreeting) return;
  state_ = State::kStreaming;
  streaming_since_ = now.steady;
  heartbeat_interval_ = welcome.heartbeat_interval_ms() == 0
                            ? kHeartbeatDefault
                            : std::chrono::milliseconds(std::clamp<std::uint64_t>(
                                  welcome.heartbeat_interval_ms(), Limit("heartbeat_min_ms"),
                                  Limit("heartbeat_max_ms")));
  heartbeat_at_ = now.steady + heartbeat_interval_;
  spread_ =
      std::min<Duration>(std::chrono::milliseconds(welcome.reconnect_spread_ms()), kSpreadMax);
  confirm_ = welcome.settings_known() && sent_;
  if (!confirm_) sent_.reset();
  awaits_request_ = !confirm_ && welcome.wait_for_request();
  counters_.Restart();
  SendState();
}

void Agent::OnMeshOrder(const v1::MeshAssignment& order) {
  in_mesh_ = !order.ports().empty();
  output_.OrderMesh(order);
}

void Agent::OnSubnetOrder(const v1::SubnetOrder& order) {
  const bool read = !order.device().empty();
  if (std::exchange(reads_subnet_, read) || read) output_.OrderSubnet(order);
}

// Without a controller the mesh has no receiver and would never end.
void Agent::EndOrphanedMesh(Moment now) {
  if (!in_mesh_ || state_ == State::kStreaming) return;
  if (now.steady - disconnected_since_ >= options_.mesh_disconnected_max) OnMeshOrder({});
}

void Agent::SendState() {
  if (state_ != State::kStreaming || awaits_request_) return;
  waiting_ = !output_.Idle();
  if (waiting_) return;
  if (!sent_) return SendSnapshot();
  auto change = Difference(*sent_, *latest_);
  if (!change) {
    if (!confirm_ && !ToBeConfirmed(*sent_, *latest_)) return;
    *change.emplace().mutable_taken_at() = latest_->taken_at();
  }
  v1::AgentMessage message;
  *message.mutable_change() = *change;
  // Not *latest_: small changes of measured values are not sent.
  Apply(*std::move(change), *sent_);
  output_.Send(message);
  if (std::exchange(confirm_, false)) SendCounters();
}

void Agent::SendSnapshot() {
  v1::AgentMessage message;
  *message.mutable_snapshot() = *latest_;
  sent_ = latest_;
  output_.Send(message);
  counters_.Restart();
  SendCounters();
}

// A table follows the snapshot at once; a sample waits until the previous one was sent.
void Agent::SendCounters() {
  if (state_ != State::kStreaming || !sent_) return;
  v1::AgentMessage message;
  if (auto table = counters_.NextTable()) {
    *message.mutable_counter_table() = *std::move(table);
    return output_.Send(message);
  }
  if (!output_.Idle()) return;
  if (auto sample = counters_.NextSample()) {
    *message.mutable_counter_sample() = *std::move(sample);
    output_.Send(message);
  }
}

void Agent::Tick(Moment now) {
  EndOrphanedMesh(now);
  switch (state_) {
    case State::kWaiting:
      // Hello needs the node's identity, which the first inspection reads.
      if (!latest_ || now.steady < next_dial_) return;
      state_ = State::kDialing;
      dialed_at_ = now.steady;
      return output_.Dial();
    case State::kDialing:
    case State::kGreeting:
      if (now.steady - dialed_at_ < options_.welcome_max) return;
      state_ = State::kHangingUp;
      return output_.HangUp();
    case State::kStreaming: {
      if (waiting_) SendState();
      if (now.steady < heartbeat_at_) return;
      heartbeat_at_ = now.steady + heartbeat_interval_;
      v1::AgentMessage message;
      message.mutable_heartbeat()->set_sequence(++heartbeat_sequence_);
      return output_.Send(message);
    }
    case State::kHangingUp: return;
  }
}

SteadyTime Agent::next_tick() const {
  const SteadyTime next = NextOfState();
  if (!in_mesh_ || state_ == State::kStreaming) return next;
  return std::min(next, disconnected_since_ + options_.mesh_disconnected_max);
}

SteadyTime Agent::NextOfState() const {
  switch (state_) {
    case State::kWaiting: return next_dial_;
    case State::kDialing:
    case State::kGreeting: return dialed_at_ + options_.welcome_max;
    case State::kStreaming: return heartbeat_at_;
    case State::kHangingUp: return dialed_at_ + options_.welcome_max + kIdleTick;
  }
  return {};
}

}  // namespace fabric::agent
