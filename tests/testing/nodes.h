// Healthy nodes as their agents would report them, and the faults that tests plant in them.
// On every built node the port of rail r is device r, its netdev "rail<r>", its address
// 10.10.<r>.<number>; all nodes have an "eth0" for management.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

struct NodeOptions {
  std::uint32_t number = 1;  // Node "n<number>", from 1
  std::uint32_t rails = 2;
  bool gpu = true;  // An NVIDIA GPU with nvidia_peermem loaded
};

// ConnectX, RoCE: mlx5_0 ..., MTU 9000, PFC on priority 3, trust DSCP, DSCP d to priority d / 8.
v1::NodeSnapshot RoceNode(const NodeOptions& options);
// A guest of the lab: rxe0 ... without PCI address over netdevs that behave like mlx5, MTU 4200.
v1::NodeSnapshot LabNode(const NodeOptions& options);
// Soft-RoCE over cards without DCB: no PFC, no trust, a gap says so.
v1::NodeSnapshot RxeNode(const NodeOptions& options);
// Broadcom: bnxt_re0 ..., DSCP entries only for 26 and 48, as the driver's users set them.
v1::NodeSnapshot BnxtNode(const NodeOptions& options);
// InfiniBand: mlx5_0 ... with LIDs, IPoIB netdevs of MTU 2044, no DCB.
v1::NodeSnapshot InfinibandNode(const NodeOptions& options);
// iWARP: Ethernet ports of an RNIC.
v1::NodeSnapshot IwarpNode(const NodeOptions& options);

// n1 ... n<count> made by one of the functions above.
std::vector<v1::NodeSnapshot> Nodes(std::uint32_t count,
                                    v1::NodeSnapshot (*make)(const NodeOptions&),
                                    NodeOptions options = {});

// Parts of a built node.
v1::RdmaDevice& DeviceOf(v1::NodeSnapshot& node, std::uint32_t rail);
v1::Port& PortOf(v1::NodeSnapshot& node, std::uint32_t rail);
v1::NetInterface& NetdevOf(v1::NodeSnapshot& node, std::uint32_t rail);

// Faults. Each changes all that the machine would show.
void SetMtu(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t mtu_bytes);
void SetPfc(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t enabled_mask);
void TrustPcp(v1::NodeSnapshot& node, std::uint32_t rail);
void MapDscp(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t dscp,
             std::uint32_t priority);
void LinkDown(v1::NodeSnapshot& node, std::uint32_t rail);     // Carrier lost
void DropAddress(v1::NodeSnapshot& node, std::uint32_t rail);  // Only link-local GIDs stay
void SetAddress(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& ipv4);
void UnloadPeermem(v1::NodeSnapshot& node);

// Makes the netdev of the port a bond of one member. The member "rail<r>a" keeps the link settings:
// DCB, congestion control, driver. NetdevOf() returns the member from then on.
void PutOnBond(v1::NodeSnapshot& node, std::uint32_t rail);

// "0000:0000:0000:0000:0000:ffff:0a0a:0001" for "10.10.0.1".
std::string MappedGid(const std::string& ipv4);

}  // namespace fabric::testing
