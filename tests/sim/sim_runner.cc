#include "tests/sim/sim_runner.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTakes = 500us;
// As agents/probe/incast.cc
constexpr Duration kBurst = 200ms;
constexpr Duration kSettle = 1500ms;

}  // namespace

void SimRunner::Start(const v1::ProbeAssignment& assignment) {
  std::erase_if(probes_, [](const auto& probe) { return probe.second.finished; });
  std::vector<const probe::RunningProbe*> running;
  for (const auto& [key, probe] : probes_) running.push_back(&probe);
  if (const Status admitted = probe::Admit(assignment, running, kLimits); !admitted.ok()) {
    v1::AgentMessage message;
    *message.mutable_probe_outcome() = probe::Refusal(assignment, admitted);
    return machine_.Report(message);
  }
  const Key key = next_++;
  Probe& probe = probes_[key];
  probe.assignment = assignment;
  probe.deadline = probe::DeadlineOf(assignment, machine_.SteadyNow());
  machine_.OnQueuePairs(assignment, true);
  machine_.Later(machine_.OpenTakes(), [this, key] { Opened(key); });
  machine_.Later(probe.deadline - machine_.SteadyNow(), [this, key] {
    Probe* const late = Find(key);
    if (late == nullptr) return;
    late->late = true;
    Interrupt(key, *late);
  });
}

SimRunner::Probe* SimRunner::Find(Key key) {
  const auto found = probes_.find(key);
  return found == probes_.end() || found->second.finished ? nullptr : &found->second;
}

void SimRunner::Opened(Key key) {
  Probe* const probe = Find(key);
  if (probe == nullptr || probe->phase != Phase::kOpening) return;
  const v1::ProbeAssignment& assignment = probe->assignment;
  const auto address =
      probe::AddressFor(assignment, machine_.FindDevice(assignment.local().device()));
  if (!address.ok()) {
    v1::ProbeResult result;
    result.set_status(v1::PROBE_STATUS_REFUSED);
    result.set_reason(address.status().message());
    result.set_blamed_node(assignment.local().node());
    return End(key, std::move(result));
  }
  if (assignment.spec().has_incast()) {
    probe->watch = machine_.Watch(assignment.local());
    probe->watch.Begin();
  }
  probe->phase = Phase::kWaiting;
  v1::AgentMessage message;
  v1::ProbeReady& ready = *message.mutable_probe_ready();
  ready.set_probe_id(assignment.probe_id());
  ready.set_role(assignment.role());
  ready.mutable_endpoint()->set_gid(address->gid);
  ready.mutable_endpoint()->set_remote_address(machine_.number());
  ready.mutable_endpoint()->set_remote_key(key);
  machine_.Report(message);
  if (probe->remote) return Connect(key);
  if (probe->stopped || probe->late) Interrupt(key, *probe);
}

void SimRunner::Continue(const v1::ProbeStart& start) {
  std::vector<Key> meant;
  for (auto& [key, probe] : probes_) {
    if (probe.finished || !probe::IsFor(probe, start.probe_id(), start.role())) continue;
    probe.remote = start.remote();
    if (probe.phase == Phase::kWaiting) meant.push_back(key);
  }
  for (const Key key : meant) Connect(key);
}

void SimRunner::Connect(Key key) {
  Find(key)->phase = Phase::kConnecting;
  machine_.Later(kConnectTakes, [this, key] { Connected(key); });
}

void SimRunner::Connected(Key key) {
  Probe* const probe = Find(key);
  if (probe == nullptr || probe->phase != Phase::kConnecting) return;
  const bool initiates = probe->assignment.role() == v1::PROBE_ROLE_INITIATOR;
  probe->phase = initiates ? Phase::kRunning : Phase::kResponding;
  probe->begun = machine_.SteadyNow();
  if (!initiates) {
    v1::AgentMessage message;
    message.mutable_probe_armed()->set_probe_id(probe->assignment.probe_id());
    machine_.Report(message);
  }
  if (probe->stopped || probe->late) return Interrupt(key, *probe);
  if (!initiates) return;
  if (probe->assignment.spec().has_incast()) return Burst(key, *probe);
  Run(key, *probe);
}

void SimRunner::Burst(Key key, const Probe& probe) {
  const std::uint32_t wanted = probe.assignment.spec().incast().duration_ms();
  const Duration time = wanted == 0 ? kBurst : std::chrono::milliseconds(wanted);
  machine_.BeginBurst(probe.assignment, time);
  machine_.Later(time + kSettle, [this, key] {
    Probe* const running = Find(key);
    if (running == nullptr || running->phase != Phase::kRunning) return;
    v1::ProbeResult result = machine_.Measure(running->assignment, *running->remote);
    *result.mutable_counter_deltas() = running->watch.End();
    End(key, std::move(result));
  });
}

void SimRunner::Run(Key key, const Probe& probe) {
  const v1::ProbeSpec& spec = probe.assignment.spec();
  const bool begins_well =
      machine_.Measure(probe.assignment, *probe.remote).status() == v1::PROBE_STATUS_OK;
  machine_.Later(machine_.ProbeTakes(spec, begins_well), [this, key, begins_well] {
    Probe* const running = Find(key);
    if (running == nullptr || running->phase != Phase::kRunning) return;
    v1::ProbeResult result = machine_.Measure(running->assignment, *running->remote);
    if (!begins_well || result.status() == v1::PROBE_STATUS_OK) return End(key, std::move(result));
    // It broke on the way: that shows when all has been sent again in vain.
    machine_.Later(machine_.ProbeTakes(running->assignment.spec(), false),
                   [this, key, result = std::move(result)] {
                     Probe* const broken = Find(key);
                     if (broken != nullptr && broken->phase == Phase::kRunning) End(key, result);
                   });
  });
}

void SimRunner::Stop(const v1::ProbeStop& stop) {
  std::vector<Key> meant;
  for (const auto& [key, probe] : probes_)
    if (probe.assignment.probe_id() == stop.probe_id() && !probe.finished) meant.push_back(key);
  for (const Key key : meant) {
    Probe& probe = *Find(key);
    probe.stop_reason = stop.reason();
    probe.stopped = true;
    Interrupt(key, probe);
  }
}

void SimRunner::StopAll(const std::string& reason) {
  std::vector<Key> all;
  for (const auto& [key, probe] : probes_)
    if (!probe.finished) all.push_back(key);
  for (const Key key : all) {
    Probe& probe = *Find(key);
    probe.stop_reason = reason;
    probe.stopped = true;
    Interrupt(key, probe);
  }
}

// Calls into the driver end by themselves: what opens or connects is looked at when it has.
void SimRunner::Interrupt(Key key, Probe& probe) {
  switch (probe.phase) {
    case Phase::kOpening:
    case Phase::kConnecting:
    case Phase::kEnding: return;
    case Phase::kWaiting:
      return End(key, v1::PROBE_STATUS_TIMED_OUT,
                 "the controller did not send the partner's endpoint");
    case Phase::kRunning: {
      v1::ProbeResult result;
      result.set_status(v1::PROBE_STATUS_TIMED_OUT);
      result.set_reason("the probe was not through");
      NameLateEnd(probe, result);
      return End(key, std::move(result));
    }
    case Phase::kResponding: {
      v1::ProbeResult result;
      result.set_status(v1::PROBE_STATUS_OK);
      if (probe.assignment.spec().has_incast())
        *result.mutable_counter_deltas() = probe.watch.End();
      NameLateEnd(probe, result);
      return End(key, std::move(result));
    }
  }
}

void SimRunner::NameLateEnd(const Probe& probe, v1::ProbeResult& result) const {
  probe::NameLateEnd(
      probe.assignment,
      {.stalled = machine_.AwaySince(probe.begun), .elapsed = machine_.SteadyNow() - probe.begun},
      result);
}

void SimRunner::End(Key key, v1::ProbeStatus status, const std::string& reason) {
  v1::ProbeResult result;
  result.set_status(status);
  result.set_reason(reason);
  End(key, std::move(result));
}

// The port is free before the controller hears of it.
void SimRunner::End(Key key, v1::ProbeResult result) {
  Probe& ending = *Find(key);
  ending.phase = Phase::kEnding;
  ending.result = std::move(result);
  machine_.Later(machine_.CloseTakes(), [this, key] {
    Probe* const probe = Find(key);
    if (probe == nullptr) return;
    probe->finished = true;
    machine_.OnQueuePairs(probe->assignment, false);
    v1::AgentMessage message;
    *message.mutable_probe_outcome() =
        probe::FinalOutcome(*probe, std::move(probe->result), probe->stopped);
    machine_.Report(message);
  });
}

void SimRunner::Vanish() {
  for (const auto& [key, probe] : probes_)
    if (!probe.finished) machine_.OnQueuePairs(probe.assignment, false);
  probes_.clear();
}

bool SimRunner::Answers(std::uint32_t key) const {
  const auto found = probes_.find(key);
  return found != probes_.end() && found->second.phase == Phase::kResponding;
}

std::vector<SimRunner::Held> SimRunner::held() const {
  std::vector<Held> held;
  for (const auto& [key, probe] : probes_)
    if (!probe.finished) held.push_back({probe.assignment.probe_id(), probe.deadline});
  return held;
}

}  // namespace fabric::sim
