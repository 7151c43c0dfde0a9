// The commands nodes, node, devices and version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::HasSubstr;

FakeController TwoNodesOneLost() {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(R"({"nodes": [
    {"name": "n1", "state": "NODE_STATE_CONNECTED", "state_since": "2026-11-21T01:16:05Z",
     "reported_at": "2026-11-21T01:18:00Z", "devices": 2, "ports_active": 2, "ports": 2, "gpus": 1,
     "kernel_release": "6.1.0-28-amd64", "agent_version": "0.1.0"},
    {"name": "n2", "state": "NODE_STATE_LOST", "state_since": "2026-11-21T01:17:00Z",
     "reported_at": "2026-11-21T01:16:57Z", "devices": 2, "ports_active": 1, "ports": 2,
     "findings_open": 12, "gaps": 3, "lost_reason": "no message for 3 s"}]})");
  return controller;
}

FakeController OneNodeInFull() {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(R"({
    "summary": {"name": "n1", "state": "NODE_STATE_CONNECTED", "findings_open": 1,
      "state_since": "2026-11-21T01:16:05Z", "reported_at": "2026-11-21T01:18:00Z",
      "kernel_release": "6.1.0-28-amd64", "agent_version": "0.1.0"},
    "snapshot": {
      "rdma_devices": [
        {"name": "mlx5_0", "driver": "mlx5_core", "firmware": "28.39.1002",
         "pci_address": "0000:17:00.0", "node_guid": "0c42:a103:0065:1f2e",
         "ports": [{"number": 1, "state": "PORT_STATE_ACTIVE",
           "physical_state": "PHYSICAL_STATE_LINK_UP", "link_layer": "LINK_LAYER_ETHERNET",
           "rate_bps": "400000000000", "active_mtu_bytes": 4096, "netdev": "rail0", "lid": 0,
           "gids": [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:0a0a:0001",
                     "type": "GID_TYPE_ROCE_V2", "netdev": "rail0", "ipv4": "10.10.0.1"}]}]},
        {"name": "rxe1", "ports": [{"number": 1, "state": "PORT_STATE_DOWN"}]}],
      "net_interfaces": [
        {"name": "rail0", "mtu_bytes": 9000, "oper_state": "OPER_STATE_UP",
         "speed_bps": "400000000000", "addresses": ["10.10.0.1/24", "fe80::1/64"],
         "driver": "mlx5_core", "pci_address": "0000:17:00.0",
         "dcb": {"pfc": {"enabled_mask": 8}, "trust": "TRUST_DSCP", "app_read": true,
                 "ets": {"tc_tx_bandwidth_percent": [50, 0, 0, 50, 0, 0, 0, 0]},
                 "app": [{"selector": "APP_SELECTOR_DSCP", "protocol": 26, "priority": 3},
                         {"selector": "APP_SELECTOR_DSCP", "protocol": 24, "priority": 3},
                         {"selector": "APP_SELECTOR_DSCP", "protocol": 25, "priority": 3},
                         {"selector": "APP_SELECTOR_DSCP", "protocol": 27, "priority": 4},
                         {"selector": "APP_SELECTOR_DSCP", "protocol": 48, "priority": 6}]}},
        {"name": "rail1", "mtu_bytes": 1500, "oper_state": "OPER_STATE_DOWN"}],
      "gpus": [{"pci_address": "0000:19:00.0", "vendor_id": "10de", "device_id": "2330",
                "driver": "nvidia", "numa_node": 0}],
      "peer_memory": {"nvidia_peermem_loaded": true, "version": "550.54"},
      "gaps": [{"inspector": "dcb", "subject": "rail1", "path": "netlink dcb rail1",
                "code": "GAP_CODE_UNIMPLEMENTED", "reason": "the driver has no DCB"}]},
    "coverage": {"rules_judged": 101, "rules_not_applicable": 60, "rules_without_rates": 14,
      "unread": [{"reason": "not readable: Permission denied", "verdicts": 1,
                  "rules": ["pcie_ats_equal"], "nodes": 1}],
      "expectations_missing": ["rate_bps", "trust"]}})");
  return controller;
}

FakeController TwoPorts() {
  FakeController controller;
  controller.Answer<v1::ListDevicesResponse>() = FromText<v1::ListDevicesResponse>(R"({"devices": [
    {"node": "n1", "rail": 0, "device": "mlx5_0", "port": 1, "netdev": "rail0",
     "protocol": "PROTOCOL_ROCE", "state": "PORT_STATE_ACTIVE",
     "physical_state": "PHYSICAL_STATE_LINK_UP", "rate_bps": "400000000000",
     "active_mtu_bytes": 4096, "netdev_mtu_bytes": 9000, "pfc_enabled_mask": 8,
     "trust": "TRUST_DSCP", "gid": "0000:0000:0000:0000:0000:ffff:0a0a:0001", "gid_index": 3,
     "driver": "mlx5_core", "firmware": "28.39.1002", "pci_address": "0000:17:00.0",
     "rail_source": "product"},
    {"node": "n1", "device": "rxe_management", "port": 1, "state": "PORT_STATE_DOWN"}]})");
  return controller;
}

TEST(Nodes, AreListedWithTheReasonOfALostOne) {
  FakeController controller = TwoNodesOneLost();
  const Said said = RunWords("nodes", controller);
  EXPECT_TRUE(MatchesGolden("ctl/nodes", said.out));
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.status, kExitOk);
}

TEST(Nodes, WideAddsTimesAndVersions) {
  FakeController controller = TwoNodesOneLost();
  EXPECT_TRUE(MatchesGolden("ctl/nodes_wide", RunWords("nodes -o wide", controller).out));
}

TEST(Nodes, InEveryFormatForPrograms) {
  FakeController controller = TwoNodesOneLost();
  EXPECT_TRUE(MatchesGolden("ctl/nodes_json", RunWords("nodes -o json", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/nodes_yaml", RunWords("-oyaml nodes", controller).out));
  EXPECT_EQ(RunWords("nodes --output=name", controller).out, "n1\nn2\n");
}

TEST(Nodes, NoneIsSaidOnStandardError) {
  FakeController controller;
  const Said said = RunWords("nodes", controller);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err, "No nodes; no agent has reported yet.\n");
  EXPECT_EQ(RunWords("nodes --filter state=lost", controller).err, "No node matches.\n");
  EXPECT_EQ(RunWords("probe list", controller).err,
            "No campaigns; start one with `fabricctl probe run`.\n");
  EXPECT_EQ(RunWords("probe list --filter state=done", controller).err, "No campaign matches.\n");
  EXPECT_EQ(said.status, kExitOk);
}

TEST(Node, ShowsPortsSettingsAndGaps) {
  FakeController controller = OneNodeInFull();
  EXPECT_TRUE(MatchesGolden("ctl/node", RunWords("node n1", controller).out));
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n1");
  EXPECT_TRUE(MatchesGolden("ctl/node_wide", RunWords("node n1 -o wide", controller).out));
}

TEST(Node, ShowsProcessesThatUseRdmaAndTheirPods) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"summary": {"name": "n1"}, "snapshot": {
           "rdma_processes": [
             {"name": "train", "pid": 77, "processes": 8, "rdma_devices": ["mlx5_0", "mlx5_1"],
              "pod_uid": "0c1d", "pod_namespace": "ml", "pod_name": "train-0"},
             {"name": "web", "pid": 78, "processes": 1, "pod_uid": "0c1e"}],
           "pods": [{"namespace": "ml", "name": "train-0",
                     "devices": [{"resource": "rdma/hca", "ids": ["1", "2"]}]}]}})");
  const std::string out = RunWords("node n1", controller).out;
  EXPECT_THAT(out, HasSubstr("train     77      8  ml/train-0  mlx5_0 mlx5_1\n"));
  EXPECT_THAT(out, HasSubstr("web       78      1  0c1e        -\n"));
  EXPECT_THAT(out, HasSubstr("ml/train-0  rdma/hca  1 2\n"));
}

TEST(Node, ThatDoesNotExistIsTheControllersAnswer) {
  FakeController controller;
  controller.failure = Status(Code::kNotFound, "unknown node 'n9'; did you mean 'n1'?");
  const Said said = RunWords("node n9", controller);
  EXPECT_EQ(said.err, "fabricctl: unknown node 'n9'; did you mean 'n1'?\n");
  EXPECT_EQ(said.status, kExitError);
}

TEST(Devices, ShowWhatIsAbsentAsADash) {
  FakeController controller = TwoPorts();
  EXPECT_TRUE(MatchesGolden("ctl/devices", RunWords("devices", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/devices_wide", RunWords("devices -o wide", controller).out));
  EXPECT_EQ(RunWords("devices -o name", controller).out, "n1/mlx5_0/1\nn1/rxe_management/1\n");
}

TEST(Devices, OfOneNode) {
  FakeController controller = TwoPorts();
  RunWords("devices", controller);
  EXPECT_EQ(controller.LastRequest<v1::ListDevicesRequest>().node(), "");
  RunWords("devices n1", controller);
  EXPECT_EQ(controller.LastRequest<v1::ListDevicesRequest>().node(), "n1");
}

TEST(Topology, ShowsTheSourceOfEachRail) {
  FakeController controller;
  auto& response = controller.Answer<v1::ListDevicesResponse>();
  for (int i = 1; i <= 6; ++i) {
    v1::DeviceSummary& port = *response.add_devices();
    port.set_node(Format("n{}", i));
    port.set_rail(0);
    port.set_device("mlx5_0");
    port.set_port(1);
    port.set_state(i == 2 ? v1::PORT_STATE_DOWN : v1::PORT_STATE_ACTIVE);
    port.set_pci_address(i == 6 ? "0000:86:00.0" : "0000:17:00.0");
    port.set_rail_source(i == 6 ? "network" : "product");
  }
  EXPECT_EQ(RunWords("topology", controller).out,
            "RAIL  CARD          RAIL BY  PORTS  ACTIVE  NODES\n"
            "   0  0000:17:00.0  product      5       4  n1, n2, n3, n4 and 1 more\n"
            "   0  0000:86:00.0  network      1       1  n6\n");
  EXPECT_EQ(RunWords("topology -o name", controller).out, "0\n");
  FakeController two = TwoPorts();
  EXPECT_EQ(RunWords("topology", two).out,
            "RAIL  CARD          RAIL BY  PORTS  ACTIVE  NODES\n"
            "   0  0000:17:00.0  product      1       1  n1\n");
}

TEST(Version, OfBoth) {
  FakeController controller;
  controller.Answer<v1::GetVersionResponse>() = FromText<v1::GetVersionResponse>(
      R"({"version": "0.1.7", "started_at": "2026-11-21T01:16:05Z"})");
  const Said said = RunWords("version", controller);
  EXPECT_TRUE(said.out.ends_with("\nfabricd   0.1.7, up since 2026-11-21T01:16:05Z\n")) << said.out;
  EXPECT_EQ(said.status, kExitOk);
}

TEST(Version, WorksWithoutAController) {
  FakeController controller;
  controller.failure =
      Status(Code::kUnavailable, "cannot reach the controller at h:1: connection refused");
  const Said said = RunWords("version", controller);
  EXPECT_TRUE(said.out.starts_with("fabricctl ")) << said.out;
  EXPECT_TRUE(said.out.ends_with(
      "\nfabricd   - (cannot reach the controller at h:1: connection refused)\n"))
      << said.out;
  EXPECT_EQ(said.status, kExitOk);
}

}  // namespace
}  // namespace fabric::ctl
