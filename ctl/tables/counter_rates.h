// Rates of the counters of ports from two snapshots of a node. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::ctl {

// An RDMA port with the counter sets of the port and of its netdev.
struct PortCounters {
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
  std::vector<const v1::CounterSet*> sets;
};
std::vector<PortCounters> PortsWithCounters(const v1::NodeSnapshot& snapshot);

// Sum of the counters with this neutral name, or with the beginning if it ends with '*'. Absent:
// the port has no such counter, or one of them is saturated. Only the first source that has it
// counts.
std::optional<std::uint64_t> CounterSum(const PortCounters& port, std::string_view neutral);

struct PortRates {
  std::string path;  // "n1/mlx5_0/1"
  std::string netdev;
  v1::PortState state = v1::PORT_STATE_UNSPECIFIED;
  // Per second. Absent: no counter, or it was reset between the snapshots.
  std::optional<double> sent_bps, received_bps, pauses_sent, pauses_received, congestion, errors;
};

// Empty if the two snapshots have the same time: the agent has not reported again.
std::vector<PortRates> RatesBetween(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

}  // namespace fabric::ctl
