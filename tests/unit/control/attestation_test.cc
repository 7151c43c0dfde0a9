#include "daemon/control/probing/attestation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using ::testing::HasSubstr;

v1::ProbeEndpoint At(const std::string& gid) {
  v1::ProbeEndpoint endpoint;
  endpoint.set_gid(gid);
  return endpoint;
}

TEST(Attestation, AnEndpointIsAtAGidOfTheNode) {
  v1::NodeSnapshot node;
  v1::Port& port = *node.add_rdma_devices()->add_ports();
  port.add_gids()->set_gid("0000:0000:0000:0000:0000:ffff:0a0a:0001");
  EXPECT_TRUE(CheckEndpoint(node, At("::ffff:10.10.0.1")).ok()) << "another way to write it";
  EXPECT_EQ(CheckEndpoint(node, At("::ffff:10.10.0.2")).message(),
            "expected an endpoint with a GID of this node, saw '::ffff:10.10.0.2'");
  EXPECT_FALSE(CheckEndpoint(node, At("")).ok());
  EXPECT_FALSE(CheckEndpoint(node, At("storage")).ok());
  port.clear_gids();
  EXPECT_TRUE(CheckEndpoint(node, At("::ffff:10.10.0.2")).ok()) << "its GIDs are not known";
}

TEST(Attestation, APartnerIsNotAimedAtAThirdParty) {
  testing::ControlWorld world;
  world.ConnectNodes(2);
  world.agents.Behave("n1", testing::Behaviour::kAimsElsewhere);
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  EXPECT_EQ(campaign.probes_ok(), 0u);
  v1::ListCampaignResultsRequest request;
  request.set_id(campaign.id());
  v1::ListCampaignResultsResponse results;
  ASSERT_TRUE(world.controller->Call(request, results, world.agents.now()).ok());
  ASSERT_GT(results.results_size(), 0);
  for (const v1::PairResult& pair : results.results()) {
    EXPECT_EQ(pair.result().blamed_node(), "n1");
    EXPECT_THAT(pair.result().reason(), HasSubstr("expected an endpoint with a GID of this node"));
  }
}

}  // namespace
}  // namespace fabric::control
