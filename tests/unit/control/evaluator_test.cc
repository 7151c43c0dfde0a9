#include "daemon/control/evaluator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "base/text.h"
#include "daemon/store/store.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kNodesWithPeers = 200;

class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() : store_(*store::OpenSqlite(":memory:")), outbox_(*store_, bus_) {
    for (std::uint32_t n = 1; n <= kNodesWithPeers; ++n) Report(n, 9000);
  }

  void Report(std::uint32_t number, std::uint32_t mtu) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number});
    testing::SetMtu(node, 0, mtu);
    evaluator_.OnReport(fleet_.Put(std::move(node), now_).name);
  }
  bool Advance() {
    now_.steady += 1ms;
    now_.wall += 1ms;
    return evaluator_.Advance(fleet_, findings_, now_);
  }
  // Titles by id.
  std::map<std::string, std::string> Open() const {
    std::map<std::string, std::string> titles;
    for (const auto& [id, finding] : findings_.open()) titles[id] = finding.title();
    return titles;
  }
  std::map<std::string, std::string> Expected() const {
    rules::Engine engine;
    for (const auto& [name, record] : fleet_.nodes()) engine.Put(record);
    std::map<std::string, std::string> titles;
    for (const v1::Finding& finding : engine.All().findings) titles[finding.id()] = finding.title();
    return titles;
  }

  std::unique_ptr<store::Store> store_;
  EventBus bus_;
  Outbox outbox_;
  fleet::Fleet fleet_;
  Moment now_{SteadyTime(1'000s), WallTime(1'800'000'000s)};
  profile::Profile profile_;
  FindingRegistry findings_{outbox_};
  Evaluator evaluator_{profile_, {}, now_};
};

TEST_F(EvaluatorTest, FindingsChangeOnlyWhenAllIsEvaluated) {
  while (Advance()) {
  }
  for (std::uint32_t n = 1; n <= 90; ++n) Report(n, 1500);
  int steps = 0;
  for (; findings_.open().empty() && !findings_.busy(); ++steps) ASSERT_TRUE(Advance());
  EXPECT_GE(steps, 90 / static_cast<int>(Evaluator::kNodesOfStep) + 3) << "in several parts";
  EXPECT_FALSE(evaluator_.collecting());
  EXPECT_TRUE(evaluator_.changed().empty());
  while (Advance()) {
  }
  EXPECT_GE(Open().size(), 90U);
  EXPECT_EQ(Open(), Expected());
}

TEST_F(EvaluatorTest, NodesThatChangeDuringAnEvaluationAreInThisOrTheNextOne) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t mtu = seed % 2 == 1 ? 1500 : 9000;
    for (std::uint32_t n = 1; n <= 60; ++n) Report(n, mtu);
    bool during = false;
    for (std::uint32_t next = 61; next <= 90;) {
      (void)Advance();
      during = during || evaluator_.collecting();
      if (random() % 2 == 0) Report(next++, mtu);
      if (random() % 8 != 0) continue;
      const std::string name = Format("n{}", 100 + random() % 100);
      if (fleet_.Find(name) == nullptr) continue;
      evaluator_.OnRemoved(name);
      fleet_.Remove(name);
    }
    EXPECT_TRUE(during) << seed;
    while (Advance()) {
    }
    EXPECT_EQ(Open(), Expected()) << seed;
    EXPECT_TRUE(evaluator_.changed().empty());
  }
}

}  // namespace
}  // namespace fabric::control
