#include "daemon/control/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/between_turns.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ActsBetweenTurns;
using ::testing::ElementsAre;

// Each look at it takes `step`.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(Duration step) : step_(step) {}
  Moment Now() const override {
    now_ += step_;
    return {.steady = SteadyTime(now_), .wall = {}};
  }

 private:
  const Duration step_;
  mutable Duration now_ = 1'000s;
};

TEST(TurnRecorder, CountsWaitsAndLengthsByKind) {
  TurnRecorder recorder({});
  recorder.Record({.kind = TurnKind::kHello, .waited = 2ms, .length = 300us}, SteadyTime(100s));
  recorder.Record({.kind = TurnKind::kHello, .waited = 1ms, .length = 70ms}, SteadyTime(101s));
  const TurnRecorder::Counts counts = recorder.Read(SteadyTime(101s));
  ASSERT_EQ(counts.size(), 1u) << "kinds without a turn are absent";
  const TurnCounts& hello = counts.at(TurnKind::kHello);
  EXPECT_THAT(hello.lengths.buckets, ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(hello.waited.buckets, ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_NEAR(hello.lengths.sum_seconds, 0.0703, 1e-9);
  EXPECT_EQ(hello.longest, 70ms);
  EXPECT_EQ(hello.longest_wait, 2ms);
}

TEST(TurnRecorder, ForgetsTheLongestOfTheLastMinuteAndKeepsTheLongestSinceTheStart) {
  TurnRecorder recorder({});
  recorder.Record({.kind = TurnKind::kGone, .waited = 9ms, .length = 8ms}, SteadyTime(1'000s));
  recorder.Record({.kind = TurnKind::kGone, .waited = 1ms, .length = 2ms}, SteadyTime(1'030s));
  const auto longest = [&](Duration at) {
    return recorder.Read(SteadyTime(at)).at(TurnKind::kGone).longest_of_minute;
  };
  EXPECT_EQ(longest(1'059s), 8ms);
  EXPECT_EQ(longest(1'071s), 2ms);
  EXPECT_EQ(longest(1'200s), 0ms);
  const TurnCounts counts = recorder.Read(SteadyTime(1'200s)).at(TurnKind::kGone);
  EXPECT_EQ(counts.longest, 8ms);
  EXPECT_EQ(counts.longest_wait, 9ms);
  EXPECT_EQ(counts.longest_wait_of_minute, 0ms);
}

TEST(TurnLock, ServesInTheOrderOfTheRequests) {
  TurnLock lock;
  std::vector<int> served;
  lock.lock();
  std::vector<std::jthread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      lock.lock();
      served.push_back(n);
      lock.unlock();
    });
    while (lock.waiting() != static_cast<std::uint32_t>(n) + 1) std::this_thread::yield();
  }
  lock.unlock();
  threads.clear();
  EXPECT_THAT(served, ElementsAre(0, 1, 2, 3));
}

TEST(TurnLock, OneHolderAtATime) {
  TurnLock lock;
  std::uint64_t counter = 0;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 4; ++n)
      threads.emplace_back([&] {
        for (int i = 0; i < 2'000; ++i) {
          lock.lock();
          ++counter;
          lock.unlock();
        }
      });
  }
  EXPECT_EQ(counter, 8'000u);
}

// Every entry into the controller is a turn of its kind.
TEST(ControllerTurns, AreMeasuredByKind) {
  testing::ControlWorld world;
  world.ConnectNodes(2);
  (void)world.Node("n1");
  (void)world.OpenFindings();
  world.agents.Disconnect("n2", "power");
  const TurnRecorder::Counts turns = world.controller->Turns();
  for (const TurnKind kind :
       {TurnKind::kHello, TurnKind::kSnapshot, TurnKind::kGone, TurnKind::kCall,
        TurnKind::kListPart, TurnKind::kTickSessions, TurnKind::kTickCampaigns, TurnKind::kTickMesh,
        TurnKind::kTickRules, TurnKind::kTickFindings, TurnKind::kTickCertificates,
        TurnKind::kTickNumbers, TurnKind::kTickStore})
    EXPECT_TRUE(turns.contains(kind)) << TurnKindName(kind);
  EXPECT_EQ(turns.at(TurnKind::kHello).lengths.buckets.size(), 11u);
}

TEST(ControllerTurns, ALongOneIsReportedWithTheRequest) {
  const SteppingClock slow(51ms);
  std::vector<LongTurn> reported;
  testing::ControlWorld world(
      {.on_long_turn = [&](const LongTurn& turn) { reported.push_back(turn); },
       .turn_clock = &slow});
  (void)world.OpenFindings();
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].kind, TurnKind::kListPart);
  EXPECT_EQ(reported[0].detail, "ListFindingsRequest");
  EXPECT_EQ(reported[0].length, 51ms);
  EXPECT_EQ(reported[0].waited, 51ms);
}

TEST(ControllerTurns, ShortOnesAreNotReported) {
  const SteppingClock quick(50ms);
  int reported = 0;
  testing::ControlWorld world(
      {.on_long_turn = [&](const LongTurn&) { ++reported; }, .turn_clock = &quick});
  world.ConnectNodes(1);
  EXPECT_EQ(reported, 0);
}

v1::NodeSnapshot FaultyNode() {
  v1::NodeSnapshot node = testing::RoceNode({.number = 3, .rails = 2});
  testing::LinkDown(node, 0);
  return node;
}

// Whenever the fault is repaired, the answer is complete: with the fault or without.
TEST(ControllerTurns, ValidateAnswersForOneTime) {
  std::set<std::uint32_t> seen;
  for (int when = 0; when < 20; ++when) {
    SCOPED_TRACE(when);
    ActsBetweenTurns between;
    testing::ControlWorld world({.turn_clock = &between});
    world.ConnectNodes(4);
    ASSERT_TRUE(world.agents.SendSnapshot(FaultyNode()).ok());
    world.agents.Advance(1s);
    const std::size_t open = world.OpenFindings().size();
    ASSERT_GT(open, 0U);
    between.act = [&](int turn) {
      if (turn != when) return;
      ASSERT_TRUE(world.agents.SendSnapshot(testing::RoceNode({.number = 3, .rails = 2})).ok());
      world.agents.Advance(1s);
    };
    v1::ValidateResponse response;
    ASSERT_TRUE(world.controller->Call(v1::ValidateRequest(), response, world.agents.now()).ok());
    between.act = {};
    const auto found = static_cast<std::uint32_t>(response.findings_size());
    EXPECT_EQ(response.counts().fail() + response.counts().unknown(), found);
    EXPECT_TRUE(found == 0 || found == open) << found;
    EXPECT_EQ(response.nodes(), 4U);
    seen.insert(found);
  }
  EXPECT_EQ(seen.size(), 2U) << "the fault was repaired before and after the verdicts";
}

TEST(ControllerTurns, ValidateShowsAcknowledgementsOfItsLastTurns) {
  int shown = 0;
  for (int when = 0; when < 10; ++when) {
    ActsBetweenTurns between;
    testing::ControlWorld world({.turn_clock = &between});
    world.ConnectNodes(4);
    ASSERT_TRUE(world.agents.SendSnapshot(FaultyNode()).ok());
    world.agents.Advance(1s);
    v1::ListFindingsResponse open;
    ASSERT_TRUE(world.controller->Call(v1::ListFindingsRequest(), open, world.agents.now()).ok());
    between.act = [&](int turn) {
      if (turn != when) return;
      v1::AcknowledgeFindingRequest request;
      request.set_id(open.findings(0).id());
      request.set_author("ops");
      request.set_note("known");
      v1::Finding finding;
      ASSERT_TRUE(world.controller->Call(request, finding, world.agents.now()).ok());
    };
    v1::ValidateResponse response;
    ASSERT_TRUE(world.controller->Call(v1::ValidateRequest(), response, world.agents.now()).ok());
    between.act = {};
    ASSERT_EQ(response.findings_size(), open.findings_size());
    EXPECT_EQ(response.findings(0).id(), open.findings(0).id());
    shown += response.findings(0).has_acknowledged() ? 1 : 0;
  }
  EXPECT_GT(shown, 1) << "also between the verdicts and the last turn";
}

// The verdicts of Validate are those by the profile of their time.
TEST(ControllerTurns, ValidateAnswersWhenThePolicyChangesMeanwhile) {
  for (int when = 0; when < 10; ++when) {
    SCOPED_TRACE(when);
    ActsBetweenTurns between;
    testing::ControlWorld world({.turn_clock = &between});
    world.ConnectNodes(4);
    ASSERT_TRUE(world.agents.SendSnapshot(FaultyNode()).ok());
    world.agents.Advance(1s);
    const std::size_t open = world.OpenFindings().size();
    between.act = [&](int turn) {
      if (turn != when) return;
      world.controller->SetPolicy({}, world.agents.now());
      world.agents.Advance(1s);
    };
    v1::ValidateResponse response;
    ASSERT_TRUE(world.controller->Call(v1::ValidateRequest(), response, world.agents.now()).ok());
    between.act = {};
    EXPECT_EQ(static_cast<std::size_t>(response.findings_size()), open);
    world.agents.Advance(1s);
    EXPECT_EQ(world.OpenFindings().size(), open);
  }
}

// Nodes are read in several turns.
TEST(ControllerTurns, ACampaignStartsWhenANodeLeavesMeanwhile) {
  for (int when = 0; when < 8; ++when) {
    SCOPED_TRACE(when);
    ActsBetweenTurns between;
    testing::ControlWorld world({.turn_clock = &between});
    world.ConnectNodes(6);
    between.act = [&](int turn) {
      if (turn != when) return;
      world.agents.Disconnect("n5", "gone");
      v1::DeleteNodeRequest request;
      request.set_name("n5");
      v1::NodeSummary removed;
      ASSERT_TRUE(world.controller->Call(request, removed, world.agents.now()).ok());
    };
    const std::string id = world.StartCampaign();
    between.act = {};
    const v1::Campaign campaign = world.Finish(id);
    EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
    EXPECT_GT(campaign.probes_ok(), 0U);
  }
}

}  // namespace
}  // namespace fabric::control
