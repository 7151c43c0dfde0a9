#include "daemon/control/campaigns/probe_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace fabric::control {
namespace {

using ::testing::HasSubstr;

v1::ProbeSpec Latency() {
  v1::ProbeSpec spec;
  spec.mutable_rc_write_latency();
  return spec;
}

v1::ProbeResult CheckedResult(v1::ProbeStatus status, const std::string& reason) {
  v1::ProbeResult result;
  result.set_status(status);
  result.set_reason(reason);
  return result;
}

v1::ProbeResult GoodLatency() {
  v1::ProbeResult result = CheckedResult(v1::PROBE_STATUS_OK, "");
  result.mutable_latency()->set_median_us(1.8);
  result.mutable_latency()->set_samples(1000);
  return result;
}

TEST(Complete, FillsInTheDefaults) {
  v1::CampaignSpec spec;
  ASSERT_TRUE(Complete(spec).ok());
  ASSERT_EQ(spec.probes_size(), 2);
  EXPECT_TRUE(spec.probes(0).has_rc_write_latency());
  EXPECT_TRUE(spec.probes(1).has_rc_write_bandwidth());
  EXPECT_EQ(spec.probes(0).timeout_ms(), 10'000u);
}

TEST(Complete, NamesTheFieldThatIsOutOfBounds) {
  v1::CampaignSpec spec;
  spec.add_probes();
  EXPECT_THAT(Complete(spec).message(), HasSubstr("probes[0]: expected a kind"));
  *spec.mutable_probes(0) = Latency();
  spec.mutable_probes(0)->set_timeout_ms(600'001);
  EXPECT_EQ(Complete(spec), Status(Code::kInvalidArgument,
                                   "probes[0].timeout_ms: expected at most 600000, saw 600001"));
  spec.mutable_probes(0)->set_timeout_ms(5);
  spec.mutable_probes(0)->set_traffic_class(256);
  EXPECT_EQ(Complete(spec),
            Status(Code::kInvalidArgument, "probes[0].traffic_class: expected 0 to 255, saw 256"));
  spec.clear_probes();
  for (int n = 0; n < 17; ++n) *spec.add_probes() = Latency();
  EXPECT_THAT(Complete(spec).message(), HasSubstr("at most 16"));
}

TEST(Checked, LetsGoodFiguresPass) {
  const v1::ProbeResult result = Checked(Latency(), GoodLatency(), "n1", "n2");
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK);
  EXPECT_EQ(result.latency().median_us(), 1.8);
}

TEST(Checked, TurnsImpossibleFiguresIntoFailures) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double figure : {nan, infinite, -1.0}) {
    v1::ProbeResult said = GoodLatency();
    said.mutable_latency()->set_p99_us(figure);
    const v1::ProbeResult result = Checked(Latency(), said, "n1", "n2");
    EXPECT_EQ(result.status(), v1::PROBE_STATUS_FAILED);
    EXPECT_EQ(result.reason(), "n1: reported ok with an invalid latency");
    EXPECT_EQ(result.blamed_node(), "n1");
    EXPECT_FALSE(result.has_latency());
  }
  EXPECT_EQ(Checked(Latency(), CheckedResult(v1::PROBE_STATUS_OK, ""), "n1", "n2").reason(),
            "n1: reported ok with no latency");
  v1::ProbeSpec bandwidth;
  bandwidth.mutable_rc_write_bandwidth();
  EXPECT_EQ(Checked(bandwidth, GoodLatency(), "n1", "n2").reason(),
            "n1: reported ok with no bandwidth");
}

TEST(Checked, KnowsNoOtherStatus) {
  EXPECT_EQ(
      Checked(Latency(), CheckedResult(static_cast<v1::ProbeStatus>(77), "x"), "n1", "n2").reason(),
      "n1: reported an unknown status: 77");
  EXPECT_EQ(Checked(Latency(), {}, "n1", "n2").status(), v1::PROBE_STATUS_FAILED);
}

TEST(Checked, PutsTheSpeakerInFrontAndBoundsTheReason) {
  const auto reason = [](const std::string& said) {
    return Checked(Latency(), CheckedResult(v1::PROBE_STATUS_REFUSED, said), "n1", "n2").reason();
  };
  EXPECT_EQ(reason("port busy"), "n1: port busy");
  EXPECT_EQ(reason("n10: port busy"), "n1: n10: port busy") << "text is not matched";
  EXPECT_EQ(reason("two\nlines\x07 "), "n1: two lines");
  EXPECT_EQ(reason(""), "n1: refused, without a reason");
  EXPECT_EQ(OneLine(std::string(399, 'x') + "\xc3\xa4\xc3\xa4"), std::string(399, 'x'))
      << "no half characters";
}

TEST(Checked, LetsOnlyTheTwoEndsBeBlamed) {
  for (const auto& [blamed, kept] :
       std::vector<std::pair<std::string, std::string>>{{"n1", "n1"}, {"n2", "n2"}, {"n9", ""}}) {
    v1::ProbeResult said = CheckedResult(v1::PROBE_STATUS_FAILED, "x");
    said.set_blamed_node(blamed);
    EXPECT_EQ(Checked(Latency(), said, "n1", "n2").blamed_node(), kept);
  }
}

TEST(Checked, AFlowLosesNoMoreInBothDirectionsThanInAll) {
  v1::ProbeSpec spec;
  spec.mutable_ud_ping();
  v1::ProbeResult result = CheckedResult(v1::PROBE_STATUS_OK, "");
  result.mutable_ping()->set_sent(100);
  result.mutable_ping()->set_answered(92);
  result.mutable_ping()->set_lost(8);
  v1::FlowSummary& flow = *result.mutable_ping()->add_flows();
  flow.set_sent(100);
  flow.set_lost(8);
  flow.set_lost_out(6);
  flow.set_lost_in(2);
  EXPECT_EQ(Checked(spec, result, "n1", "n2").status(), v1::PROBE_STATUS_OK);
  flow.set_lost_in(3);
  const v1::ProbeResult wrong = Checked(spec, result, "n1", "n2");
  EXPECT_EQ(wrong.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(wrong.reason(), "n1: reported ok with invalid pings");
}

}  // namespace
}  // namespace fabric::control
