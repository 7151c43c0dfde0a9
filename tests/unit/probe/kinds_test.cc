// Both ends of each kind against each other, in memory: rc_write_latency, rc_write_bandwidth.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "agents/probe/probe.h"
#include "tests/testing/fake_verbs.h"

namespace fabric::probe {
namespace {

using testing::FakeFabric;
using testing::FakeVerbs;

// Each look at it is one microsecond later.
class CountingClock final : public Clock {
 public:
  Moment Now() const override {
    return {.steady = SteadyTime(std::chrono::microseconds(++looks_)), .wall = {}};
  }
  std::int64_t looks() const { return looks_; }

 private:
  mutable std::atomic<std::int64_t> looks_ = 0;
};

struct Pair {
  v1::ProbeResult initiator;
  v1::ProbeResult responder;
};

// One run of a kind between devices "a" and "b" of the fabric. Both ends are stopped when the
// initiator is done, or when it has asked `patience` times whether to stop.
Pair RunBoth(const ProbeKind& kind, const v1::ProbeSpec& spec, FakeFabric& fabric,
             int patience = 1'000'000'000) {
  FakeVerbs verbs(fabric);
  host::RcOptions options = kind.needs(spec);
  options.device = "a";
  const auto a = *verbs.OpenRc(options);
  options.device = "b";
  const auto b = *verbs.OpenRc(options);
  EXPECT_TRUE(a->Connect(b->local(), 0).ok());
  EXPECT_TRUE(b->Connect(a->local(), 0).ok());

  CountingClock clock;
  std::atomic<bool> stop = false;
  const auto await_stop = [&stop] { stop.wait(false); };
  Pair results;
  std::thread responder([&] {
    ProbeRun run{.spec = spec,
                 .queue_pair = *b,
                 .clock = clock,
                 .stopped = [&] { return stop.load(); },
                 .await_stop = await_stop};
    kind.respond(run, results.responder);
  });
  ProbeRun run{.spec = spec,
               .queue_pair = *a,
               .clock = clock,
               .stopped = [&] { return --patience < 0; },
               .await_stop = await_stop};
  kind.initiate(run, results.initiator);
  stop = true;
  stop.notify_all();
  responder.join();
  return results;
}

v1::ProbeSpec Latency(std::uint32_t bytes, std::uint32_t iterations) {
  v1::ProbeSpec spec;
  spec.mutable_rc_write_latency()->set_message_bytes(bytes);
  spec.mutable_rc_write_latency()->set_iterations(iterations);
  return spec;
}

v1::ProbeSpec Bandwidth(std::uint32_t bytes, std::uint32_t iterations, std::uint32_t depth) {
  v1::ProbeSpec spec;
  spec.mutable_rc_write_bandwidth()->set_message_bytes(bytes);
  spec.mutable_rc_write_bandwidth()->set_iterations(iterations);
  spec.mutable_rc_write_bandwidth()->set_queue_depth(depth);
  return spec;
}

TEST(RcWriteLatency, MeasuresEveryIterationAfterTheWarmUp) {
  FakeFabric fabric;  // More rounds than the sequence byte has values.
  const Pair results = RunBoth(*FindProbeKind("rc_write_latency"), Latency(8, 600), fabric);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  EXPECT_EQ(results.initiator.latency().samples(), 600u);
  EXPECT_GT(results.initiator.latency().min_us(), 0);
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

TEST(RcWriteLatency, WorksWithOneByteAndWithManyPages) {
  for (const std::uint32_t bytes : {1U, 63U, 64U, 65U, 100'000U}) {
    FakeFabric fabric;
    const Pair results = RunBoth(*FindProbeKind("rc_write_latency"), Latency(bytes, 3), fabric);
    EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  }
}

TEST(RcWriteLatency, ASilentPartnerTimesOutWithTheRound) {
  FakeFabric fabric;
  fabric.Silence("a");  // Answers to the initiator are lost.
  const Pair results = RunBoth(*FindProbeKind("rc_write_latency"), Latency(8, 10), fabric, 3);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(results.initiator.reason(), "round 1 of 11: nothing came from the partner");
  EXPECT_FALSE(results.initiator.has_latency());
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_TIMED_OUT);
}

TEST(RcWriteLatency, AFailedWriteSaysWhatTheDriverSaid) {
  FakeFabric fabric;
  fabric.Break("b", "remote access error (10), vendor syndrome 0x88");
  const Pair results = RunBoth(*FindProbeKind("rc_write_latency"), Latency(8, 10), fabric);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(results.initiator.reason(),
            "write 1 of 11: remote access error (10), vendor syndrome 0x88");
}

TEST(RcWriteBandwidth, CountsPayloadOverTheTimeItTook) {
  FakeFabric fabric;
  const Pair results =
      RunBoth(*FindProbeKind("rc_write_bandwidth"), Bandwidth(1000, 500, 16), fabric);

  const v1::BandwidthSummary& bandwidth = results.initiator.bandwidth();
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  EXPECT_EQ(bandwidth.bytes(), 500'000u);
  EXPECT_NEAR(bandwidth.mean_bps() * bandwidth.seconds(), 4'000'000, 1);
  EXPECT_NEAR(bandwidth.messages_per_second() * bandwidth.seconds(), 500, 0.001);
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK);
}

// The fake refuses a write beyond the depth, so these also show that the window is kept.
TEST(RcWriteBandwidth, KeepsWithinTheSendQueueOfAnyDepth) {
  for (const std::uint32_t depth : {1U, 2U, 3U, 5U, 128U}) {
    FakeFabric fabric;
    const Pair results =
        RunBoth(*FindProbeKind("rc_write_bandwidth"), Bandwidth(8, 100, depth), fabric);
    EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK)
        << depth << ": " << results.initiator.reason();
  }
}

TEST(RcWriteBandwidth, AFailedWriteEndsItWithTheWrite) {
  FakeFabric fabric;
  fabric.Break("b", "transport retry counter exceeded (12), vendor syndrome 0x81");
  const Pair results = RunBoth(*FindProbeKind("rc_write_bandwidth"), Bandwidth(8, 100, 4), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(results.initiator.reason(),
            "write 1 of 100: transport retry counter exceeded (12), vendor syndrome 0x81");
}

TEST(RcWriteBandwidth, ADeadPartnerTimesOutWithHowFarItCame) {
  FakeFabric fabric;
  fabric.Silence("b");
  const Pair results =
      RunBoth(*FindProbeKind("rc_write_bandwidth"), Bandwidth(8, 100, 4), fabric, 3);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(results.initiator.reason(), "0 of 100 writes were complete");
}

TEST(ProbeKinds, AreNamedAsTheArmsOfTheSpec) {
  for (const ProbeKind* kind : AllProbeKinds())
    EXPECT_NE(v1::ProbeSpec::descriptor()->FindFieldByName(std::string(kind->name)), nullptr)
        << kind->name;
  EXPECT_EQ(FindProbeKind("rc_read_latency"), nullptr);
  EXPECT_EQ(FindProbeKind(""), nullptr);
}

}  // namespace
}  // namespace fabric::probe
