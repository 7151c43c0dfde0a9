#include "agents/session/shared_state.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "proto/ports.h"

namespace fabric::agent {

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

std::vector<std::string> SharedState::UsersOf(const std::string& device) {
  constexpr std::string_view kSelf = "fabric-agent";  // While it probes
  MutexLock lock(mutex_);
  std::vector<std::string> users;
  for (const v1::RdmaProcess& process : snapshot_.rdma_processes())
    if (process.name() != kSelf &&
        std::ranges::find(process.rdma_devices(), device) != process.rdma_devices().end())
      users.push_back(process.name());
  return users;
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

}  // namespace fabric::agent
