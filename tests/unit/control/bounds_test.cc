// Requests of clients beyond their bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/bounds.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BoundsTest : public ::testing::Test {
 protected:
  Status Start(const v1::CampaignSpec& spec, v1::Campaign& campaign) {
    v1::StartCampaignRequest request;
    *request.mutable_spec() = spec;
    return world_.controller->Call(request, campaign, world_.agents.now());
  }
  ControlWorld world_;
};

TEST_F(BoundsTest, ACampaignKeepsEachNameOnce) {
  world_.ConnectNodes(2);
  v1::CampaignSpec spec;
  for (int n = 0; n < 1000; ++n) {
    spec.add_nodes(n % 2 == 0 ? "n2" : "n1");
    spec.add_rails(n % 2 == 0 ? 1 : 0);
  }
  v1::Campaign campaign;
  ASSERT_TRUE(Start(spec, campaign).ok());
  EXPECT_THAT(campaign.spec().nodes(), ElementsAre("n1", "n2"));
  EXPECT_THAT(campaign.spec().rails(), ElementsAre(0, 1));
}

TEST_F(BoundsTest, EventsOfACampaignHaveNumbersAndNoNames) {
  world_.ConnectNodes(2);
  v1::CampaignSpec spec;
  spec.add_nodes("n1");
  spec.add_nodes("n2");
  world_.log.events.clear();
  v1::Campaign campaign;
  ASSERT_TRUE(Start(spec, campaign).ok());
  ASSERT_FALSE(world_.log.events.empty());
  const v1::Campaign& event = world_.log.events[0].campaign();
  EXPECT_EQ(event.id(), campaign.id());
  EXPECT_EQ(event.spec().nodes_size(), 0);
  EXPECT_EQ(event.nodes_requested(), 2u);
}

TEST_F(BoundsTest, CampaignsOfOneCallerAreLimited) {
  world_.ConnectNodes(2);
  v1::StartCampaignRequest request;
  v1::Campaign campaign;
  const auto start = [&](const std::string& author) {
    request.set_author(author);
    return world_.controller->Call(request, campaign, world_.agents.now());
  };
  for (std::uint64_t n = 0; n < Limit("campaigns_of_caller"); ++n) ASSERT_TRUE(start("ada").ok());
  EXPECT_EQ(campaign.author(), "ada");
  EXPECT_EQ(start("ada"), Status(Code::kResourceExhausted,
                                 "ada: campaigns_of_caller: expected at most 8 campaigns, saw 9"));
  EXPECT_TRUE(start("grace").ok()) << "another caller";
  EXPECT_TRUE(start("").ok()) << "without TLS, callers have no names";
  (void)world_.Cancel(campaign.id());
  EXPECT_EQ(start(std::string(1000, 'a')).code(), Code::kInvalidArgument);
}

TEST_F(BoundsTest, CampaignsThatRunAreLimited) {
  world_.ConnectNodes(2);
  v1::Campaign campaign;
  for (std::uint64_t n = 0; n < Limit("campaigns_running"); ++n)
    ASSERT_TRUE(Start({}, campaign).ok());
  EXPECT_EQ(
      Start({}, campaign),
      Status(Code::kResourceExhausted, "campaigns_running: expected at most 16 campaigns, saw 17"));
  world_.Cancel("c1");
  world_.agents.Advance(std::chrono::seconds(10));
  EXPECT_TRUE(Start({}, campaign).ok());
}

// It had every agent killed for memory.
TEST_F(BoundsTest, AProbeThatNeedsMoreMemoryThanAnAgentHasIsRefused) {
  world_.ConnectNodes(2);
  v1::CampaignSpec spec;
  auto& bandwidth = *spec.add_probes()->mutable_rc_write_bandwidth();
  bandwidth.set_message_bytes(8 << 20);
  bandwidth.set_queue_pairs(33);
  v1::Campaign campaign;
  const Status refused = Start(spec, campaign);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              HasSubstr("at most 268435456 bytes of memory, which the agent of"));
  bandwidth.set_queue_pairs(4);
  EXPECT_TRUE(Start(spec, campaign).ok());
}

TEST(NodesMax, NodesBeyondTheBoundAreRefused) {
  ControllerOptions options;
  options.nodes_max = 2;
  ControlWorld world(options);
  world.ConnectNodes(2);
  EXPECT_EQ(world.agents.Connect(testing::RoceNode({.number = 3})),
            Status(Code::kResourceExhausted, "nodes: expected at most 2 nodes, saw 3"));
  EXPECT_TRUE(world.agents.Connect(testing::RoceNode({.number = 2})).ok());
}

}  // namespace
}  // namespace fabric::control
