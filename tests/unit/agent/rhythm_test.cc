#include "agents/session/rhythm.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabric::agent {
namespace {

using host::EventKind;
using host::EventSet;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};
constexpr EventSet kAll = EventSet::All();

// Takes inspections of 2 ms each when they are due, and notes when that was.
class Inspected {
 public:
  explicit Inspected(Rhythm& rhythm) : rhythm_(rhythm) {}

  // All that is due up to `end`, in milliseconds after the start.
  void Until(int end) {
    for (; now_ms_ <= end; ++now_ms_) {
      const SteadyTime now = kStart + milliseconds(now_ms_);
      const SteadyTime announced = rhythm_.next();
      const EventSet why = rhythm_.Take(now);
      EXPECT_EQ(announced <= now, !why.empty()) << now_ms_;
      if (why.empty()) continue;
      at_ms.push_back(now_ms_);
      reasons.push_back(why);
      rhythm_.OnInspected(now, now + milliseconds(2));
    }
  }
  std::vector<int> at_ms;
  std::vector<EventSet> reasons;

 private:
  Rhythm& rhythm_;
  int now_ms_ = 0;
};

TEST(Rhythm, LooksAtEverythingAtTheStartAndEveryInterval) {
  Rhythm rhythm(seconds(30), kStart);
  Inspected inspected(rhythm);
  inspected.Until(61'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 30'000, 60'000}));
  EXPECT_EQ(inspected.reasons, (std::vector{kAll, kAll, kAll}));
}

TEST(Rhythm, ActsOnAnEventAtOnceAndLooksTwiceAgain) {
  Rhythm rhythm(seconds(30), kStart);
  Inspected inspected(rhythm);
  inspected.Until(5'000);
  rhythm.OnEvents(EventKind::kLink);
  inspected.Until(20'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 5'001, 5'101, 6'101}));
  const EventSet link = EventKind::kLink;
  EXPECT_EQ(inspected.reasons, (std::vector{kAll, link, link, kAll}));
}

TEST(Rhythm, OfAStormIsATenthOfASecond) {
  Rhythm rhythm(seconds(30), kStart);
  Inspected inspected(rhythm);
  inspected.Until(4'999);
  for (int ms = 5'000; ms < 6'000; ++ms) {
    rhythm.OnEvents(ms % 2 == 0 ? EventKind::kLink : EventKind::kAddress);
    inspected.Until(ms);
  }
  EXPECT_EQ(inspected.at_ms.size(), 1U + 10U);
  EXPECT_EQ(inspected.reasons[1], EventKind::kLink);
  EXPECT_EQ(inspected.reasons[2], EventKind::kLink | EventKind::kAddress);
}

TEST(Rhythm, InAStormLeavesMostOfTheProcessorToOthers) {
  Rhythm rhythm(std::chrono::hours(1), kStart);
  EXPECT_EQ(rhythm.Take(kStart), kAll);
  SteadyTime now = kStart + seconds(5);
  rhythm.OnInspected(kStart, now);  // That checks take long is nothing to events.
  rhythm.OnEvents(EventKind::kLink);
  EXPECT_EQ(rhythm.Take(now), EventKind::kLink);
  rhythm.OnInspected(now, now + milliseconds(500));
  rhythm.OnEvents(EventKind::kAddress);
  now += milliseconds(500);
  EXPECT_EQ(rhythm.Take(now), EventKind::kLink);  // Looked at again; that is no new event.
  rhythm.OnInspected(now, now + milliseconds(500));
  now += milliseconds(1499);
  EXPECT_EQ(rhythm.Take(now), kAll);
  EXPECT_EQ(rhythm.next(), now + milliseconds(1));
  now += milliseconds(1);
  EXPECT_EQ(rhythm.Take(now), EventKind::kAddress);
}

TEST(Rhythm, ACheckCoversWhatIsFresh) {
  Rhythm rhythm(seconds(30), kStart);
  Inspected inspected(rhythm);
  inspected.Until(29'999);
  rhythm.OnEvents(EventKind::kRdma);
  inspected.Until(35'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 30'000, 30'100, 31'100}));
  EXPECT_EQ(inspected.reasons[1], kAll);
  EXPECT_EQ(inspected.reasons[2], EventKind::kRdma);
}

}  // namespace
}  // namespace fabric::agent
