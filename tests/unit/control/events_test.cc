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

TEST(EventBus, NumbersEventsAndTellsEveryListener) {
  EventBus bus;
  EventLog first, second;
  EXPECT_THAT(bus.Subscribe(first, 0), IsEmpty());
  bus.Publish(About("n1"));
  EXPECT_THAT(bus.Subscribe(second, 0), IsEmpty()) << "0 is: from now on";
  bus.Publish(About("n2"));
  bus.Unsubscribe(first);
  bus.Publish(About("n3"));
  EXPECT_THAT(Numbers(first.events), ElementsAre(1, 2));
  EXPECT_THAT(Numbers(second.events), ElementsAre(2, 3));
}

TEST(EventBus, GivesWhatWasMissed) {
  EventBus bus;
  EventLog log;
  for (int n = 0; n < 5; ++n) bus.Publish(About("n1"));
  EXPECT_THAT(Numbers(bus.Subscribe(log, 3)), ElementsAre(4, 5));
  bus.Unsubscribe(log);
  EXPECT_THAT(bus.Subscribe(log, 5), IsEmpty());
  bus.Unsubscribe(log);
  EXPECT_THAT(Numbers(bus.Subscribe(log, 900)), ElementsAre(1, 2, 3, 4, 5))
      << "a number of an earlier run of the controller";
}

TEST(EventBus, KeepsTheNewest) {
  EventBus bus;
  EventLog log;
  for (int n = 0; n < 5000; ++n) bus.Publish(About("n1"));
  const std::vector<v1::Event> kept = bus.Subscribe(log, 1);
  EXPECT_EQ(kept.size(), 4096u);
  EXPECT_EQ(kept.front().sequence(), 905u);
  EXPECT_EQ(kept.back().sequence(), 5000u);
}

}  // namespace
}  // namespace fabric::control
