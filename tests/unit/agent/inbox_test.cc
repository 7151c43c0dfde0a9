#include "agents/session/inbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace fabric::agent {
namespace {

constexpr Duration kLong = std::chrono::hours(1);

TEST(Inbox, KeepsTheNewestSnapshotAndEveryMessageInOrder) {
  Inbox inbox;
  const std::stop_token never;
  inbox.OnConnected();
  for (const char* name : {"old", "new"}) {
    v1::NodeSnapshot snapshot;
    snapshot.mutable_node()->set_name(name);
    inbox.OnSnapshot(snapshot);
  }
  inbox.OnDisconnected(Status(Code::kUnavailable, "gone"));

  EXPECT_EQ(std::get<v1::NodeSnapshot>(*inbox.Next(never, kLong)).node().name(), "new");
  EXPECT_TRUE(std::holds_alternative<Connected>(*inbox.Next(never, kLong)));
  EXPECT_EQ(std::get<Disconnected>(*inbox.Next(never, kLong)).why.message(), "gone");
  EXPECT_FALSE(inbox.Next(never, Duration::zero()).has_value());
}

TEST(Inbox, AFloodOfMessagesIsBoundedButTheEndOfTheStreamIsKept) {
  Inbox inbox;
  for (int i = 0; i < 2000; ++i) inbox.OnMessage({});
  inbox.OnDisconnected(Status(Code::kUnavailable, "gone"));
  int messages = 0;
  std::optional<Event> last;
  while (auto event = inbox.Next({}, Duration::zero())) {
    messages += std::holds_alternative<v1::ControllerMessage>(*event);
    last = std::move(event);
  }
  EXPECT_EQ(messages, 1024);
  EXPECT_TRUE(std::holds_alternative<Disconnected>(*last));
}

TEST(Inbox, MemoryOfMessagesIsBounded) {
  Inbox inbox;
  v1::ControllerMessage large;
  large.mutable_probe_stop()->set_reason(std::string(1 << 20, 'x'));
  for (int n = 0; n < 100; ++n) inbox.OnMessage(large);
  int messages = 0;
  while (inbox.Next({}, Duration::zero())) ++messages;
  EXPECT_EQ(messages, 15);
  inbox.OnMessage(large);
  EXPECT_TRUE(inbox.Next({}, Duration::zero())) << "there is room again";
}

TEST(Inbox, StoppingEndsTheWait) {
  Inbox inbox;
  std::jthread waiting(
      [&](const std::stop_token& stop) { EXPECT_FALSE(inbox.Next(stop, kLong).has_value()); });
}

}  // namespace
}  // namespace fabric::agent
