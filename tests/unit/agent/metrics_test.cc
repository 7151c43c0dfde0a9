#include "agents/metrics.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "agents/metric_names.h"
#include "proto/json.h"
#include "tests/testing/temp_tree.h"

namespace fabric::agent {
namespace {

constexpr std::string_view kNode = R"({
  "node": {"name": "n1", "kernel_release": "6.1.0", "agent_version": "0.1.0"},
  "rdma_devices": [{"name": "mlx5_0", "protocol": 2, "driver": "mlx5_core",
    "ports": [{"number": 1, "state": 4, "physical_state": 5, "link_layer": 2,
               "rate_bps": 400000000000, "active_mtu_bytes": 4096, "netdev": "rail0"}]}],
  "net_interfaces": [{"name": "rail0", "mtu_bytes": 4200, "oper_state": 7, "dcb": {"pfc":
     {"enabled_mask": 8}}}],
  "peer_memory": {"nvidia_peermem_loaded": true},
  "gaps": [{"inspector": "dcb", "subject": "eth0"}, {"inspector": "dcb", "subject": "eth1"}],
  "counters": [
    {"device": "mlx5_0", "port": 1, "counters": [
      {"name": "port_rcv_data", "value": 4000, "source": 1},
      {"name": "symbol_error", "value": 65535, "source": 1, "saturated": true},
      {"name": "out_of_sequence", "value": 3, "source": 2},
      {"name": "rx_new_thing", "value": 1, "source": 2}]},
    {"netdev": "rail0", "counters": [
      {"name": "rx_prio3_pause_duration", "value": 2500000, "source": 3},
      {"name": "rx_queue_17_packets", "value": 9, "source": 3},
      {"name": "pfc_indications_prio3", "value": 6, "source": 4},
      {"name": "pfc_requests_prio3", "value": 5, "source": 4}]}]
})";

NodeMetrics Node() {
  NodeMetrics node;
  EXPECT_TRUE(FromJson(kNode, node.snapshot).ok());
  node.agent = {.connected = true,
                .inspection = std::chrono::milliseconds(12),
                .inspections = 9,
                .messages_dropped = 0,
                .inspectors = {"dcb", "rdma_ports"}};
  return node;
}

// The sample lines of the exposition.
std::set<std::string> Samples(const NodeMetrics& node) {
  std::set<std::string> samples;
  std::istringstream text(ToExposition(node));
  for (std::string line; std::getline(text, line);)
    if (!line.starts_with('#')) samples.insert(line);
  return samples;
}

TEST(Metrics, HoldWhatTheSnapshotSays) {
  const auto samples = Samples(Node());
  for (const char* expected : {
           R"(fabric_agent_connected 1)",
           R"(fabric_agent_inspection_duration_seconds 0.012)",
           R"(fabric_agent_gaps{inspector="dcb"} 2)",
           R"(fabric_agent_gaps{inspector="rdma_ports"} 0)",
           R"(fabric_port_state_id{device="mlx5_0",port="1"} 4)",
           R"(fabric_port_rate_bytes_per_second{device="mlx5_0",port="1"} 50000000000)",
           R"(fabric_port_mtu_bytes{device="mlx5_0",port="1"} 4096)",
           R"(fabric_netdev_mtu_bytes{netdev="rail0"} 4200)",
           R"(fabric_netdev_pfc_enabled{netdev="rail0",priority="3"} 1)",
           R"(fabric_netdev_pfc_enabled{netdev="rail0",priority="4"} 0)",
           R"(fabric_netdev_pfc_frames_sent_total{netdev="rail0",priority="3"} 5)",
           R"(fabric_netdev_pfc_frames_received_total{netdev="rail0",priority="3"} 6)",
           R"(fabric_peer_memory_loaded{module="nvidia_peermem"} 1)",
       })
    EXPECT_TRUE(samples.contains(expected)) << expected << "\n" << ToExposition(Node());
}

TEST(Metrics, CountersHaveNeutralNamesAndUnits) {
  const auto samples = Samples(Node());
  for (const char* expected : {
           R"(fabric_port_received_bytes_total{device="mlx5_0",port="1"} 4000)",
           R"(fabric_port_symbol_errors_total{device="mlx5_0",port="1"} 65535)",
           R"(fabric_port_register_saturated{device="mlx5_0",port="1",counter="symbol_error"} 1)",
           R"(fabric_port_out_of_sequence_total{device="mlx5_0",port="1"} 3)",
           R"(fabric_port_driver_statistic{device="mlx5_0",port="1",counter="rx_new_thing"} 1)",
           R"(fabric_netdev_pfc_pauses_received_seconds_total{netdev="rail0",priority="3"} 2.5)",
       })
    EXPECT_TRUE(samples.contains(expected)) << expected << "\n" << ToExposition(Node());
  EXPECT_EQ(ToExposition(Node()).find("rx_queue_17"), std::string::npos);
}

TEST(Metrics, WhatIsAbsentHasNoSample) {
  NodeMetrics node;
  node.snapshot.add_rdma_devices()->set_name("mlx5_0");
  node.snapshot.mutable_rdma_devices(0)->add_ports()->set_number(1);
  node.snapshot.add_net_interfaces()->set_name("rail0");
  const std::string text = ToExposition(node);
  for (const char* name :
       {"fabric_port_state_id", "fabric_port_mtu_bytes", "fabric_netdev_mtu", "fabric_netdev_pfc",
        "fabric_agent_connected", "fabric_peer_memory", "fabric_agent_inspection"})
    EXPECT_EQ(text.find(name), std::string::npos) << name;
}

TEST(Metrics, NamesOfPrioritiesTakeOneDigit) {
  const auto found = FindCounterName(v1::COUNTER_SOURCE_ETHTOOL, "rx_prio7_pause_duration");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->priority, "7");
  EXPECT_FALSE(FindCounterName(v1::COUNTER_SOURCE_ETHTOOL, "rx_prio8_pause_duration"));
  EXPECT_FALSE(FindCounterName(v1::COUNTER_SOURCE_ETHTOOL, "rx_prio_pause_duration"));
  EXPECT_FALSE(FindCounterName(v1::COUNTER_SOURCE_HW, "rx_prio7_pause_duration"));
}

TEST(Metrics, PassTheCheckOfPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "promtool is not installed (Debian package prometheus)";
  testing::TempTree tree;
  tree.File("metrics", ToExposition(Node()));
  const std::string command =
      "promtool check metrics <" + tree.path() + "/metrics >" + tree.path() + "/report 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream report(tree.path() + "/report");
  EXPECT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(report), {});
}

TEST(MetricsEndpoint, SaysWhereItListensAndThatAnAddressIsTaken) {
  const auto first = MetricsEndpoint::Open({.host = "127.0.0.1", .port = 0}, Node);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const HostPort address = (*first)->address();
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_NE(address.port, 0);
  EXPECT_EQ(MetricsEndpoint::Open(address, Node).status().message(),
            "cannot listen on " + ToString(address) +
                " for metrics: address in use or not of this machine");
}

}  // namespace
}  // namespace fabric::agent
