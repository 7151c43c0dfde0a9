// When reports leave: an adapter without a clock times its answers by when a processor sees them.
#include "agents/probe/ping_answers.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/testing/fake_verbs.h"

namespace fabric::probe {
namespace {

using std::chrono::milliseconds;

constexpr SteadyTime kStart{std::chrono::seconds(100)};

class PingAnswersTest : public ::testing::Test {
 protected:
  void Open(bool hardware_clock) {
    fabric_.SetHardwareClock(hardware_clock);
    const auto open = [&](const std::string& device) {
      testing::FakeVerbs verbs(fabric_);
      return std::move(*verbs.OpenUd({.at = {.device = device},
                                      .payload_bytes_max = kPingBytesMin,
                                      .sends_max = 64,
                                      .receives_max = 64}));
    };
    own_ = open("own");
    partner_ = open("partner");
    path_ = *own_->AddPath(partner_->local(), {});
    answers_.emplace(*own_, kPingBytesMin);
  }
  // The ping comes, and its answer leaves, at once.
  void Answer(bool wake, SteadyTime now) {
    ++sequence_;
    ASSERT_TRUE(answers_->Answer({.wake = wake, .sequence = sequence_}, 0, false, path_).ok());
    See(now);
  }
  void See(SteadyTime now) {
    std::array<host::Datagram, 64> left;
    const auto count = own_->Poll(left);
    for (const host::Datagram& one : std::span(left).first(*count))
      ASSERT_TRUE(answers_->Left(one, false, now).ok());
  }
  int ReportsUntil(SteadyTime now) {
    EXPECT_TRUE(answers_->SendReports(now).ok());
    See(now);
    std::array<host::Datagram, 64> came;
    const auto count = partner_->Poll(came);
    int reports = 0;
    for (const host::Datagram& one : std::span(came).first(*count))
      if (ParsePing(one.payload)->kind == PingMessage::Kind::kReport) ++reports;
    return reports;
  }

  testing::FakeFabric fabric_;
  std::unique_ptr<host::UdQueuePairs> own_, partner_;
  std::uint32_t path_ = 0;
  std::uint32_t sequence_ = 0;
  std::optional<PingAnswers> answers_;
};

TEST_F(PingAnswersTest, AReportFollowsItsAnswerWhereTheAdapterHasAClock) {
  Open(true);
  Answer(false, kStart);
  EXPECT_FALSE(answers_->next_report().has_value());
  EXPECT_EQ(ReportsUntil(kStart), 1);
}

TEST_F(PingAnswersTest, ElseItWaitsUntilNothingWasAnsweredForAWhile) {
  Open(false);
  EXPECT_FALSE(answers_->next_report().has_value());
  Answer(false, kStart);
  EXPECT_EQ(ReportsUntil(kStart + milliseconds(1)), 0);
  Answer(false, kStart + milliseconds(1));
  EXPECT_EQ(ReportsUntil(kStart + milliseconds(2)), 0);
  EXPECT_EQ(answers_->next_report(), kStart + milliseconds(3));
  EXPECT_EQ(ReportsUntil(kStart + milliseconds(3)), 2);
  EXPECT_FALSE(answers_->next_report().has_value());
}

TEST_F(PingAnswersTest, ManyReportsDoNotWait) {
  Open(false);
  for (int n = 0; n < 16; ++n) Answer(false, kStart);
  EXPECT_EQ(ReportsUntil(kStart), 16);
}

TEST_F(PingAnswersTest, APingThatOnlyWakesIsNotReported) {
  Open(false);
  Answer(true, kStart);
  EXPECT_FALSE(answers_->timing());
  EXPECT_EQ(ReportsUntil(kStart + milliseconds(10)), 0);
}

}  // namespace
}  // namespace fabric::probe
