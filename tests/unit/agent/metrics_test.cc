#include "agents/metrics/metrics.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "agents/metrics/metric_families.h"
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
  "gpus": [{"pci_address": "0000:1b:00.0",
            "links": [{"index": 3, "active": true, "crc_data_errors": 7}]}],
  "gaps": [{"inspector": "dcb", "subject": "eth0"}, {"inspector": "dcb", "subject": "eth1"}],
  "counters": [
    {"device": "mlx5_0", "port": 1, "counters": [
      {"name": "port_rcv_data", "value": 4000, "source": 1, "neutral": "rdma_rx_bytes"},
      {"name": "symbol_error", "value": 65535, "source": 1, "saturated": true,
       "neutral": "symbol_errors"},
      {"name": "out_of_sequence", "value": 3, "source": 2, "neutral": "out_of_sequence"},
      {"name": "rx_new_thing", "value": 1, "source": 2}]},
    {"netdev": "rail0", "counters": [
      {"name": "rx_prio3_pause_duration", "value": 2500000, "source": 3,
       "neutral": "pfc_rx_duration_us_prio3"},
      {"name": "outbound_pci_stalled_wr", "value": 35, "source": 3, "unit": "percent",
       "neutral": "pcie_write_stalled_percent"},
      {"name": "rx_pause_ctrl_phy", "value": 9, "source": 3},
      {"name": "pfc_indications_prio3", "value": 6, "source": 4, "neutral": "pfc_rx_frames_prio3"},
      {"name": "pfc_requests_prio3", "value": 5, "source": 4, "neutral": "pfc_tx_frames_prio3"}]}]
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

TEST(Metrics, AKeyWithoutALabelOfItsOwnIsALabel) {
  const std::set<std::string> samples = Samples(Node());
  for (const char* sample :
       {R"(fabric_gpu_nvlink_active{pci_address="0000:1b:00.0",nvlink="3"} 1)",
        R"(fabric_gpu_nvlink_crc_data_errors_total{pci_address="0000:1b:00.0",nvlink="3"} 7)"})
    EXPECT_TRUE(samples.contains(sample)) << sample;
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
           R"(fabric_netdev_pcie_write_stalled_ratio{netdev="rail0"} 0.35)",
           R"(fabric_netdev_driver_statistic{netdev="rail0",counter="rx_pause_ctrl_phy"} 9)",
       })
    EXPECT_TRUE(samples.contains(expected)) << expected << "\n" << ToExposition(Node());
}

TEST(Metrics, TheTlsCertificateHasTheNamesOfTheController) {
  NodeMetrics node = Node();
  EXPECT_EQ(ToExposition(node).find("fabric_tls"), std::string::npos) << "no TLS";
  node.tls = {.not_before = WallTime(std::chrono::seconds(1'700'000'000)),
              .not_after = WallTime(std::chrono::seconds(1'707'776'000)),
              .files_refused = true};
  const auto samples = Samples(node);
  for (const char* expected :
       {"fabric_tls_certificate_not_before_seconds 1700000000",
        "fabric_tls_certificate_not_after_seconds 1707776000", "fabric_tls_files_refused 1"})
    EXPECT_TRUE(samples.contains(expected)) << expected << "\n" << ToExposition(node);
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

TEST(MetricOf, NeutralNamesBecomeBaseUnits) {
  v1::Counter counter;
  EXPECT_FALSE(MetricOf(counter, true)) << "no neutral name";
  counter.set_neutral("of_a_later_agent");
  EXPECT_FALSE(MetricOf(counter, true));
  counter.set_neutral("pfc_rx_duration_us_prio7");
  const auto duration = MetricOf(counter, false);
  ASSERT_TRUE(duration.has_value());
  EXPECT_EQ(duration->name, "fabric_netdev_pfc_pauses_received_seconds_total");
  EXPECT_EQ(duration->priority, "7");
  EXPECT_EQ(duration->scale, 1e-6);
  counter.set_neutral("pcie_read_stalled_percent");
  EXPECT_EQ(MetricOf(counter, false)->name, "fabric_netdev_pcie_read_stalled_ratio");
  EXPECT_TRUE(MetricOf(counter, false)->gauge);
  counter.set_neutral("out_of_buffer");
  EXPECT_EQ(MetricOf(counter, true)->name, "fabric_port_out_of_buffer_total");
  EXPECT_EQ(MetricOf(counter, false)->name, "fabric_netdev_out_of_buffer_total");
}

TEST(Metrics, NodeExporterNamesOnRequest) {
  NodeMetrics node = Node();
  EXPECT_EQ(ToExposition(node).find("node_infiniband"), std::string::npos);
  node.node_exporter = true;
  node.snapshot.mutable_rdma_devices(0)->set_firmware("28.39.1002");
  node.snapshot.mutable_rdma_devices(0)->mutable_ports(0)->set_counter_lifespan_ms(12);
  const auto samples = Samples(node);
  for (const char* expected :
       {R"(node_infiniband_info{board_id="",device="mlx5_0",firmware_version="28.39.1002",)"
        R"(hca_type=""} 1)",
        R"(node_infiniband_state_id{device="mlx5_0",port="1"} 4)",
        R"(node_infiniband_physical_state_id{device="mlx5_0",port="1"} 5)",
        R"(node_infiniband_rate_bytes_per_second{device="mlx5_0",port="1"} 50000000000)",
        R"(node_infiniband_lifespan_seconds{device="mlx5_0",port="1"} 0)",
        R"(node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 4000)",
        R"(node_infiniband_symbol_error_total{device="mlx5_0",port="1"} 65535)",
        R"(node_infiniband_out_of_sequence_packets_received_total{device="mlx5_0",port="1"} 3)"})
    EXPECT_TRUE(samples.contains(expected)) << expected << "\n" << ToExposition(node);
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

int Connected(const HostPort& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  return fd;
}

// Each of them holds a thread of the server until it gives up.
TEST(MetricsEndpoint, ConnectionsWithoutARequestDelayAScrapeForSecondsOnly) {
  const auto endpoint = MetricsEndpoint::Open({.host = "127.0.0.1", .port = 0}, Node);
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
  std::vector<int> fds;
  for (int n = 0; n < 4; ++n) fds.push_back(Connected((*endpoint)->address()));
  const int scrape = fds.emplace_back(Connected((*endpoint)->address()));
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.0\r\n\r\n";
  ASSERT_EQ(::send(scrape, kRequest.data(), kRequest.size(), 0), std::ssize(kRequest));
  pollfd waiting{.fd = scrape, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1) << "no answer within 10 s";
  for (const int fd : fds) ::close(fd);
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
