// Flattened snapshots: sorted (path, value) pairs, which can be compared and stored. Pure.
// Paths are the fields of the .proto files; list elements are identified by name:
// "net_interfaces[rail0].mtu_bytes", "rdma_devices[mlx5_0].ports[1].state",
// "net_interfaces[rail0].dcb.dscp_to_priority[26]". Enumerators are written as in proto/names.h. An
// element with many fields has an entry of its own: "rdma_devices[mlx5_0]", "there". Values that
// change with each inspection (times, free memory) are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::snapshot_diff {

struct FieldValue {
  std::string path;
  std::string value;
  bool counter = false;
};
using FieldValues = std::vector<FieldValue>;  // Sorted by path; unique

inline constexpr std::string_view kThere = "there";

// Without counters.
FieldValues Flatten(const v1::NodeSnapshot& snapshot);
// Only counters.
FieldValues FlattenCounters(const v1::NodeSnapshot& snapshot);

// True for values that differ between healthy nodes: names, addresses, GUIDs, serial numbers.
bool IsIdentity(std::string_view path);

}  // namespace fabric::snapshot_diff
