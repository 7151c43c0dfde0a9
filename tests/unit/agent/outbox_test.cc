#include "agents/session/outbox.h"

#include <gtest/gtest.h>

namespace fabric::agent {
namespace {

v1::AgentMessage Heartbeat(std::uint64_t sequence) {
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_sequence(sequence);
  return message;
}

v1::AgentMessage OutcomeMessage(std::uint64_t probe) {
  v1::AgentMessage message;
  message.mutable_probe_outcome()->set_probe_id(probe);
  return message;
}

v1::AgentMessage Change() {
  v1::AgentMessage message;
  message.mutable_change();
  return message;
}

TEST(Outbox, GivesMessagesInTheirOrder) {
  Outbox outbox;
  EXPECT_TRUE(outbox.Put(Change()));
  EXPECT_TRUE(outbox.Put(OutcomeMessage(1)));
  EXPECT_TRUE(outbox.Take()->has_change());
  EXPECT_EQ(outbox.Take()->probe_outcome().probe_id(), 1u);
  EXPECT_FALSE(outbox.Take().has_value());
}

TEST(Outbox, AHeartbeatReplacesTheOneThatWaits) {
  Outbox outbox;
  outbox.Put(Heartbeat(1));
  outbox.Put(Heartbeat(2));
  EXPECT_EQ(outbox.Take()->heartbeat().sequence(), 2u);
  EXPECT_FALSE(outbox.Take().has_value());
}

TEST(Outbox, WhenFullTheOldestOutcomeGoesAndTheStateStays) {
  Outbox outbox(3);
  outbox.Put(Change());
  outbox.Put(OutcomeMessage(1));
  outbox.Put(OutcomeMessage(2));
  EXPECT_FALSE(outbox.Put(OutcomeMessage(3)));
  EXPECT_TRUE(outbox.Take()->has_change());
  EXPECT_EQ(outbox.Take()->probe_outcome().probe_id(), 2u);
  EXPECT_EQ(outbox.Take()->probe_outcome().probe_id(), 3u);
}

TEST(Outbox, KnowsWhetherStateWaits) {
  Outbox outbox;
  outbox.Put(OutcomeMessage(1));
  EXPECT_FALSE(outbox.HasState());
  outbox.Put(Change());
  EXPECT_TRUE(outbox.HasState());
}

TEST(Outbox, BytesAreBounded) {
  Outbox outbox(100, 1000);
  v1::AgentMessage large;
  large.mutable_probe_outcome()->mutable_result()->set_reason(std::string(600, 'x'));
  EXPECT_TRUE(outbox.Put(Change()));
  EXPECT_TRUE(outbox.Put(large));
  EXPECT_FALSE(outbox.Put(large));
  EXPECT_TRUE(outbox.Take()->has_change());
  EXPECT_TRUE(outbox.Take()->has_probe_outcome());
  EXPECT_FALSE(outbox.Take().has_value());
  EXPECT_TRUE(outbox.Put(large)) << "there is room again";
}

}  // namespace
}  // namespace fabric::agent
