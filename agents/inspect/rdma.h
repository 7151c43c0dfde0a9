// Helpers for inspectors of RDMA devices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/inspect/inspector.h"
#include "proto/ports.h"

namespace fabric::inspect {

std::string RdmaPath(const v1::RdmaDevice& device);  // "sys/class/infiniband/mlx5_0"
std::string PortPath(const v1::RdmaDevice& device, const v1::Port& port);  // ".../ports/1"

// Calls `keep` for every port that both snapshots have, for Inspector::keep.
void ForEachSamePort(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot,
                     const std::function<void(v1::Port& before, v1::Port& port)>& keep);

// Devices of RDMA netlink by name; empty without RDMA netlink.
std::map<std::string, host::RdmaDeviceInfo> NetlinkDevices(const Host& host);

// Whether an RDMA port uses the netdev, by netdev_map or by GID.
bool CarriesRdma(const v1::NodeSnapshot& snapshot, std::string_view netdev);

// Whether the netdev belongs to an Ethernet port, or to its bond: lossless settings apply.
bool IsNetdevOfRoce(const v1::NodeSnapshot& snapshot, std::string_view netdev);

// Whether the counters of an RDMA device or netdev may be read: see FunctionClass. True when not
// classified.
template <class DeviceOrNetdev>
bool MayReadCounters(const DeviceOrNetdev& thing) {
  return !thing.has_function() || thing.function().counters_allowed();
}

// The set with that key; adds it if missing. Port 0: the whole device.
v1::CounterSet& PortCounters(v1::NodeSnapshot& snapshot, const std::string& device,
                             std::uint32_t port);
v1::CounterSet& NetdevCounters(v1::NodeSnapshot& snapshot, const std::string& netdev);

}  // namespace fabric::inspect
