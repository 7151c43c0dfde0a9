// The answers of the API, straight from the controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;
using ::testing::HasSubstr;

class QueriesTest : public ::testing::Test {
 protected:
  QueriesTest() {
    world_.ConnectNodes(3);
    v1::NodeSnapshot faulty = testing::RoceNode({.number = 2});
    testing::LinkDown(faulty, 1);
    EXPECT_TRUE(world_.agents.SendSnapshot(faulty).ok());
    world_.agents.Advance(300ms);
  }
  ControlWorld world_;
  Controller& controller_ = *world_.controller;
};

TEST_F(QueriesTest, NodesByName) {
  v1::ListNodesResponse response;
  ASSERT_TRUE(controller_.Call(v1::ListNodesRequest(), response, world_.agents.now()).ok());
  ASSERT_EQ(response.nodes_size(), 3);
  EXPECT_EQ(response.nodes(0).name(), "n1");
  const v1::NodeSummary& n2 = response.nodes(1);
  EXPECT_EQ(n2.name(), "n2");
  EXPECT_EQ(n2.devices(), 2u);
  EXPECT_EQ(n2.ports(), 2u);
  EXPECT_EQ(n2.ports_active(), 1u);
  EXPECT_EQ(n2.gpus(), 1u);
  EXPECT_EQ(n2.findings_open(), 1u);
}

TEST_F(QueriesTest, ANodeWithWhatItsVerdictsCover) {
  v1::GetNodeRequest request;
  v1::GetNodeResponse response;
  request.set_name("n1");
  ASSERT_TRUE(controller_.Call(request, response, world_.agents.now()).ok());
  EXPECT_GT(response.coverage().rules_judged(), 50u);
  EXPECT_GT(response.coverage().expectations_missing_size(), 5);
}

TEST_F(QueriesTest, AnUnknownNodeWithTheOneThatWasMeant) {
  v1::GetNodeRequest request;
  v1::GetNodeResponse response;
  request.set_name("n22");
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()),
            Status(Code::kNotFound, "unknown node 'n22'; did you mean 'n2'?"));
  request.set_name(std::string(100'000, 'n'));
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()).code(), Code::kNotFound);
  v1::ListDevicesRequest devices;
  v1::ListDevicesResponse none;
  devices.set_node("x");
  EXPECT_EQ(controller_.Call(devices, none, world_.agents.now()).code(), Code::kNotFound);
  v1::StartCampaignRequest start;
  v1::Campaign campaign;
  start.mutable_spec()->add_nodes("n33");
  EXPECT_EQ(controller_.Call(start, campaign, world_.agents.now()).message(),
            "unknown node 'n33'; did you mean 'n3'?");
}

TEST_F(QueriesTest, DevicesWithWhatProbesAndPeopleNeed) {
  v1::ListDevicesResponse response;
  ASSERT_TRUE(controller_.Call(v1::ListDevicesRequest(), response, world_.agents.now()).ok());
  ASSERT_EQ(response.devices_size(), 6);
  const v1::DeviceSummary& port = response.devices(0);
  EXPECT_EQ(port.node(), "n1");
  EXPECT_EQ(port.device(), "mlx5_0");
  EXPECT_EQ(port.port(), 1u);
  EXPECT_EQ(port.rail(), 0u);
  EXPECT_EQ(port.netdev(), "rail0");
  EXPECT_EQ(port.state(), v1::PORT_STATE_ACTIVE);
  EXPECT_EQ(port.netdev_mtu_bytes(), 9000u);
  EXPECT_EQ(port.pfc_enabled_mask(), 8u);
  EXPECT_EQ(port.trust(), v1::TRUST_DSCP);
  EXPECT_EQ(port.gid(), testing::MappedGid("10.10.0.1"));
  EXPECT_TRUE(port.has_gid_index());
  EXPECT_EQ(response.devices(1).rail(), 1u);

  v1::ListDevicesRequest request;
  request.set_node("n3");
  response.Clear();
  ASSERT_TRUE(controller_.Call(request, response, world_.agents.now()).ok());
  EXPECT_EQ(response.devices_size(), 2);
}

TEST_F(QueriesTest, DevicesOnABondHaveTheDcbOfItsMember) {
  v1::NodeSnapshot bonded = testing::RoceNode({.number = 1});
  testing::PutOnBond(bonded, 0);
  EXPECT_TRUE(world_.agents.SendSnapshot(bonded).ok());
  v1::ListDevicesResponse response;
  ASSERT_TRUE(controller_.Call(v1::ListDevicesRequest(), response, world_.agents.now()).ok());
  const v1::DeviceSummary& port = response.devices(0);
  EXPECT_EQ(port.netdev(), "rail0");
  EXPECT_EQ(port.pfc_enabled_mask(), 8u);
  EXPECT_EQ(port.trust(), v1::TRUST_DSCP);
}

TEST_F(QueriesTest, DevicesOfALostNodeAreNotKnown) {
  world_.agents.Disconnect("n3", "gone");
  v1::ListDevicesResponse response;
  ASSERT_TRUE(controller_.Call(v1::ListDevicesRequest(), response, world_.agents.now()).ok());
  EXPECT_EQ(response.devices_size(), 4);
  v1::ListDevicesRequest request;
  request.set_node("n3");
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()),
            Status(Code::kFailedPrecondition,
                   "node n3 is lost: connection closed: gone: its current devices are unknown"));
}

TEST_F(QueriesTest, FindingsByFilter) {
  const auto count = [&](auto fill) {
    v1::ListFindingsRequest request;
    fill(request);
    v1::ListFindingsResponse response;
    const Status status = controller_.Call(request, response, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
    return response.findings_size();
  };
  EXPECT_EQ(count([](auto&) {}), 1);
  EXPECT_EQ(count([](auto& request) { request.set_node("n2"); }), 1);
  EXPECT_EQ(count([](auto& request) { request.set_node("n1"); }), 0);
  EXPECT_EQ(count([](auto& request) { request.add_nodes("n1"); }), 0);
  EXPECT_EQ(count([](auto& request) {
              request.add_nodes("n1");
              request.add_nodes("n2");
            }),
            1);
  EXPECT_EQ(count([](auto& request) {
              request.set_node("n1");
              request.add_nodes("n2");
            }),
            1);
  EXPECT_EQ(count([](auto& request) { request.set_rule("port_active"); }), 1);
  EXPECT_EQ(count([](auto& request) { request.set_min_severity(v1::SEVERITY_INFO); }), 1);

  v1::ListFindingsRequest request;
  v1::ListFindingsResponse response;
  request.set_rule("port_activ");
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()),
            Status(Code::kNotFound, "unknown rule 'port_activ'; did you mean 'port_active'?"));
  request.set_rule("mtu");
  EXPECT_THAT(controller_.Call(request, response, world_.agents.now()).message(),
              ::testing::StartsWith("unknown rule 'mtu'; rules with this in their names: "));
  request.clear_rule();
  request.set_node("n4");
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()).code(), Code::kNotFound);
  request.clear_node();
  request.add_nodes("n4");
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()).code(), Code::kNotFound);
  request.clear_nodes();
  request.set_min_severity(static_cast<v1::Severity>(9));
  EXPECT_EQ(controller_.Call(request, response, world_.agents.now()).code(),
            Code::kInvalidArgument);
}

TEST_F(QueriesTest, ResolvedFindingsOnRequest) {
  ASSERT_TRUE(world_.agents.SendSnapshot(testing::RoceNode({.number = 2})).ok());
  world_.agents.Advance(300ms);
  v1::ListFindingsRequest request;
  v1::ListFindingsResponse response;
  ASSERT_TRUE(controller_.Call(request, response, world_.agents.now()).ok());
  EXPECT_EQ(response.findings_size(), 0);
  EXPECT_EQ(response.counts().fail(), 0u);
  EXPECT_GT(response.counts().pass(), 0u);
  request.set_include_resolved(true);
  ASSERT_TRUE(controller_.Call(request, response, world_.agents.now()).ok());
  ASSERT_EQ(response.findings_size(), 1);
  EXPECT_EQ(response.findings(0).state(), v1::FINDING_STATE_RESOLVED);
  EXPECT_TRUE(response.findings(0).has_resolved_at());
}

TEST_F(QueriesTest, ValidateJudgesNow) {
  v1::NodeSnapshot faulty = testing::RoceNode({.number = 3});
  testing::LinkDown(faulty, 0);
  ASSERT_TRUE(world_.agents.SendSnapshot(faulty).ok());
  v1::ValidateResponse response;
  ASSERT_TRUE(controller_.Call(v1::ValidateRequest(), response, world_.agents.now()).ok());
  EXPECT_EQ(response.counts().fail(), 2u);
  ASSERT_EQ(response.findings_size(), 2);
  EXPECT_EQ(response.findings(0).subject().node(), "n2");
  EXPECT_EQ(response.findings(1).state(), v1::FINDING_STATE_OPEN);
  EXPECT_TRUE(response.findings(1).has_opened_at());
  EXPECT_EQ(response.nodes(), 3u);
  EXPECT_GT(response.rules(), 0u);
}

TEST_F(QueriesTest, RulesByName) {
  v1::ListRulesResponse response;
  ASSERT_TRUE(controller_.Call(v1::ListRulesRequest(), response, world_.agents.now()).ok());
  ASSERT_GT(response.rules_size(), 0);
  for (int n = 1; n < response.rules_size(); ++n)
    EXPECT_LT(response.rules(n - 1).id(), response.rules(n).id());
}

TEST_F(QueriesTest, WhatCannotBeMeantIsRefused) {
  v1::StartCampaignRequest request;
  v1::Campaign campaign;
  request.mutable_spec()->add_probes()->set_timeout_ms(1);
  const Status status = controller_.Call(request, campaign, world_.agents.now());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("probes[0]"));
}

}  // namespace
}  // namespace fabric::control
