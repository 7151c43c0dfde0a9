#include "agents/session/loop.h"

#include <algorithm>
#include <utility>

#include "agents/session/schedule.h"
#include "base/log.h"
#include "proto/ports.h"

namespace fabric::agent {
namespace {

constexpr Duration kTickMax = std::chrono::seconds(1);
constexpr Duration kTickMin = std::chrono::milliseconds(1);

}  // namespace

void SharedState::SetSnapshot(const v1::NodeSnapshot& snapshot, Duration inspection) {
  MutexLock lock(mutex_);
  snapshot_ = snapshot;
  found_ = snapshot.counters();
  if (table_) snapshot_.clear_counters();
  agent_.inspection = inspection;
  ++agent_.inspections;
}

void SharedState::SetCounterTable(const counters::Table& table) {
  MutexLock lock(mutex_);
  table_ = table;
}

void SharedState::SetCounterSample(counters::Sample sample) {
  MutexLock lock(mutex_);
  sample_ = std::move(sample);
  snapshot_.clear_counters();
}

std::optional<counters::CounterSets> SharedState::TakeFoundCounters() {
  MutexLock lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

void SharedState::SetConnected(bool connected) {
  MutexLock lock(mutex_);
  agent_.connected = connected;
}

void SharedState::SetDropped(std::uint64_t messages) {
  MutexLock lock(mutex_);
  agent_.messages_dropped = messages;
}

std::optional<v1::RdmaDevice> SharedState::FindDevice(const std::string& name) {
  MutexLock lock(mutex_);
  const v1::RdmaDevice* const device = FindNamed(snapshot_.rdma_devices(), name);
  return device == nullptr ? std::nullopt : std::optional(*device);
}

counters::CounterSets SharedState::CounterTable() {
  MutexLock lock(mutex_);
  return table_ ? table_->sets : snapshot_.counters();
}

probe::NodeGpus SharedState::Gpus() {
  MutexLock lock(mutex_);
  return {.gpus = {snapshot_.gpus().begin(), snapshot_.gpus().end()},
          .paths = {snapshot_.gpu_nic_paths().begin(), snapshot_.gpu_nic_paths().end()},
          .peer_memory = snapshot_.peer_memory()};
}

std::uint64_t SharedState::inspections() {
  MutexLock lock(mutex_);
  return agent_.inspections;
}

NodeMetrics SharedState::Metrics() {
  MutexLock lock(mutex_);
  NodeMetrics metrics{.snapshot = snapshot_, .agent = agent_};
  if (table_ && sample_.table == table_->number)
    *metrics.snapshot.mutable_counters() = counters::WithValues(table_->sets, sample_.values);
  return metrics;
}

void ReportsOverLink::Ready(const v1::ProbeReady& ready) {
  v1::AgentMessage message;
  *message.mutable_probe_ready() = ready;
  link_.Send(message);
}

void ReportsOverLink::Armed(const v1::ProbeArmed& armed) {
  v1::AgentMessage message;
  *message.mutable_probe_armed() = armed;
  link_.Send(message);
}

void ReportsOverLink::Outcome(const v1::ProbeOutcome& outcome) {
  v1::AgentMessage message;
  *message.mutable_probe_outcome() = outcome;
  link_.Send(message);
}

void InspectionLoop::Run(const std::stop_token& stop) {
  InspectionSchedule schedule(check_interval, clock.Now().steady);
  while (!stop.stop_requested()) {
    const SteadyTime begun = clock.Now().steady;
    const host::EventSet why = schedule.Take(begun);
    if (why.empty()) {
      schedule.OnEvents(events.Wait(stop, schedule.next()));
      for (const Status& problem : events.TakeProblems())
        log::Warning("changes may be seen late: {}", problem.message());
      continue;
    }
    std::optional<v1::NodeSnapshot> snapshot = inspect(why, stop);
    const SteadyTime ended = clock.Now().steady;
    schedule.OnInspected(begun, ended);
    log::Debug("inspected{} in {:.1f} ms",
               why == host::EventSet::All() ? " all" : " after an event",
               std::chrono::duration<double, std::milli>(ended - begun).count());
    if (!snapshot) continue;
    shared.SetSnapshot(*snapshot, ended - begun);
    deliver(*std::move(snapshot));
  }
}

void AgentLoop::Run(const std::stop_token& stop) {
  std::string last_reason;
  bool connected = false;
  while (!stop.stop_requested()) {
    const Duration wait = agent.next_tick() - clock.Now().steady;
    auto event = inbox.Next(stop, std::clamp(wait, kTickMin, kTickMax));
    const Moment now = clock.Now();
    if (event) {
      if (auto* snapshot = std::get_if<v1::NodeSnapshot>(&*event))
        agent.OnSnapshot(std::move(*snapshot), now);
      else if (auto* table = std::get_if<counters::Table>(&*event))
        agent.OnCounterTable(std::move(*table));
      else if (auto* sample = std::get_if<counters::Sample>(&*event))
        agent.OnCounterSample(std::move(*sample));
      else if (const auto* message = std::get_if<v1::ControllerMessage>(&*event))
        agent.OnMessage(*message, now);
      else if (std::holds_alternative<Connected>(*event))
        agent.OnConnected(now);
      else if (const auto* gone = std::get_if<Disconnected>(&*event)) {
        agent.OnDisconnected(gone->why, now);
        if (std::exchange(last_reason, gone->why.message()) != gone->why.message())
          log::Warning("not connected to {}: {}", controller, gone->why.message());
      }  // Idle: Tick() sends what has waited for it.
    }
    agent.Tick(now);
    if (agent.connected() != connected) {
      connected = agent.connected();
      shared.SetConnected(connected);
      if (connected) log::Info("connected to {}", controller);
      if (connected) last_reason.clear();
    }
    shared.SetDropped(link.dropped());
  }
}

}  // namespace fabric::agent
