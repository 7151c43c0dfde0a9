// State of the daemon that its threads share: the last snapshot and counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agents/counters/feed.h"
#include "agents/metrics/metrics.h"
#include "agents/probe/gpu/gpu_choice.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// Thread-safe. Returns copies.
class SharedState {
 public:
  explicit SharedState(std::vector<std::string> inspectors) {
    agent_.inspectors = std::move(inspectors);
  }

  void SetSnapshot(const v1::NodeSnapshot& snapshot, Duration inspection);
  // From the first table on, counters are those of the newest sample, not of the inspection.
  void SetCounterTable(const counters::Table& table);
  void SetCounterSample(counters::Sample sample);
  void SetConnected(bool connected);
  void SetDropped(std::uint64_t messages);

  std::optional<v1::RdmaDevice> FindDevice(const std::string& name);
  // The newest table; before the first one, the counters of the inspection.
  counters::CounterSets CounterTable();
  probe::NodeGpus Gpus();
  // Names of other processes that have the RDMA device open.
  std::vector<std::string> UsersOf(const std::string& device);
  std::uint64_t inspections();
  // The counters of the last inspection; empty when they were already taken.
  std::optional<counters::CounterSets> TakeFoundCounters();
  NodeMetrics Metrics();

 private:
  Mutex mutex_;
  v1::NodeSnapshot snapshot_ GUARDED_BY(mutex_);
  std::optional<counters::CounterSets> found_ GUARDED_BY(mutex_);
  std::optional<counters::Table> table_ GUARDED_BY(mutex_);
  counters::Sample sample_ GUARDED_BY(mutex_);
  AgentMetrics agent_ GUARDED_BY(mutex_);
};

}  // namespace fabric::agent
