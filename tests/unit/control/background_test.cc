// Work outside of turns, and large campaigns whose results are judged there.
#include "daemon/control/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "tests/testing/held_background.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

using Work = std::packaged_task<void()>;

TEST(Background, RunsWorksInOrderAndDestroysThemThere) {
  const std::unique_ptr<Background> background = StartBackground();
  std::vector<int> order;
  auto kept = std::make_shared<int>(7);
  std::weak_ptr<int> alive = kept;
  std::promise<void> done;
  background->Post(Work([&] { order.push_back(1); }));
  background->Post(Work([&, kept = std::move(kept)] { order.push_back(*kept); }));
  background->Post(Work([&] {
    order.push_back(alive.expired() ? 2 : 0);
    done.set_value();
  }));
  done.get_future().wait();
  EXPECT_THAT(order, ElementsAre(1, 7, 2));
}

TEST(Background, ItsEndWaitsForTheWorkThatRuns) {
  std::promise<void> begun;
  bool ended = false;
  std::unique_ptr<Background> background = StartBackground();
  background->Post(Work([&] {
    begun.set_value();
    std::promise<void> never;
    never.get_future().wait_for(std::chrono::milliseconds(20));
    ended = true;
  }));
  begun.get_future().wait();
  background.reset();
  EXPECT_TRUE(ended);
}

constexpr std::uint32_t kNodes = 66;  // Of two ports each: a large campaign

v1::CampaignSpec Ring() {
  v1::CampaignSpec spec;
  spec.set_pattern(v1::CAMPAIGN_PATTERN_RING);
  return spec;
}

TEST(LargeCampaigns, WaitForTheirJudgement) {
  testing::HeldBackground background;
  ControlWorld world({.background = &background});
  world.ConnectNodes(kNodes);
  const std::string id = world.StartCampaign(Ring());
  world.agents.Advance(60s);
  EXPECT_EQ(world.Campaign(id).state(), v1::CAMPAIGN_STATE_RUNNING);
  ASSERT_EQ(background.waiting(), 1u);
  world.agents.Advance(60s);
  EXPECT_EQ(background.waiting(), 1u) << "it is asked once";
  while (world.Campaign(id).state() == v1::CAMPAIGN_STATE_RUNNING) {
    background.Run();
    world.agents.Advance(1s);
  }
  const v1::Campaign judged = world.Campaign(id);

  ControlWorld same;
  same.ConnectNodes(kNodes);
  const v1::Campaign at_once = same.Finish(same.StartCampaign(Ring()));
  EXPECT_EQ(judged.probes_ok(), at_once.probes_ok());
  EXPECT_EQ(judged.blame().state(), at_once.blame().state());
}

TEST(LargeCampaigns, CanBeCancelledWhileTheyAreJudged) {
  testing::HeldBackground background;
  ControlWorld world({.background = &background});
  world.ConnectNodes(kNodes);
  const std::string id = world.StartCampaign(Ring());
  world.agents.Advance(60s);
  ASSERT_EQ(background.waiting(), 1u);
  EXPECT_EQ(world.Cancel(id).state(), v1::CAMPAIGN_STATE_CANCELLED);
  for (int i = 0; i < 5; ++i) {
    background.Run();
    world.agents.Advance(1s);
  }
  EXPECT_TRUE(world.Campaign(id).has_ended_at());
}

}  // namespace
}  // namespace fabric::control
