// The command mesh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMesh = R"({
  "enabled": true, "ports": 4, "windows": 24, "paths_per_leaf_pair": 16,
  "flow_labels_per_leaf_pair": 115, "pings_per_second": 199.96,
  "leaf_pairs": [
    {"from_leaf": "leaf1", "to_leaf": "leaf1", "rail": 0, "port_pairs": 2, "flows": 2, "sent": 400,
     "lost": 0, "voided": 0, "median_us": 4.25, "p99_us": 9},
    {"from_leaf": "leaf1", "to_leaf": "leaf2", "rail": 0, "port_pairs": 2, "flows": 116,
     "sent": 11000, "lost": 100, "voided": 1000},
    {"to_leaf": "leaf2", "rail": 1, "port_pairs": 1, "flows": 115, "sent": 3, "voided": 3}],
  "not_covered": [{"text": "port is DOWN", "node": "n4", "device": "mlx5_0", "port": 1}],
  "blame": {"state": "BLAME_STATE_DECIDED", "observations": 7,
    "suspects": [{"kind": "SUSPECT_KIND_LEAF_PAIR", "name": "leaf1 and leaf2",
                  "fault": "FAULT_KIND_PACKET_LOSS", "confidence": 0.99, "severity": 0.01}]}})";

TEST(MeshCommand, ShowsLossOfThePingsOfWhichSomethingCanBeSaid) {
  FakeController controller;
  controller.Answer<v1::MeshStatus>() = FromText<v1::MeshStatus>(kMesh);
  const Said said = RunWords("mesh -o wide", controller);
  EXPECT_THAT(said.out, HasSubstr("4 ports, 200.0 pings/s"));
  EXPECT_THAT(said.out, HasSubstr("115 flows"));
  EXPECT_THAT(said.out, HasSubstr("4.2 µs"));
  EXPECT_THAT(said.out, HasSubstr("1.00 %")) << "of 10,000";
  EXPECT_THAT(said.out, HasSubstr("not covered: n4/mlx5_0/1: port is DOWN\n"));
  EXPECT_THAT(said.out, HasSubstr("path between leaf1 and leaf2 loses packets (1 %)"));
  EXPECT_EQ(said.status, kExitFindings);
}

TEST(MeshCommand, ThatItIsOffIsSaidWithTheWayToTurnItOn) {
  FakeController controller;
  controller.Answer<v1::MeshStatus>() =
      FromText<v1::MeshStatus>(R"({"reason": "the mesh is off: start fabricd with --mesh on"})");
  const Said said = RunWords("mesh", controller);
  EXPECT_EQ(said.out, "the mesh is off: start fabricd with --mesh on\n");
  EXPECT_EQ(said.status, kExitOk);
}

TEST(MeshCommand, NothingIsSaidOfBlameBeforeSomethingWasCounted) {
  FakeController controller;
  controller.Answer<v1::MeshStatus>() = FromText<v1::MeshStatus>(
      R"({"enabled": true, "blame": {"state": "BLAME_STATE_INSUFFICIENT_DATA"}})");
  const Said said = RunWords("mesh", controller);
  EXPECT_THAT(said.out, Not(HasSubstr("not enough results")));
  EXPECT_THAT(said.err, HasSubstr("No results yet."));
}

TEST(MeshCommand, TheMessageComesWhole) {
  FakeController controller;
  controller.Answer<v1::MeshStatus>() = FromText<v1::MeshStatus>(kMesh);
  const Said said = RunWords("mesh -o json", controller);
  EXPECT_THAT(said.out, HasSubstr("flow_labels_per_leaf_pair"));
}

}  // namespace
}  // namespace fabric::ctl
