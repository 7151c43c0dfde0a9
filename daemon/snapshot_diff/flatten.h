// A snapshot as sorted lines of path and value, which is what can be compared and kept. Pure.
//
// Paths are the fields of the .proto files; elements of lists go by the name that people know them
// by: "net_interfaces[rail0].mtu_bytes", "rdma_devices[mlx5_0].ports[1].state",
// "net_interfaces[rail0].dcb.dscp_to_priority[26]". Enumerators are as proto/names.h shows them.
// Of an element with many fields there is a line for itself: "rdma_devices[mlx5_0]", "there".
// What is different each time that one looks (times, free memory) is left out.
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
using FieldValues = std::vector<FieldValue>;  // Sorted by path, each of which is there once

inline constexpr std::string_view kThere = "there";

// Without counters.
FieldValues Flatten(const v1::NodeSnapshot& snapshot);
// Counters alone.
FieldValues FlattenCounters(const v1::NodeSnapshot& snapshot);

// True for what differs between any two healthy nodes: names, addresses, GUIDs, serial numbers.
bool IsIdentity(std::string_view path);

}  // namespace fabric::snapshot_diff
