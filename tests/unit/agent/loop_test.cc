#include "agents/session/loop.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabric::agent {
namespace {

using host::EventKind;
using host::EventSet;

// Time goes on only while events are waited for.
class FakeClock final : public Clock {
 public:
  Moment Now() const override { return {.steady = now, .wall = {}}; }
  SteadyTime now{std::chrono::hours(1)};
};

// Says that a link has changed after 5 s, and stops the loop after 40 s.
class FakeEvents final : public host::Events {
 public:
  FakeEvents(FakeClock& clock, std::stop_source& stop) : clock_(clock), stop_(stop) {}

  EventSet Wait(const std::stop_token&, SteadyTime until) override {
    const SteadyTime link = begin_ + std::chrono::seconds(5);
    const bool happens = clock_.now < link && link < until;
    clock_.now = happens ? link : until;
    if (clock_.now >= begin_ + std::chrono::seconds(40)) stop_.request_stop();
    return happens ? EventSet(EventKind::kLink) : EventSet();
  }
  std::vector<Status> TakeProblems() override { return {}; }

 private:
  FakeClock& clock_;
  std::stop_source& stop_;
  const SteadyTime begin_ = clock_.now;
};

TEST(InspectionLoop, InspectsAtTheStartAfterEventsAndForACheck) {
  FakeClock clock;
  std::stop_source stop;
  FakeEvents events(clock, stop);
  SharedState shared({});
  std::vector<EventSet> reasons;
  int delivered = 0;
  InspectionLoop loop{.inspect =
                          [&](EventSet why, const std::stop_token&) {
                            reasons.push_back(why);
                            return v1::NodeSnapshot();
                          },
                      .deliver = [&](const v1::NodeSnapshot&) { ++delivered; },
                      .events = events,
                      .check_interval = std::chrono::seconds(30),
                      .clock = clock,
                      .shared = shared};
  loop.Run(stop.get_token());
  const EventSet link = EventKind::kLink;
  EXPECT_EQ(reasons, (std::vector{EventSet::All(), link, link, EventSet::All(), EventSet::All()}));
  EXPECT_EQ(delivered, 5);
  EXPECT_EQ(shared.inspections(), 5U);
}

TEST(InspectionLoop, DeliversNothingWhenTheInspectionWasStopped) {
  FakeClock clock;
  std::stop_source stop;
  FakeEvents events(clock, stop);
  SharedState shared({});
  InspectionLoop loop{
      .inspect = [&](EventSet, const std::stop_token&) -> std::optional<v1::NodeSnapshot> {
        stop.request_stop();
        return std::nullopt;
      },
      .deliver = [](const v1::NodeSnapshot&) { ADD_FAILURE() << "delivered"; },
      .events = events,
      .check_interval = std::chrono::seconds(30),
      .clock = clock,
      .shared = shared};
  loop.Run(stop.get_token());
  EXPECT_EQ(shared.inspections(), 0U);
}

}  // namespace
}  // namespace fabric::agent
