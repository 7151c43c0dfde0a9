// What a window of pings to one port comes to.
#include "agents/mesh/target.h"

#include <gtest/gtest.h>

namespace fabric::mesh {
namespace {

using std::chrono::milliseconds;

constexpr SteadyTime kStart{std::chrono::seconds(100)};

Target::Options Options() {
  return {.answer_within = milliseconds(10),
          .counted_from = kStart,
          .hardware_clock = true,
          .elapsed = [](std::uint64_t from, std::uint64_t to) {
            return Duration(static_cast<std::int64_t>(to - from));
          }};
}

v1::MeshTarget Order(const std::vector<std::uint32_t>& labels) {
  v1::MeshTarget order;
  order.mutable_flow_labels()->Assign(labels.begin(), labels.end());
  return order;
}

void Answer(Target& target, std::uint32_t flow, SteadyTime at, std::uint64_t round_ns) {
  const std::uint32_t ping = target.table().Post(flow, at);
  target.table().Departed(ping, 0, false);
  target.table().Answered(ping, round_ns, at, false);
  target.table().Reported(ping, Duration(0), false);
}

TEST(MeshTarget, SumsAWindowAndBeginsAnew) {
  Target target(Order({11, 12, 13}), Options());
  EXPECT_FALSE(target.TakeSummary().has_value()) << "nothing was settled";
  for (std::uint64_t n = 1; n <= 100; ++n) Answer(target, 0, kStart, n * 1000);
  Answer(target, 1, kStart, 5000);
  const auto summary = target.TakeSummary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->sent(), 101u);
  EXPECT_EQ(summary->network_round_trip().median_us(), 50);
  EXPECT_EQ(summary->network_round_trip().p99_us(), 99);
  EXPECT_EQ(summary->network_round_trip().max_us(), 100);
  ASSERT_EQ(summary->flows_size(), 2) << "flows without a ping are left out";
  EXPECT_EQ(summary->flows(1).flow_label(), 12u);
  EXPECT_FALSE(target.TakeSummary().has_value());
}

TEST(MeshTarget, PingsBeforeItCountsAreLeftOut) {
  Target target(Order({}), Options());
  EXPECT_EQ(target.flows(), 1u) << "of the driver's choice";
  Answer(target, 0, kStart - milliseconds(1), 1000);
  target.CountUnsent(0, kStart - milliseconds(1));
  EXPECT_FALSE(target.TakeSummary().has_value());
  target.CountUnsent(0, kStart);
  EXPECT_EQ(target.TakeSummary()->lost(), 1u);
}

TEST(MeshTarget, HoldsSoManyRawPingsAndNoMore) {
  Target target(Order({1}), Options());
  for (std::uint64_t n = 0; n < 10'000; ++n) Answer(target, 0, kStart, n < 5000 ? 9000 : 1000);
  EXPECT_EQ(target.samples(), 4096u);
  const auto summary = target.TakeSummary();
  EXPECT_EQ(summary->answered(), 10'000u);
  EXPECT_EQ(summary->network_round_trip().max_us(), 1) << "the newest are kept";
}

TEST(MeshTarget, ALostPingWaitsForThePartnersWord) {
  Target target(Order({1}), Options());
  target.table().Post(0, kStart);
  target.table().Expire(kStart + milliseconds(20));
  EXPECT_FALSE(target.TakeSummary().has_value());
  const std::uint32_t next = target.table().Post(0, kStart + milliseconds(30));
  target.table().Seen(next, 0b10);  // The one before did not come.
  const auto summary = target.TakeSummary();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->lost(), 1u);
  EXPECT_EQ(summary->flows(0).lost_out(), 1u);
}

}  // namespace
}  // namespace fabric::mesh
