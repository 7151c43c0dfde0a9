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
std::vector<std::string> Seen(const EventBus& bus, EventWatch& watch) {
  std::vector<std::string> seen;
  for (auto next = bus.Next(watch); next.event || next.more; next = bus.Next(watch))
    if (next.event)
      seen.push_back(next.event->has_gap() ? "gap " + std::to_string(next.event->sequence()) +
                                                 ": " + next.event->gap().reason()
                                           : std::to_string(next.event->sequence()));
  return seen;
}
std::vector<std::string> SeenAfter(const EventBus& bus, const std::string& text) {
  EventWatch watch = *bus.Start(After(text), {});
  return Seen(bus, watch);
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
  EventWatch now = *bus.Start({}, {});
  EXPECT_THAT(Seen(bus, now), IsEmpty());
  EXPECT_EQ(now.cursor.Text(), "ab-5");
  bus.Publish(About("n2"));
  EXPECT_EQ(bus.Next(now).event->cursor(), "ab-6");
  EXPECT_THAT(SeenAfter(bus, "ab-4"), ElementsAre("5", "6"));
  v1::WatchEventsRequest by_number;
  by_number.set_after_sequence(5);
  EventWatch watch = *bus.Start(by_number, {});
  EXPECT_THAT(Seen(bus, watch), ElementsAre("6"));
  EXPECT_EQ(bus.Start(After("5"), {}).status().message(),
            "after_cursor: expected the cursor of an event, such as 1f03c2a9-40, saw '5'");
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
  EventWatch slow = *bus.Start(After("1-9"), {});
  for (int n = 0; n < 10; ++n) bus.Publish(About("n1"));
  const auto gap = bus.Next(slow).event;
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

v1::Event Finding(const std::string& node, v1::Severity severity) {
  v1::Event event;
  event.mutable_finding()->mutable_subject()->set_node(node);
  event.mutable_finding()->add_affected()->set_node(node + "b");
  event.mutable_finding()->set_severity(severity);
  return event;
}

// Cursors of the events after the first one.
std::vector<std::string> Selected(const EventBus& bus, const std::string& filter,
                                  const std::vector<std::string>& nodes = {}) {
  v1::WatchEventsRequest request = After("1-1");
  request.set_filter(filter);
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  auto watch = bus.Start(request, {});
  if (!watch.ok()) return {watch.status().message()};
  return Seen(bus, *watch);
}

TEST(EventBus, AWatcherGetsTheEventsItAskedFor) {
  EventBus bus;
  bus.Publish(About("n1"));
  bus.Publish(About("n1"));
  bus.Publish(Finding("n1", v1::SEVERITY_ERROR));
  bus.Publish(Finding("n2", v1::SEVERITY_WARNING));
  bus.Publish(About("n2"));
  EXPECT_THAT(Selected(bus, ""), ElementsAre("2", "3", "4", "5"));
  EXPECT_THAT(Selected(bus, "kind=finding"), ElementsAre("3", "4"));
  EXPECT_THAT(Selected(bus, "kind=finding severity>=error"), ElementsAre("3"));
  EXPECT_THAT(Selected(bus, "kind!=finding"), ElementsAre("2", "5"));
  EXPECT_THAT(Selected(bus, "", {"n1", "n7"}), ElementsAre("2", "3"));
  EXPECT_THAT(Selected(bus, "", {"n2b"}), ElementsAre("4")) << "a further node of a finding";
  EXPECT_THAT(Selected(bus, "kind=node", {"n2"}), ElementsAre("5"));
  EXPECT_THAT(Selected(bus, "knd=node"),
              ElementsAre("filter: 'knd=node': unknown field 'knd'; did you mean 'kind'?"));
  EXPECT_THAT(Selected(bus, "", {""}), ElementsAre("nodes: expected names, saw ''"));
}

TEST(EventBus, AFilterKeepsGaps) {
  EventBus bus(1, {.events = 2});
  for (int n = 0; n < 5; ++n) bus.Publish(About("n1"));
  EXPECT_THAT(Selected(bus, "kind=finding"), ElementsAre("gap 3: 2 events discarded"));
  EXPECT_THAT(Selected(bus, "", {"n9"}), ElementsAre("gap 3: 2 events discarded"));
}

TEST(EventBus, ACallLooksAtALimitedNumberOfEvents) {
  EventBus bus;
  for (int n = 0; n < 2500; ++n) bus.Publish(About("n1"));
  bus.Publish(About("n2"));
  v1::WatchEventsRequest request = After("1-0");
  request.add_nodes("n2");
  EventWatch watch = *bus.Start(request, {});
  int calls = 1;
  auto next = bus.Next(watch);
  for (; !next.event; next = bus.Next(watch), ++calls) ASSERT_TRUE(next.more);
  EXPECT_EQ(next.event->sequence(), 2501u);
  EXPECT_GE(calls, 3);
  EXPECT_FALSE(bus.Next(watch).more);
}

}  // namespace
}  // namespace fabric::control
