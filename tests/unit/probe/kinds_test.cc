// Both ends of each kind over reliable connections against each other, in memory: rc_write_latency,
// rc_read_latency, rc_send_latency, rc_atomic_latency, rc_write_bandwidth, rc_read_bandwidth,
// rc_send_bandwidth, path_mtu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/unit/probe/both_ends.h"

namespace fabric::probe {
namespace {

using testing::FakeFabric;

const ProbeKind& Kind(const std::string& name) {
  return *FindProbeKind(name);
}

v1::ProbeSpec Spec(const std::string& kind, const std::string& fields) {
  return SpecOf(Format(R"({{"{}": {}}})", kind, fields).c_str());
}

class LatencyKind : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LatencyKind,
                         ::testing::Values("rc_write_latency", "rc_read_latency",
                                           "rc_send_latency"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(LatencyKind, MeasuresEveryIterationAfterTheWarmUp) {
  FakeFabric fabric;  // More rounds than the sequence byte of writes has values.
  const BothResults results =
      RunBoth(Kind(GetParam()), Spec(GetParam(), R"({"iterations": 600})"), fabric);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  const v1::LatencySummary& latency = results.initiator.latency();
  EXPECT_EQ(latency.samples() + latency.voided(), 600u);
  EXPECT_GT(latency.samples(), 300u);
  EXPECT_GT(latency.min_us(), 0);
  EXPECT_FALSE(latency.has_p9999_us());
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

TEST_P(LatencyKind, WorksWithOneByteAndWithManyPages) {
  for (const std::uint32_t bytes : {1U, 63U, 64U, 65U, 100'000U}) {
    FakeFabric fabric;
    const BothResults results = RunBoth(
        Kind(GetParam()),
        Spec(GetParam(), Format(R"({{"message_bytes": {}, "iterations": 3}})", bytes)), fabric);
    EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  }
}

TEST_P(LatencyKind, AFailedRequestSaysWhatTheDriverSaid) {
  FakeFabric fabric;
  fabric.Break("b", "remote access error (10), vendor syndrome 0x88");
  const BothResults results =
      RunBoth(Kind(GetParam()), Spec(GetParam(), R"({"iterations": 10})"), fabric);

  const std::string what = std::string(GetParam()).substr(3, 4) == "writ"   ? "write"
                           : std::string(GetParam()).substr(3, 4) == "read" ? "read"
                                                                            : "send";
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(results.initiator.reason(),
            what + " 1 of 11: remote access error (10), vendor syndrome 0x88");
}

TEST_P(LatencyKind, EndsAtOnceWhenItIsStopped) {
  FakeFabric fabric;
  const BothResults results =
      RunBoth(Kind(GetParam()), Spec(GetParam(), R"({"iterations": 1000000})"), fabric, 2);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_FALSE(results.initiator.has_latency());
}

TEST(RcWriteLatency, ASilentPartnerTimesOutWithTheRound) {
  FakeFabric fabric;
  fabric.Silence("a");  // Answers to the initiator are lost.
  const BothResults results = RunBoth(Kind("rc_write_latency"),
                                      Spec("rc_write_latency", R"({"iterations": 10})"), fabric, 3);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(results.initiator.reason(), "round 1 of 11: no message from the partner");
  EXPECT_FALSE(results.initiator.has_latency());
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_TIMED_OUT);
}

TEST(RcSendLatency, ASilentPartnerTimesOutWithTheRound) {
  FakeFabric fabric;
  fabric.Silence("a");
  const BothResults results =
      RunBoth(Kind("rc_send_latency"), Spec("rc_send_latency", R"({"iterations": 10})"), fabric, 3);
  EXPECT_EQ(results.initiator.reason(), "round 1 of 11: no message from the partner");
}

class RcAtomicLatency : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Operations, RcAtomicLatency, ::testing::Values("false", "true"),
                         [](const auto& test) {
                           return std::string(test.param) == "true" ? "CompareAndSwap"
                                                                    : "FetchAndAdd";
                         });

v1::ProbeSpec AtomicSpec(const char* compare_and_swap, int iterations) {
  return Spec("rc_atomic_latency", Format(R"({{"compare_and_swap": {}, "iterations": {}}})",
                                          compare_and_swap, iterations));
}

TEST_P(RcAtomicLatency, MeasuresEveryIterationAfterTheWarmUp) {
  FakeFabric fabric;
  const BothResults results =
      RunBoth(Kind("rc_atomic_latency"), AtomicSpec(GetParam(), 600), fabric);

  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  const v1::LatencySummary& latency = results.initiator.latency();
  EXPECT_EQ(latency.samples() + latency.voided(), 600u);
  EXPECT_GT(latency.min_us(), 0);
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

TEST_P(RcAtomicLatency, FailsWithTheDriversError) {
  FakeFabric fabric;
  fabric.Break("b", "remote access error (10), vendor syndrome 0x88");
  const BothResults results =
      RunBoth(Kind("rc_atomic_latency"), AtomicSpec(GetParam(), 10), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_THAT(results.initiator.reason(),
              ::testing::EndsWith(" 1 of 11: remote access error (10), vendor syndrome 0x88"));
}

TEST(RcAtomicLatencyValues, FailsWhenAnAtomicIsCarriedOutTwice) {
  FakeFabric fabric;
  fabric.RepeatAtomics("b");
  const BothResults results = RunBoth(Kind("rc_atomic_latency"), AtomicSpec("false", 10), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(results.initiator.reason(), "fetch-and-add 1 of 11: expected the answer 0, saw 1");
}

class BandwidthKind : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BandwidthKind,
                         ::testing::Values("rc_write_bandwidth", "rc_read_bandwidth",
                                           "rc_send_bandwidth"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(BandwidthKind, CountsPayloadOverTheTimeItTook) {
  FakeFabric fabric;
  const BothResults results = RunBoth(
      Kind(GetParam()),
      Spec(GetParam(), R"({"message_bytes": 1000, "iterations": 500, "queue_depth": 16})"), fabric);

  const v1::BandwidthSummary& bandwidth = results.initiator.bandwidth();
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  EXPECT_EQ(bandwidth.bytes(), 500'000u);
  EXPECT_NEAR(bandwidth.mean_bps() * bandwidth.seconds(), 4'000'000, 1);
  EXPECT_NEAR(bandwidth.messages_per_second() * bandwidth.seconds(), 500, 0.001);
  EXPECT_FALSE(results.initiator.has_reverse_bandwidth());
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

// The fake refuses a request beyond the depth, so these also show that the window is kept.
TEST_P(BandwidthKind, KeepsWithinTheQueuesOfAnyDepthAndNumber) {
  for (const std::uint32_t depth : {1U, 2U, 3U, 5U, 128U}) {
    for (const std::uint32_t pairs : {1U, 3U, 64U}) {
      FakeFabric fabric;
      const BothResults results =
          RunBoth(Kind(GetParam()),
                  Spec(GetParam(), Format(R"({{"message_bytes": 8, "iterations": 100,
                                              "queue_depth": {}, "queue_pairs": {}}})",
                                          depth, pairs)),
                  fabric);
      EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK)
          << depth << ", " << pairs << ": " << results.initiator.reason();
      EXPECT_EQ(results.initiator.bandwidth().bytes(), 800u);
    }
  }
}

TEST_P(BandwidthKind, BothDirectionsAtOnceHaveTheirOwnFigures) {
  for (const std::uint32_t pairs : {1U, 4U}) {
    FakeFabric fabric;
    const BothResults results =
        RunBoth(Kind(GetParam()),
                Spec(GetParam(), Format(R"({{"message_bytes": 1000, "iterations": 700,
                                            "bidirectional": true, "queue_pairs": {}}})",
                                        pairs)),
                fabric);
    EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
    EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
    EXPECT_EQ(results.initiator.bandwidth().bytes(), 700'000u);
    EXPECT_EQ(results.initiator.reverse_bandwidth().bytes(), 700'000u);
    EXPECT_GT(results.initiator.reverse_bandwidth().mean_bps(), 0);
  }
}

TEST_P(BandwidthKind, ADeadPartnerTimesOutWithHowFarItCame) {
  FakeFabric fabric;
  fabric.Silence("b");
  const BothResults results = RunBoth(
      Kind(GetParam()), Spec(GetParam(), R"({"iterations": 100, "queue_depth": 4})"), fabric, 3);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_TIMED_OUT);
  const std::string what(std::string_view(GetParam()).substr(3, GetParam()[3] == 'w' ? 5 : 4));
  EXPECT_EQ(results.initiator.reason(), "0 of 100 " + what + "s were complete");
}

TEST(RcWriteBandwidth, AFailedWriteEndsItWithTheWriteAndTheQueuePair) {
  FakeFabric fabric;
  fabric.Break("b", "transport retry counter exceeded (12), vendor syndrome 0x81");
  EXPECT_EQ(RunBoth(Kind("rc_write_bandwidth"),
                    Spec("rc_write_bandwidth", R"({"iterations": 100, "queue_depth": 4})"), fabric)
                .initiator.reason(),
            "write 1 of 100: transport retry counter exceeded (12), vendor syndrome 0x81");
  EXPECT_EQ(RunBoth(Kind("rc_write_bandwidth"),
                    Spec("rc_write_bandwidth", R"({"iterations": 100, "queue_pairs": 2})"), fabric)
                .initiator.reason(),
            "queue pair 1 of 2: write 1 of 50: transport retry counter exceeded (12), vendor "
            "syndrome 0x81");
}

TEST(PathMtu, TellsEachStepUpToTheSmallerActiveMtu) {
  FakeFabric fabric;
  fabric.SetActiveMtu("b", 1024);
  const BothResults results = RunBoth(Kind("path_mtu"), Spec("path_mtu", "{}"), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  EXPECT_EQ(results.initiator.path_mtu_bytes(), 1024u);
  ASSERT_EQ(results.initiator.mtu_steps_size(), 3);
  EXPECT_EQ(results.initiator.mtu_steps(2).mtu_bytes(), 1024u);
  EXPECT_TRUE(results.initiator.mtu_steps(2).delivered());
}

TEST(PathMtu, NamesTheSizeThatDoesNotCrossAndTriesNoLargerOne) {
  FakeFabric fabric;
  fabric.CutPackets("b", 1500);
  const BothResults results = RunBoth(Kind("path_mtu"), Spec("path_mtu", "{}"), fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(
      results.initiator.reason(),
      "at packet size 2048 bytes (maximum 4096): write 1 of 1: transport retry counter exceeded "
      "(12)");
  EXPECT_EQ(results.initiator.path_mtu_bytes(), 1024u);
  ASSERT_EQ(results.initiator.mtu_steps_size(), 5);
  EXPECT_EQ(results.initiator.mtu_steps(4).reason(), "not tried: a smaller one did not cross");
}

TEST(PathMtu, SeesTheWayBackToo) {
  FakeFabric fabric;
  fabric.CutPackets("a", 512);
  const BothResults results = RunBoth(Kind("path_mtu"), Spec("path_mtu", "{}"), fabric);
  EXPECT_EQ(results.initiator.mtu_steps(2).reason(),
            "read 1 of 1: transport retry counter exceeded (12)");
  EXPECT_EQ(results.initiator.path_mtu_bytes(), 512u);
}

TEST(ProbeKinds, AreNamedAsTheArmsOfTheSpec) {
  for (const ProbeKind* kind : AllProbeKinds())
    EXPECT_NE(v1::ProbeSpec::descriptor()->FindFieldByName(std::string(kind->name)), nullptr)
        << kind->name;
  EXPECT_EQ(FindProbeKind("rc_atomic_bandwidth"), nullptr);
  EXPECT_EQ(FindProbeKind(""), nullptr);
}

}  // namespace
}  // namespace fabric::probe
