#include "agents/session/schedule.h"

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
  explicit Inspected(InspectionSchedule& schedule) : schedule_(schedule) {}

  // All that is due up to `end`, in milliseconds after the start.
  void Until(int end) {
    for (; now_ms_ <= end; ++now_ms_) {
      const SteadyTime now = kStart + milliseconds(now_ms_);
      const SteadyTime announced = schedule_.next();
      const EventSet why = schedule_.Take(now);
      EXPECT_EQ(announced <= now, !why.empty()) << now_ms_;
      if (why.empty()) continue;
      at_ms.push_back(now_ms_);
      reasons.push_back(why);
      schedule_.OnInspected(now, now + milliseconds(2));
    }
  }
  std::vector<int> at_ms;
  std::vector<EventSet> reasons;

 private:
  InspectionSchedule& schedule_;
  int now_ms_ = 0;
};

TEST(InspectionSchedule, LooksAtEverythingAtTheStartAndEveryInterval) {
  InspectionSchedule schedule(seconds(30), kStart);
  Inspected inspected(schedule);
  inspected.Until(61'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 30'000, 60'000}));
  EXPECT_EQ(inspected.reasons, (std::vector{kAll, kAll, kAll}));
}

TEST(InspectionSchedule, ActsOnAnEventAtOnceAndLooksTwiceAgain) {
  InspectionSchedule schedule(seconds(30), kStart);
  Inspected inspected(schedule);
  inspected.Until(5'000);
  schedule.OnEvents(EventKind::kLink);
  inspected.Until(20'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 5'001, 5'101, 6'101}));
  const EventSet link = EventKind::kLink;
  EXPECT_EQ(inspected.reasons, (std::vector{kAll, link, link, kAll}));
}

TEST(InspectionSchedule, OfAStormIsATenthOfASecond) {
  InspectionSchedule schedule(seconds(30), kStart);
  Inspected inspected(schedule);
  inspected.Until(4'999);
  for (int ms = 5'000; ms < 6'000; ++ms) {
    schedule.OnEvents(ms % 2 == 0 ? EventKind::kLink : EventKind::kAddress);
    inspected.Until(ms);
  }
  EXPECT_EQ(inspected.at_ms.size(), 1U + 10U);
  EXPECT_EQ(inspected.reasons[1], EventKind::kLink);
  EXPECT_EQ(inspected.reasons[2], EventKind::kLink | EventKind::kAddress);
}

TEST(InspectionSchedule, InAStormLeavesMostOfTheProcessorToOthers) {
  InspectionSchedule schedule(std::chrono::hours(1), kStart);
  EXPECT_EQ(schedule.Take(kStart), kAll);
  SteadyTime now = kStart + seconds(5);
  schedule.OnInspected(kStart, now);  // That checks take long is nothing to events.
  schedule.OnEvents(EventKind::kLink);
  EXPECT_EQ(schedule.Take(now), EventKind::kLink);
  schedule.OnInspected(now, now + milliseconds(500));
  schedule.OnEvents(EventKind::kAddress);
  now += milliseconds(500);
  EXPECT_EQ(schedule.Take(now), EventKind::kLink);  // Looked at again; that is no new event.
  schedule.OnInspected(now, now + milliseconds(500));
  now += milliseconds(1499);
  EXPECT_EQ(schedule.Take(now), kAll);
  EXPECT_EQ(schedule.next(), now + milliseconds(1));
  now += milliseconds(1);
  EXPECT_EQ(schedule.Take(now), EventKind::kAddress);
}

TEST(InspectionSchedule, ACheckCoversWhatIsFresh) {
  InspectionSchedule schedule(seconds(30), kStart);
  Inspected inspected(schedule);
  inspected.Until(29'999);
  schedule.OnEvents(EventKind::kRdma);
  inspected.Until(35'000);
  EXPECT_EQ(inspected.at_ms, (std::vector{0, 30'000, 30'100, 31'100}));
  EXPECT_EQ(inspected.reasons[1], kAll);
  EXPECT_EQ(inspected.reasons[2], EventKind::kRdma);
}

}  // namespace
}  // namespace fabric::agent
