#include "tests/testing/counter_rates.h"

#include <cstdlib>

#include "base/text.h"
#include "tests/testing/nodes.h"

namespace fabric::testing {
namespace {

constexpr const char* kOfPort[] = {"ack_timeout",
                                   "cnp_rx_handled",
                                   "cnp_rx_ignored",
                                   "cnp_tx_packets",
                                   "ecn_marked_rx_packets",
                                   "icrc_errors",
                                   "out_of_buffer",
                                   "out_of_sequence",
                                   "rdma_rx_packets",
                                   "rdma_tx_bytes",
                                   "rdma_tx_packets",
                                   "retry_exceeded",
                                   "rnr_nak_received",
                                   "seq_nak_received",
                                   "buffer_overrun_errors",
                                   "link_down_events",
                                   "link_error_recoveries",
                                   "local_link_integrity_errors",
                                   "rx_errors",
                                   "symbol_errors",
                                   "tx_discards",
                                   "rx_constraint_errors",
                                   "adaptive_retrans",
                                   "credit_wait",
                                   "rnr_retry_exceeded"};
constexpr const char* kOfNetdev[] = {"fcs_errors",
                                     "link_down_events",
                                     "symbol_errors",
                                     "rx_discards",
                                     "tx_discards",
                                     "pause_rx_duration_us",
                                     "pause_tx_duration_us",
                                     "pfc_storm_events",
                                     "out_of_buffer",
                                     "pcie_rx_signal_errors",
                                     "pcie_tx_signal_errors",
                                     "fec_corrected_bits",
                                     "fec_uncorrectable_blocks",
                                     "module_high_temperatures",
                                     "module_bus_errors",
                                     "module_shorts",
                                     "pcie_read_stall_events",
                                     "pcie_write_stall_events"};
constexpr const char* kOfPriority[] = {"tx_bytes_prio", "rx_discards_prio", "pfc_rx_frames_prio",
                                       "pfc_rx_duration_us_prio", "pfc_tx_duration_us_prio"};

void Add(const std::string& neutral, v1::CounterSource source, v1::CounterSet& set) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name("the driver's " + neutral);
  counter.set_neutral(neutral);
  counter.set_source(source);
  counter.set_value(1000);
  counter.set_width_bits(64);
}

void AddCounters(v1::NodeSnapshot& node) {
  for (const v1::RdmaDevice& device : node.rdma_devices()) {
    v1::CounterSet& port = *node.add_counters();
    port.set_device(device.name());
    port.set_port(1);
    for (const char* name : kOfPort) Add(name, v1::COUNTER_SOURCE_HW, port);
    if (device.protocol() == v1::PROTOCOL_INFINIBAND) continue;
    v1::CounterSet& netdev = *node.add_counters();
    netdev.set_netdev(device.ports(0).netdev());
    for (const char* name : kOfNetdev) Add(name, v1::COUNTER_SOURCE_ETHTOOL, netdev);
    for (const char* name : kOfPriority)
      for (int priority = 0; priority < 8; ++priority)
        Add(Format("{}{}", name, priority), v1::COUNTER_SOURCE_ETHTOOL, netdev);
  }
}

bool IsOf(const v1::CounterSet& set, const v1::RdmaDevice& device) {
  return set.device() == device.name() ||
         (set.device().empty() && set.netdev() == device.ports(0).netdev());
}

}  // namespace

v1::LldpNeighbor& Hear(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& name,
                       const std::string& port) {
  v1::LldpNeighbor& heard = *node.add_lldp_neighbors();
  heard.set_netdev(NetdevOf(node, rail).name());
  heard.set_source("capture");
  heard.set_chassis_id("chassis of " + name);
  heard.set_system_name(name);
  heard.set_port_id(port);
  heard.set_port_id_subtype(5);
  heard.set_max_frame_bytes(9216);
  heard.mutable_pfc()->set_enabled_mask(1U << 3);
  heard.mutable_pfc()->set_capability(8);
  v1::LldpApp& app = *heard.add_applications();
  app.set_selector(3);
  app.set_protocol(4791);
  app.set_priority(3);
  heard.set_application_announced(true);
  return heard;
}

void WireByRail(std::vector<v1::NodeSnapshot>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (int rail = 0; rail < nodes[i].rdma_devices_size(); ++rail)
      Hear(nodes[i], static_cast<std::uint32_t>(rail), Format("leaf{}", rail),
           Format("swp{}", i + 1));
}

v1::LldpNeighbor& NeighborOf(v1::NodeSnapshot& node, std::uint32_t rail) {
  return *node.mutable_lldp_neighbors(static_cast<int>(rail));
}

Pair PairOf(std::vector<v1::NodeSnapshot> nodes, int seconds) {
  for (v1::NodeSnapshot& node : nodes) AddCounters(node);
  Pair pair{.before = nodes, .after = std::move(nodes)};
  for (v1::NodeSnapshot& node : pair.after)
    node.mutable_taken_at()->set_seconds(node.taken_at().seconds() + seconds);
  return pair;
}

v1::Counter& CounterOf(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral) {
  const v1::RdmaDevice& device = DeviceOf(node, rail);
  v1::Counter* found = nullptr;  // The last one: on Ethernet those of links are the netdev's.
  for (v1::CounterSet& set : *node.mutable_counters()) {
    if (!IsOf(set, device)) continue;
    for (v1::Counter& counter : *set.mutable_counters())
      if (counter.neutral() == neutral) found = &counter;
  }
  if (found == nullptr) std::abort();  // A mistake of the test.
  return *found;
}

v1::Counter& CounterOfPort(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral) {
  for (v1::CounterSet& set : *node.mutable_counters())
    for (v1::Counter& counter : *set.mutable_counters())
      if (set.device() == DeviceOf(node, rail).name() && counter.neutral() == neutral)
        return counter;
  std::abort();  // A mistake of the test.
}

void AddNetdevCounter(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral) {
  const std::string& netdev = DeviceOf(node, rail).ports(0).netdev();
  v1::CounterSet* found = nullptr;
  for (v1::CounterSet& set : *node.mutable_counters())
    if (set.netdev() == netdev) found = &set;
  if (found == nullptr) {
    found = node.add_counters();
    found->set_netdev(netdev);
  }
  Add(neutral, v1::COUNTER_SOURCE_ETHTOOL, *found);
}

void Count(Pair& pair, std::size_t node, std::uint32_t rail, const std::string& neutral,
           std::uint64_t delta) {
  v1::Counter& counter = CounterOf(pair.after[node], rail, neutral);
  counter.set_value(counter.value() + delta);
}

void Busy(Pair& pair, std::size_t node, std::uint32_t rail) {
  constexpr std::uint64_t kBytes = 350'000'000'000;
  constexpr std::uint64_t kPackets = kBytes / 4096;
  Count(pair, node, rail, "rdma_tx_bytes", kBytes);
  Count(pair, node, rail, "rdma_tx_packets", kPackets);
  Count(pair, node, rail, "rdma_rx_packets", kPackets);
  // Incast: marks, notifications, short pauses; the other traffic of the node drops a little.
  Count(pair, node, rail, "ecn_marked_rx_packets", kPackets / 50);
  Count(pair, node, rail, "cnp_tx_packets", kPackets / 500);
  Count(pair, node, rail, "cnp_rx_handled", kPackets / 500);
  Count(pair, node, rail, "cnp_rx_ignored", 40);
  Count(pair, node, rail, "out_of_sequence", kPackets / 5000);
  Count(pair, node, rail, "seq_nak_received", kPackets / 5000);
  Count(pair, node, rail, "ack_timeout", 12);
  Count(pair, node, rail, "rnr_nak_received", kPackets / 5000);
  Count(pair, node, rail, "out_of_buffer", 500);
  if (DeviceOf(pair.after[node], rail).protocol() == v1::PROTOCOL_INFINIBAND) return;
  Count(pair, node, rail, "tx_bytes_prio3", kBytes + kBytes / 50);
  Count(pair, node, rail, "tx_bytes_prio0", 3'000'000'000);
  Count(pair, node, rail, "pfc_rx_frames_prio3", 40'000);
  Count(pair, node, rail, "pfc_rx_duration_us_prio3", 1'500'000);
  Count(pair, node, rail, "pfc_tx_duration_us_prio3", 200'000);
  Count(pair, node, rail, "rx_discards", 900);
}

}  // namespace fabric::testing
