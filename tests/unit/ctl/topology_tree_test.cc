// fabricctl topology --as tree.
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

FakeController SmallFabric() {
  FakeController controller;
  controller.Answer<v1::ListDevicesResponse>() = FromText<v1::ListDevicesResponse>(R"({"devices": [
    {"node": "n10", "device": "mlx5_0", "port": 1, "rail": 0, "leaf": "leaf-1",
     "leaf_port": "swp10", "state": "PORT_STATE_ACTIVE"},
    {"node": "n2", "device": "mlx5_0", "port": 1, "rail": 0, "leaf": "leaf-1", "leaf_port": "swp2",
     "state": "PORT_STATE_ACTIVE"},
    {"node": "n3", "device": "mlx5_0", "port": 1, "rail": 0, "leaf": "leaf-2",
     "state": "PORT_STATE_DOWN"},
    {"node": "n2", "device": "mlx5_1", "port": 1, "rail": 1, "state": "PORT_STATE_ACTIVE"},
    {"node": "n2", "device": "mlx5_9", "port": 1, "state": "PORT_STATE_ACTIVE"}]})");
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(R"({"findings": [
    {"rule": "mtu_equal_on_rail", "severity": "SEVERITY_ERROR", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n2", "device": "mlx5_0", "port": 1}},
    {"rule": "probe_blame", "severity": "SEVERITY_ERROR", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN", "subject": {"scope": "SCOPE_SWITCH", "switch_name": "leaf-1"}},
    {"rule": "port_active", "severity": "SEVERITY_CRITICAL", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN", "silenced": {"id": "s1"},
     "subject": {"scope": "SCOPE_PORT", "node": "n10", "device": "mlx5_0", "port": 1}},
    {"rule": "gid_index_equal_on_rail", "severity": "SEVERITY_WARNING", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN", "subject": {"scope": "SCOPE_RAIL", "rail": 0}}]})");
  return controller;
}

TEST(TopologyTree, ShowsLeavesAndThePortsThatAreNotAsExpected) {
  FakeController controller = SmallFabric();
  EXPECT_EQ(RunWords("topology --as tree", controller).out,
            "rail 0: 3 ports, 2 active  ! gid_index_equal_on_rail (warning)\n"
            "  leaf-1: 2 ports, 2 active: n2, n10  ! probe_blame (error)\n"
            "    n2/mlx5_0/1  ACTIVE  swp2  ! mtu_equal_on_rail (error)\n"
            "  leaf-2: 1 port, 0 active: n3\n"
            "    n3/mlx5_0/1  DOWN\n"
            "rail 1: 1 port, 1 active\n"
            "  unknown leaf: 1 port, 1 active: n2\n"
            "no rail: 1 port, 1 active\n"
            "  unknown leaf: 1 port, 1 active: n2\n");
}

TEST(TopologyTree, WideShowsAllPorts) {
  FakeController controller = SmallFabric();
  const Said said = RunWords("topology --as tree -o wide", controller);
  EXPECT_NE(said.out.find("    n10/mlx5_0/1  ACTIVE  swp10\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("    n2/mlx5_9/1  ACTIVE\n"), std::string::npos) << said.out;
}

TEST(TopologyTree, JsonHasThePorts) {
  FakeController controller = SmallFabric();
  EXPECT_EQ(RunWords("topology --as tree -o json", controller).out,
            RunWords("topology -o json", controller).out);
}

}  // namespace
}  // namespace fabric::ctl
