// What becomes of one finding, step by step.
#include "daemon/control/findings/lifecycle.h"

#include <gtest/gtest.h>

#include <chrono>

#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHold = 2min;

class LifeTest : public ::testing::Test {
 protected:
  LifeTest() { now_.wall = WallTime(1'800'000'000s); }

  static v1::Finding Judgement(const std::string& title = "MTU 1500") {
    v1::Finding finding;
    finding.set_id("a");
    finding.set_verdict(v1::VERDICT_FAIL);
    finding.set_title(title);
    return finding;
  }
  void Pass(Duration time) {
    now_.steady += time;
    now_.wall += time;
  }
  Step Found(const std::string& title = "MTU 1500", bool young = false) {
    return lifecycle_.Found(finding_, Judgement(title), young, now_);
  }
  Step Gone() { return Dropped(lifecycle_.Gone(finding_, kHold, now_)); }
  Step Tick(bool young = false) { return Dropped(lifecycle_.Tick(finding_, young, kHold, now_)); }
  // What is resolved leaves the book.
  Step Dropped(Step step) {
    if (step == Step::kResolved) {
      EXPECT_EQ(finding_->state(), v1::FINDING_STATE_RESOLVED);
      finding_.reset();
    }
    return step;
  }
  // Opens and resolves it so many times, a second apart.
  void Flip(int times) {
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(Found(), Step::kOpened);
      Pass(1s);
      const bool flapping = finding_->flapping();
      if (!flapping) {
        EXPECT_EQ(Gone(), Step::kResolved);
      }
      Pass(1s);
    }
  }

  FindingLifecycle lifecycle_;
  std::optional<v1::Finding> finding_;
  Moment now_;
};

TEST_F(LifeTest, OpensChangesAndResolves) {
  EXPECT_EQ(Found(), Step::kOpened);
  EXPECT_EQ(finding_->state(), v1::FINDING_STATE_OPEN);
  EXPECT_EQ(finding_->openings(), 1u);
  const std::int64_t opened = finding_->opened_at().seconds();
  Pass(5s);
  EXPECT_EQ(Found(), Step::kNone);
  EXPECT_EQ(Found("MTU 2000"), Step::kChanged);
  EXPECT_EQ(finding_->opened_at().seconds(), opened);
  EXPECT_EQ(finding_->changed_at().seconds(), opened + 5);
  EXPECT_EQ(Gone(), Step::kResolved);
  EXPECT_EQ(Gone(), Step::kNone);
}

TEST_F(LifeTest, WhatPeopleSaidStaysUntilItIsResolved) {
  Found();
  finding_->mutable_acknowledged()->set_author("ada");
  finding_->mutable_silenced()->set_id("s1");
  EXPECT_EQ(Found(), Step::kNone) << "what people say is no change of the judgement";
  EXPECT_EQ(Found("MTU 2000"), Step::kChanged);
  EXPECT_EQ(finding_->acknowledged().author(), "ada");
  EXPECT_EQ(finding_->silenced().id(), "s1");
  Gone();
  Found();
  EXPECT_FALSE(finding_->has_acknowledged());
}

TEST_F(LifeTest, TheThirdOpeningWithinTheWindowFlaps) {
  Flip(2);
  EXPECT_EQ(Found(), Step::kOpened);
  EXPECT_TRUE(finding_->flapping());
  EXPECT_EQ(finding_->openings(), 3u);
}

TEST_F(LifeTest, OpeningsThatAreFarApartDoNot) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Found(), Step::kOpened);
    EXPECT_FALSE(finding_->flapping());
    EXPECT_EQ(Gone(), Step::kResolved);
    Pass(kFlappingWindow / 2);
    EXPECT_EQ(Tick(), Step::kNone);
  }
}

TEST_F(LifeTest, AFlappingOneIsResolvedOnceItHasStayedMended) {
  Flip(3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Gone(), Step::kNone) << "no flip is told";
    Pass(kHold - 1s);
    EXPECT_EQ(Tick(), Step::kNone);
    EXPECT_EQ(Found(), Step::kNone);
    Pass(1s);
  }
  EXPECT_GE(finding_->openings(), 4u) << "but is counted";
  EXPECT_EQ(Gone(), Step::kNone);
  EXPECT_EQ(Gone(), Step::kNone) << "an evaluation that still does not find it";
  Pass(kHold - 1s);
  EXPECT_EQ(Tick(), Step::kNone);
  Pass(1s);
  EXPECT_EQ(Tick(), Step::kResolved);
  EXPECT_FALSE(lifecycle_.idle());
  EXPECT_EQ(Found(), Step::kOpened);
  EXPECT_TRUE(finding_->flapping()) << "it has not calmed down";
}

TEST_F(LifeTest, WithoutAHoldItIsResolvedAtOnce) {
  Flip(3);
  EXPECT_EQ(lifecycle_.Gone(finding_, Duration::zero(), now_), Step::kResolved);
}

TEST_F(LifeTest, AFlappingOneThatStaysIsAPlainFindingAgain) {
  Flip(3);
  Gone();
  Found();
  Pass(kFlappingWindow - 1s);
  EXPECT_EQ(Tick(), Step::kNone);
  EXPECT_TRUE(finding_->flapping());
  Pass(1s);
  EXPECT_EQ(Tick(), Step::kChanged);
  EXPECT_FALSE(finding_->flapping());
  EXPECT_TRUE(lifecycle_.idle());
  EXPECT_EQ(Gone(), Step::kResolved);
}

TEST_F(LifeTest, WaitsWhileTheMachineIsYoung) {
  EXPECT_EQ(Found("MTU 1500", true), Step::kNone);
  EXPECT_FALSE(finding_.has_value());
  EXPECT_EQ(Found("MTU 2000", true), Step::kNone);
  EXPECT_EQ(Tick(true), Step::kNone);
  EXPECT_EQ(Tick(false), Step::kOpened);
  EXPECT_EQ(finding_->title(), "MTU 2000") << "the newest judgement";
  EXPECT_EQ(Tick(false), Step::kNone);
}

TEST_F(LifeTest, WhatIsMendedInTimeWasNeverThere) {
  Found("MTU 1500", true);
  EXPECT_EQ(Gone(), Step::kNone);
  EXPECT_TRUE(lifecycle_.idle());
  EXPECT_EQ(Tick(false), Step::kNone);
  EXPECT_FALSE(finding_.has_value());
}

TEST_F(LifeTest, WhatIsOpenDoesNotWait) {
  Found();
  EXPECT_EQ(Found("MTU 2000", true), Step::kChanged);
}

TEST_F(LifeTest, NothingIsHeldAgainstALostNode) {
  Flip(3);
  Gone();
  lifecycle_.Unknown();
  Pass(kHold);
  EXPECT_EQ(Tick(), Step::kNone) << "nobody knows whether it is mended";
  EXPECT_EQ(finding_->openings(), 3u);
  EXPECT_EQ(Found(), Step::kNone);
  EXPECT_EQ(finding_->openings(), 3u) << "it never went away";
}

TEST_F(LifeTest, IsRememberedAcrossARestart) {
  Flip(3);
  Pass(kHold);
  lifecycle_ = FindingLifecycle(*finding_, now_);
  EXPECT_EQ(Gone(), Step::kNone) << "it still flaps";
  Pass(kHold);
  EXPECT_EQ(Tick(), Step::kResolved);

  v1::Finding plain = Judgement();
  plain.set_openings(2);
  *plain.mutable_opened_at() = ToProto(now_.wall - kFlappingWindow);
  EXPECT_TRUE(FindingLifecycle(plain, now_).idle()) << "long ago";
  *plain.mutable_opened_at() = ToProto(now_.wall + 1h);
  EXPECT_FALSE(FindingLifecycle(plain, now_).idle()) << "by a clock that was set back since";
}

TEST(SameJudgement, LooksAtWhatTheRuleSays) {
  v1::Finding a;
  a.set_title("MTU 1500");
  a.add_evidence()->set_seen("1500");
  v1::Finding b = a;
  b.mutable_evidence(0)->mutable_read_at()->set_seconds(5);
  b.mutable_changed_at()->set_seconds(5);
  b.set_flapping(true);
  b.set_expired_reason("node n1 is lost");
  EXPECT_TRUE(SameJudgement(a, b));
  b.mutable_evidence(0)->set_seen("2000");
  EXPECT_FALSE(SameJudgement(a, b));
}

}  // namespace
}  // namespace fabric::control
