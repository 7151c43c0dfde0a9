// Bounds of everything that crosses between agents, controller and clients: one table for both
// ends. docs/reference/BOUNDS.md is generated from it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace fabric {

struct Bound {
  // In errors, metrics and findings. "Message.field" is the number of elements of that list.
  std::string_view name;
  std::uint64_t limit;
  std::string_view unit;
  std::string_view doc;
};

inline constexpr Bound kBounds[] = {
    // Messages
    {"agent_message_bytes", 2 << 20, "bytes",
     "Message of an agent. The agent cuts a larger snapshot and reports the cut as a gap."},
    {"agent_message_memory", 8 << 20, "bytes",
     "Memory that a message of an agent takes when it is decoded, counted before decoding."},
    {"controller_message_bytes", 1 << 20, "bytes", "Message of the controller to an agent."},
    {"controller_message_memory", 8 << 20, "bytes",
     "Memory that a message of the controller takes when it is decoded."},
    {"request_bytes", 4 << 20, "bytes", "Request of a client, on gRPC and REST."},
    {"request_memory", 32 << 20, "bytes", "Memory that a request of a client takes."},
    {"list_elements", 1024, "elements", "List without a row of its own."},
    {"text_bytes", 4096, "bytes", "Text without a row of its own."},
    {"timestamp_seconds", 9'000'000'000, "seconds since 1970",
     "Time in a message; at least 0. The controller removes other times from the message."},
    // Lists in messages of agents
    {"NodeSnapshot.rdma_devices", 1024, "elements", "RDMA devices of a node."},
    {"NodeSnapshot.net_interfaces", 4096, "elements", "Netdevs of a node."},
    {"NodeSnapshot.gaps", 4096, "elements", "Gaps of a snapshot."},
    {"NodeSnapshot.counters", 4096, "elements", "Counter sets of a node."},
    {"NodeSnapshot.pci_functions", 4096, "elements", "PCI functions of a node."},
    {"NodeSnapshot.gpu_nic_paths", 8192, "elements", "Pairs of a GPU and an RDMA device."},
    {"SnapshotChange.rdma_devices", 1024, "elements", "Changed RDMA devices."},
    {"SnapshotChange.net_interfaces", 4096, "elements", "Changed netdevs."},
    {"SnapshotChange.removed_net_interfaces", 4096, "elements", "Removed netdevs."},
    {"SnapshotChange.fields", 64, "elements", "Changed fields of a snapshot, each at most once."},
    {"CounterTable.sets", 4096, "elements", "Counter sets of a node."},
    {"CounterSet.counters", 4096, "elements", "Counters of one port or netdev."},
    {"CounterSample.index_steps", 65'536, "elements", "Counters that changed."},
    {"CounterSample.deltas", 65'536, "elements", "Counters that changed."},
    {"CounterSample.resets", 65'536, "elements", "Counters that were reset."},
    {"CounterSample.saturated", 65'536, "elements", "Counters at the maximum of the register."},
    {"CounterSample.lost", 65'536, "elements", "Counters that cannot be read."},
    {"Hello.probe_kinds", 64, "elements", "Probe kinds that an agent can run."},
    {"MeshEndpoints.endpoints", 1024, "elements", "Ports of a node in the mesh."},
    {"MeshWindow.paths", 4096, "elements", "Paths that a node pings."},
    {"PingSummary.flows", 1024, "elements", "Flow labels of one pair of ports."},
    {"LatencySummary.histogram", 2048, "elements", "Buckets of a histogram."},
    {"ProbeResult.mtu_steps", 16, "elements", "MTU sizes that a probe tries."},
    {"ProbeResult.gpu_memory", 64, "elements", "GPU pairs that a probe tries."},
    {"PortCounterDeltas.counters", 256, "elements", "Counters of a port during a probe."},
    {"PortCounterDeltas.missing", 256, "elements", "Counters that a port does not have."},
    {"SubnetPart.data", 256 << 10, "bytes", "Part of the snapshot of an InfiniBand subnet."},
    // Lists in messages to agents
    {"MeshAssignment.ports", 256, "elements", "Ports of a node in the mesh."},
    {"MeshPortAssignment.targets", 4096, "elements", "Targets of one port."},
    {"mesh_flows", 16'384, "flow labels", "Flow labels in the mesh assignment of one node."},
    // Lists in requests of clients
    {"CampaignSpec.nodes", 65'536, "elements", "Nodes that a campaign names."},
    {"CertificateRequest.nodes", 65'536, "elements", "Nodes of a certificate."},
    // One agent
    {"hello_seconds", 10, "seconds", "Time from the start of a stream to Hello."},
    {"heartbeat_min_ms", 100, "ms", "Shortest heartbeat interval that an agent uses."},
    {"heartbeat_max_ms", 60'000, "ms", "Longest heartbeat interval that an agent uses."},
    {"agent_messages_per_second", 100, "messages/s",
     "Messages of one agent, after a burst of the tenfold. The controller reads later."},
    {"agent_bytes_per_second", 1 << 20, "bytes/s",
     "Bytes of one agent, after a burst of the tenfold. The controller reads later."},
    {"agent_changes_per_second", 5, "changes/s",
     "Changes of settings of one agent, after a burst of the tenfold."},
    {"inbox_messages", 64, "messages", "Messages of one agent that wait for the controller."},
    {"inbox_memory", 16 << 20, "bytes", "Memory of messages of one agent that wait."},
    {"outbox_messages", 1024, "messages", "Messages that wait for one agent to read them."},
    {"outbox_bytes", 8 << 20, "bytes", "Bytes that wait for one agent to read them."},
    {"store_node_seconds", 5, "seconds", "Shortest time between two writes of a node's snapshot."},
    {"replacements_per_30_s", 4, "sessions",
     "New sessions of a connected node within 30 s; with more, two machines use its name."},
    {"agent_inbox_messages", 1024, "messages", "Messages that wait in an agent."},
    {"agent_inbox_memory", 16 << 20, "bytes", "Memory of the messages that wait in an agent."},
    {"agent_outbox_bytes", 16 << 20, "bytes",
     "Messages that an agent has not sent. It drops those about probes first."},
    // All agents
    {"nodes", 20'000, "nodes", "Nodes that the controller keeps."},
    {"inbox_memory_total", 512 << 20, "bytes", "Memory of messages of all agents that wait."},
    {"agent_streams", 32'768, "streams", "Streams of agents."},
    {"streams_per_connection", 64, "streams", "Concurrent streams and calls of one connection."},
    {"grpc_memory", 512 << 20, "bytes", "Memory for messages in flight on the gRPC port."},
    {"subnets", 64, "subnets", "InfiniBand subnets that agents read."},
    {"subnets_of_node", 16, "subnets", "InfiniBand subnets that one agent reads."},
    {"subnet_snapshots_bytes", 512 << 20, "bytes", "Decompressed snapshots of all subnets."},
    {"subnet_frame_bytes", 32 << 20, "bytes", "Compressed snapshot of a subnet, from an agent."},
    {"subnet_snapshot_bytes", 256 << 20, "bytes", "Decompressed snapshot of a subnet."},
    {"subnet_snapshot_memory", 1 << 30, "bytes", "Memory of a decoded snapshot of a subnet."},
    {"SubnetSnapshot.nodes", 65'536, "elements", "Nodes of a subnet."},
    {"SubnetSnapshot.contradictions", 65'536, "elements", "Cables that contradict others."},
    {"SubnetSnapshot.silent", 65'536, "elements", "Ports of a subnet without an answer."},
    {"SubnetNode.routes", 64 << 10, "bytes", "Forwarding table of a switch."},
    {"mesh_windows_bytes", 256 << 20, "bytes", "Windows of the mesh that wait to be counted."},
    // Clients
    {"calls_waiting", 1024, "calls", "Calls on the gRPC port that wait for an answer."},
    {"campaigns_running", 16, "campaigns", "Campaigns that run at one time."},
    {"campaigns_of_caller", 8, "campaigns",
     "Campaigns of one person or program that run at one time."},
    {"certificates_of_caller", 8, "certificates",
     "Certificates of one person or program that are in progress."},
    {"certificates_kept_bytes", 256 << 20, "bytes", "Certificates that are kept."},
    {"suggestions", 5, "names", "Unknown names of one request that get a suggestion."},
    // Probes on one node
    {"probe_memory_share_percent", 25, "%",
     "Memory of all probes of an agent, as a share of the memory limit of its cgroup."},
    {"probe_memory_bytes", 256 << 20, "bytes",
     "Memory of all probes of an agent without a memory limit."},
};

// Compile-time lookup; an unknown name does not compile.
consteval const Bound& BoundOf(std::string_view name) {
  for (const Bound& bound : kBounds)
    if (bound.name == name) return bound;
  throw "unknown bound";
}
consteval std::uint64_t Limit(std::string_view name) {
  return BoundOf(name).limit;
}

// A value beyond a bound.
struct Excess {
  const Bound* bound;
  std::uint64_t seen;
};
// RESOURCE_EXHAUSTED: "NodeSnapshot.gaps: expected at most 4096 elements, saw 9000".
Status ToStatus(const Excess& excess);

}  // namespace fabric
