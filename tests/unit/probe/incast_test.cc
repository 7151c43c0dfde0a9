// The kind incast: one sender of a burst, and what it tells of the ports' counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/probe/port_watch.h"
#include "base/text.h"
#include "tests/unit/probe/both_ends.h"

namespace fabric::probe {
namespace {

using ::testing::Contains;
using testing::FakeFabric;
using ::testing::Not;

const ProbeKind& Incast() {
  return *FindProbeKind("incast");
}

TEST(Incast, WritesUntilItsTimeIsOver) {
  FakeFabric fabric;
  const v1::ProbeSpec spec = SpecOf(R"({"incast": {"duration_ms": 3, "message_bytes": 4096}})");
  const BothResults results = RunBoth(Incast(), spec, fabric);
  ASSERT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  const v1::BandwidthSummary& bandwidth = results.initiator.bandwidth();
  EXPECT_GE(bandwidth.seconds(), 0.003);
  EXPECT_LT(bandwidth.seconds(), 0.004);
  EXPECT_GE(bandwidth.bytes(), 16u * 4096) << "a window at least";
  EXPECT_EQ(bandwidth.bytes() % 4096, 0u);
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

TEST(Incast, AFailedWriteIsToldWithWhatTheCountersDid) {
  FakeFabric fabric;
  fabric.Break("b", "transport retry counter exceeded (12)");
  const BothResults results = RunBoth(Incast(), SpecOf(R"({"incast": {}})"), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(results.initiator.reason(), "write 1: transport retry counter exceeded (12)");
  EXPECT_TRUE(results.initiator.has_counter_deltas());
  EXPECT_FALSE(results.initiator.has_bandwidth());
}

TEST(Incast, EndsAtOnceWhenItIsStopped) {
  FakeFabric fabric;
  fabric.Silence("b");
  const BothResults results = RunBoth(Incast(), SpecOf(R"({"incast": {}})"), fabric, 3);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(results.initiator.reason(), "0 of 16 writes were complete");
}

TEST(Incast, RefusesNumbersOutOfBounds) {
  for (const char* fields :
       {R"({"duration_ms": 2001})", R"({"message_bytes": 8388609})", R"({"queue_depth": 1025})"}) {
    const v1::ProbeSpec spec = SpecOf(Format(R"({{"incast": {}}})", fields).c_str());
    EXPECT_EQ(Incast().check(spec).code(), Code::kInvalidArgument) << fields;
  }
  EXPECT_TRUE(Incast().check(SpecOf(R"({"incast": {"duration_ms": 2000}})")).ok());
}

// What is read first and what then.
class TwoReadings final : public PortCounters {
 public:
  using Counted = std::map<std::string, std::uint64_t>;
  TwoReadings(Counted before, Counted after)
      : before_(std::move(before)), after_(std::move(after)) {}
  std::map<std::string, std::uint64_t> Read() override { return read_++ == 0 ? before_ : after_; }

 private:
  Counted before_, after_;
  int read_ = 0;
};

v1::PortCounterDeltas DeltasOf(TwoReadings::Counted before, TwoReadings::Counted after) {
  v1::ProbePort port;
  port.set_device("mlx5_0");
  port.set_port(1);
  PortWatch watch(port, [&](const std::string& device, std::uint32_t number) {
    EXPECT_EQ(device, "mlx5_0");
    EXPECT_EQ(number, 1u);
    return std::make_unique<TwoReadings>(before, after);
  });
  watch.Begin();
  return watch.End();
}

TEST(PortWatch, TellsBothReadingsAndWhatIsMissing) {
  const v1::PortCounterDeltas deltas =
      DeltasOf({{"pfc_rx_frames_prio3", 7}, {"ack_timeout", 1}, {"rdma_tx_bytes", 1}},
               {{"pfc_rx_frames_prio3", 9}, {"ack_timeout", 1}, {"rdma_tx_bytes", 5}});
  EXPECT_EQ(deltas.port().device(), "mlx5_0");
  ASSERT_EQ(deltas.counters_size(), 2) << "bytes are not watched";
  EXPECT_EQ(deltas.counters(0).name(), "ack_timeout");
  EXPECT_EQ(deltas.counters(1).name(), "pfc_rx_frames_prio3");
  EXPECT_EQ(deltas.counters(1).before(), 7u);
  EXPECT_EQ(deltas.counters(1).after(), 9u);
  EXPECT_THAT(deltas.missing(), Not(Contains("pfc_rx_frames_prio#")));
  EXPECT_THAT(deltas.missing(), Contains("pfc_tx_frames_prio#"));
  EXPECT_EQ(static_cast<std::size_t>(deltas.missing_size()) + 2, WatchedCounters().size());
}

TEST(PortWatch, WhatComesGoesOrFallsIsMissing) {
  const v1::PortCounterDeltas deltas =
      DeltasOf({{"ack_timeout", 5}, {"rx_discards", 3}}, {{"ack_timeout", 4}, {"tx_discards", 3}});
  EXPECT_EQ(deltas.counters_size(), 0);
  EXPECT_THAT(deltas.missing(), Contains("ack_timeout"));
  EXPECT_THAT(deltas.missing(), Contains("rx_discards"));
  EXPECT_THAT(deltas.missing(), Contains("tx_discards"));
}

TEST(PortWatch, WithoutCountersAllAreMissing) {
  PortWatch watch;
  watch.Begin();
  EXPECT_EQ(static_cast<std::size_t>(watch.End().missing_size()), WatchedCounters().size());
}

TEST(PortWatch, NamesOfPrioritiesAreOne) {
  EXPECT_EQ(WatchedAs("pfc_rx_frames_prio7"), "pfc_rx_frames_prio#");
  EXPECT_EQ(WatchedAs("pfc_rx_frames"), "pfc_rx_frames");
  EXPECT_EQ(WatchedAs("pfc_rx_frames_prio8"), "");
  EXPECT_EQ(WatchedAs(""), "");
}

}  // namespace
}  // namespace fabric::probe
