#include "daemon/control/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/fake_agents.h"

namespace fabric::control {
namespace {

using ::testing::ElementsAre;
using testing::EventLog;
using ::testing::IsEmpty;

v1::Event About(const std::string& node) {
  v1::Event event;
  event.mutable_node()->set_name(node);
  return event;
}

std::vector<std::uint64_t> Numbers(const std::vector<v1::Event>& events) {
  std::vector<std::uint64_t> numbers;
  for (const v1::Event& event : events) numbers.push_back(event.sequence());
  return numbers;
}

v1::WatchEventsRequest After(const std::string& cursor) {
  v1::WatchEventsRequest request;
  request.set_after_cursor(cursor);
  return request;
}

// What a watcher sees from here on: "3" for an event, "gap 2: REASON" for a gap.
std::vector<std::string> Seen(const EventBus& bus, EventCursor& cursor) {
  std::vector<std::string> seen;
  while (const auto event = bus.Next(cursor))
    seen.push_back(event->has_gap()
                       ? "gap " + std::to_string(event->sequence()) + ": " + event->gap().reason()
                       : std::to_string(event->sequence()));
  return seen;
}
std::vector<std::string> SeenAfter(const EventBus& bus, const std::string& text) {
  EventCursor cursor = *bus.Start(After(text));
  return Seen(bus, cursor);
}

TEST(EventBus, NumbersEventsAndPassesThemToListeners) {
  EventBus bus;
  EventLog first, second;
  bus.Subscribe(first);
  bus.Publish(About("n1"));
  bus.Subscribe(second);
  bus.Publish(About("n2"));
  bus.Unsubscribe(first);
  bus.Publish(About("n3"));
  EXPECT_THAT(Numbers(first.events), ElementsAre(1, 2));
  EXPECT_THAT(Numbers(second.events), ElementsAre(2, 3));
}

TEST(EventBus, AWatcherStartsNowOrBehindItsCursor) {
  EventBus bus(0xab);
  for (int n = 0; n < 5; ++n) bus.Publish(About("n1"));
  EventCursor now = *bus.Start({});
  EXPECT_THAT(Seen(bus, now), IsEmpty());
  EXPECT_EQ(now.Text(), "ab-5");
  bus.Publish(About("n2"));
  EXPECT_EQ(bus.Next(now)->cursor(), "ab-6");
  EXPECT_THAT(SeenAfter(bus, "ab-4"), ElementsAre("5", "6"));
  v1::WatchEventsRequest by_number;
  by_number.set_after_sequence(5);
  EventCursor cursor = *bus.Start(by_number);
  EXPECT_THAT(Seen(bus, cursor), ElementsAre("6"));
  EXPECT_EQ(bus.Start(After("5")).status().message(),
            "expected the cursor of an event, such as 1f03c2a9-40, saw '5'");
}

TEST(EventBus, ACursorOfAnotherRunIsAGap) {
  EventBus bus(2);
  for (int n = 0; n < 2; ++n) bus.Publish(About("n1"));
  EXPECT_THAT(SeenAfter(bus, "1-1"), ElementsAre("gap 0: the controller restarted", "1", "2"))
      << "its number is one of this run, too";
  EXPECT_THAT(SeenAfter(bus, "1-900"), ElementsAre("gap 0: the controller restarted", "1", "2"));
  EXPECT_THAT(SeenAfter(bus, "2-900").front(), ::testing::StartsWith("gap 0: expected an event"));
}

TEST(EventBus, DiscardedEventsAreAGapWithTheirNumber) {
  EventBus bus(1, {.events = 3});
  for (int n = 0; n < 10; ++n) bus.Publish(About("n1"));
  EXPECT_THAT(SeenAfter(bus, "1-2"), ElementsAre("gap 7: 5 events discarded", "8", "9", "10"));
  EXPECT_THAT(SeenAfter(bus, "1-7"), ElementsAre("8", "9", "10"));
  EventCursor slow = *bus.Start(After("1-9"));
  for (int n = 0; n < 10; ++n) bus.Publish(About("n1"));
  const auto gap = bus.Next(slow);
  EXPECT_EQ(gap->gap().missed(), 8u);
  EXPECT_EQ(gap->cursor(), "1-17") << "to resume behind the gap";
}

TEST(EventBus, KeepsAtMostItsBytesWhateverTheEventsAre) {
  constexpr std::size_t kBytes = 1 << 20;
  EventBus bus(1, {.bytes = kBytes});
  for (int n = 0; n < 100; ++n) {
    bus.Publish(About(std::string(50'000, 'x')));
    EXPECT_LE(bus.kept_bytes(), kBytes);
  }
  EXPECT_GT(bus.kept_bytes(), kBytes / 2);
  bus.Publish(About(std::string(2 * kBytes, 'x')));
  EXPECT_EQ(bus.kept_bytes(), 0u) << "larger than all that may be kept";
  EXPECT_THAT(SeenAfter(bus, "1-100"), ElementsAre("gap 101: 1 event discarded"));
}

}  // namespace
}  // namespace fabric::control
