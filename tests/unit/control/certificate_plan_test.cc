// What fits into the time of a certificate, and which verdict follows from what was seen.
#include "daemon/control/certificates/certificate_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "daemon/control/certificates/certificate_verdict.h"
#include "proto/json.h"
#include "tests/testing/coverage.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct PlanCase {
  Duration within;
  std::size_t ports, partners;
  std::uint32_t pairs_at_once;
  std::uint32_t rounds;
  std::size_t probes;
  bool all_pairs;
};

TEST(PlanWithin, TakesAsMuchAsThereIsTimeFor) {
  for (const PlanCase& each : {
           PlanCase{60s, 16, 15, 64, 16, 2, true},  // A small job: every pair
           PlanCase{60s, 2, 1, 64, 2, 2, true},
           PlanCase{60s, 1024, 1023, 64, 20, 2, false},    // One rail of 1,024 nodes
           PlanCase{60s, 8192, 1023, 64, 7, 2, false},     // Eight of them
           PlanCase{20s, 8192, 1023, 64, 5, 1, false},     // No time for bandwidth
           PlanCase{2s, 8192, 1023, 64, 1, 1, false},      // Not even for one round
           PlanCase{60s, 8192, 1023, 4096, 20, 2, false},  // A larger budget of pairs
       }) {
    const CertificatePlan plan =
        PlanWithin(each.within, {each.ports, each.partners}, each.pairs_at_once);
    const std::string which = Format("{} ports, {}", each.ports, each.within.count());
    EXPECT_EQ(plan.rounds, each.rounds) << which;
    EXPECT_EQ(plan.probes.size(), each.probes) << which;
    EXPECT_EQ(plan.all_pairs, each.all_pairs) << which;
    EXPECT_EQ(plan.not_covered.empty(), each.probes == 2) << which;
  }
  EXPECT_THAT(testing::Texts(PlanWithin(20s, {8192, 1023}, 64).not_covered),
              ElementsAre("bandwidth: within 20 s there is time for the latency of 8192 ports "
                          "alone"));
}

// One probe measures both directions of a pair: a fault of one of them is seen at each partner.
TEST(PlanWithin, MeasuresBandwidthInBothDirections) {
  EXPECT_TRUE(PlanWithin(60s, {16, 15}, 64).probes[1].rc_write_bandwidth().bidirectional());
  EXPECT_TRUE(PlanWithin(60s, {2, 1}, 64).probes[1].rc_write_bandwidth().bidirectional());
  EXPECT_FALSE(PlanWithin(60s, {1, 0, true}, 64).probes[1].rc_write_bandwidth().bidirectional())
      << "both directions of a port with itself share its link";
}

// Three rounds with a port that hangs in both of its probes still fit.
TEST(PlanWithin, WaitsForAProbeAsLongAsThereIsTimeFor) {
  const auto timeout = [](Duration within, std::size_t ports, std::size_t partners) {
    const CertificatePlan plan = PlanWithin(within, {ports, partners}, 64);
    for (const v1::ProbeSpec& probe : plan.probes)
      EXPECT_EQ(probe.timeout_ms(), plan.probes[0].timeout_ms());
    return std::chrono::milliseconds(plan.probes[0].timeout_ms());
  };
  EXPECT_EQ(timeout(60s, 3, 2), 9'768ms) << "a small job in the lab";
  EXPECT_EQ(timeout(60s, 1024, 1023), 6'593ms) << "20 rounds of 8 waves take 19 s";
  EXPECT_EQ(timeout(60s, 8192, 1023), 5s) << "its rounds take all of the time";
  EXPECT_EQ(timeout(10s, 3, 2), 5s);
  EXPECT_EQ(timeout(600s, 3, 2), 15s);
}

TEST(PlanWithin, LeavesTimeForTheVerdict) {
  EXPECT_EQ(ProbingTime(60s), 59s);
  EXPECT_EQ(ProbingTime(2s), 1800ms);
}

// n1 ... n4 with one port each.
std::vector<AskedPort> FourPorts() {
  std::vector<AskedPort> ports(4);
  for (std::size_t n = 0; n < ports.size(); ++n) {
    ports[n].port.set_node(Format("n{}", n + 1));
    ports[n].port.set_device("mlx5_0");
    ports[n].port.set_port(1);
    ports[n].network = v1::LINK_LAYER_ETHERNET;
    ports[n].leaf = n < 2 ? "leaf1" : "leaf2";
  }
  return ports;
}

v1::PairResult PairResultOf(std::uint32_t from, std::uint32_t to, v1::ProbeStatus status,
                            const std::string& reason = {}) {
  v1::PairResult result;
  for (const auto& [port, n] :
       {std::pair(result.mutable_from(), from), std::pair(result.mutable_to(), to)}) {
    port->set_node(Format("n{}", n));
    port->set_device("mlx5_0");
    port->set_port(1);
  }
  result.mutable_result()->set_status(status);
  result.mutable_result()->set_reason(reason);
  return result;
}

// All six pairs are well, but for those with `bad`, which fail.
CertificateWork Probed(std::uint32_t bad = 0) {
  CertificateWork work(FourPorts(), false);
  for (std::uint32_t a = 1; a <= 4; ++a)
    for (std::uint32_t b = a + 1; b <= 4; ++b)
      work.Take(PairResultOf(a, b,
                             a == bad || b == bad ? v1::PROBE_STATUS_FAILED : v1::PROBE_STATUS_OK,
                             "retries exceeded"));
  return work;
}

struct Given {
  std::vector<FindingWithNodes> findings = {};
  std::vector<v1::CoverageGap> doubts = {};
  std::string blame = "{}";
  std::optional<v1::CoverageGap> cut_off = {};
  std::string suspicious = {};
};

v1::Certificate Judged(const CertificateWork& work, const Given& given = {}) {
  v1::Certificate certificate;
  for (const char* node : {"n1", "n2", "n3", "n4"}) certificate.mutable_request()->add_nodes(node);
  EXPECT_EQ(FromJson(given.blame, *certificate.mutable_blame()), Status());
  CertificateFacts facts{.work = work,
                         .findings = given.findings,
                         .doubts = given.doubts,
                         .cut_off = given.cut_off,
                         .suspicious = {},
                         .not_covered = {}};
  if (!given.suspicious.empty()) {
    EXPECT_EQ(FromJson(given.suspicious, facts.suspicious.emplace()), Status());
  }
  Judge(facts, certificate);
  return certificate;
}

// "PASS FAIL PASS PASS": of the four nodes.
std::string Verdicts(const v1::Certificate& certificate) {
  std::string text;
  for (const v1::CertifiedNode& node : certificate.nodes())
    text += Format("{}{}", text.empty() ? "" : " ",
                   node.verdict() == v1::VERDICT_PASS   ? "PASS"
                   : node.verdict() == v1::VERDICT_FAIL ? "FAIL"
                                                        : "UNKNOWN");
  return text;
}

FindingWithNodes About(const std::string& node, v1::Severity severity,
                       v1::Verdict verdict = v1::VERDICT_FAIL) {
  FindingWithNodes about;
  about.finding.set_id("f1");
  about.finding.set_rule("port_active");
  about.finding.set_title("port is DOWN");
  about.finding.set_severity(severity);
  about.finding.set_verdict(verdict);
  about.nodes = {node};
  return about;
}

TEST(CertificateVerdict, PassesWhenEveryPairIsWell) {
  const v1::Certificate certificate = Judged(Probed());
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Verdicts(certificate), "PASS PASS PASS PASS");
  EXPECT_EQ(certificate.pairs_probed(), 6u);
  EXPECT_EQ(certificate.pairs_possible(), 6u);
  EXPECT_EQ(certificate.pairs_failed(), 0u);
  EXPECT_EQ(certificate.nodes(0).ports(), 1u);
  EXPECT_THAT(certificate.rails(), ElementsAre(0));
  EXPECT_THAT(certificate.not_covered(), IsEmpty());
  EXPECT_THAT(certificate.nodes(0).reasons(), IsEmpty());
}

TEST(CertificateVerdict, FailsWithAFindingThatIsWorseThanAWarning) {
  const CertificateWork work = Probed();
  const v1::Certificate failed = Judged(work, {.findings = {About("n2", v1::SEVERITY_ERROR)}});
  EXPECT_EQ(failed.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Verdicts(failed), "PASS FAIL PASS PASS");
  EXPECT_THAT(failed.nodes(1).reasons(), ElementsAre("port is DOWN (port_active)"));
  EXPECT_THAT(failed.nodes(1).findings(), ElementsAre("f1"));

  const v1::Certificate warned = Judged(work, {.findings = {About("n2", v1::SEVERITY_WARNING)}});
  EXPECT_EQ(warned.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(warned.nodes(1).findings(), ElementsAre("f1")) << "and yet it is told";

  FindingWithNodes silenced = About("n2", v1::SEVERITY_CRITICAL);
  silenced.finding.mutable_silenced()->set_id("s1");
  EXPECT_EQ(Judged(work, {.findings = {silenced}}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judged(work, {.findings = {About("n9", v1::SEVERITY_ERROR)}}).verdict(),
            v1::VERDICT_PASS)
      << "of a node that was not asked for";
}

TEST(CertificateVerdict, DoesNotTakeForWellWhatWasNotJudged) {
  const CertificateWork work = Probed();
  FindingWithNodes held = About("n2", v1::SEVERITY_ERROR);
  held.held = true;
  EXPECT_EQ(Verdicts(Judged(work, {.findings = {held}})), "PASS UNKNOWN PASS PASS");
  const v1::Certificate unread =
      Judged(work, {.findings = {About("n2", v1::SEVERITY_ERROR, v1::VERDICT_UNKNOWN)}});
  EXPECT_EQ(unread.verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(testing::Texts(unread.not_covered()),
              ElementsAre("rule port_active: required settings could not be read on n2"));
  const v1::Certificate lost =
      Judged(work, {.doubts = {CoverageGapOf("n3", v1::COVERAGE_GAP_REASON_NODE_LOST,
                                             "lost: no message for 4.0 s")}});
  EXPECT_EQ(lost.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(Verdicts(lost), "PASS PASS UNKNOWN PASS");
  EXPECT_THAT(testing::Texts(lost.not_covered()), Contains("n3: lost: no message for 4.0 s"));
}

TEST(CertificateVerdict, TheNodeThatBlameNamesFailsAndItsPartnersPass) {
  const v1::Certificate certificate = Judged(Probed(2), {.blame = R"({
      "state": "BLAME_STATE_DECIDED", "suspects": [{"kind": "SUSPECT_KIND_PORT",
      "name": "n2/mlx5_0/1", "node": "n2", "device": "mlx5_0", "port": 1, "rail": 0,
      "leaf": "leaf1", "fault": "FAULT_KIND_TOTAL_LOSS", "evidence": ["lost 3 of 3"]}]})"});
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Verdicts(certificate), "PASS FAIL PASS PASS");
  EXPECT_THAT(certificate.nodes(1).reasons(),
              Contains("n2/mlx5_0/1 loses all packets: lost 3 of 3"));
  EXPECT_EQ(certificate.pairs_failed(), 3u);
}

TEST(CertificateVerdict, ALeafFailsThoseUnderItAndWhatIsSharedIsNobodys) {
  const v1::Certificate leaf = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_LEAF", "name": "leaf2", "leaf": "leaf2",
      "fault": "FAULT_KIND_LOW_BANDWIDTH"}]})"});
  EXPECT_EQ(Verdicts(leaf), "PASS PASS FAIL FAIL");
  const v1::Certificate uplink = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_UPLINK", "name": "leaf2 uplinks", "leaf": "leaf2",
      "fault": "FAULT_KIND_PACKET_LOSS"}]})"});
  EXPECT_EQ(uplink.verdict(), v1::VERDICT_FAIL) << "the fabric is not well";
  EXPECT_EQ(Verdicts(uplink), "PASS PASS UNKNOWN UNKNOWN") << "and the nodes may be";
  const v1::Certificate spine = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_SPINE", "name": "switch spine-3", "leaf": "spine-3",
      "fault": "FAULT_KIND_PACKET_LOSS"}]})"});
  EXPECT_EQ(spine.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Verdicts(spine), "UNKNOWN UNKNOWN UNKNOWN UNKNOWN") << "all may use it";
  const v1::Certificate link = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_LINK", "name": "cable leaf2 port 33 - spine-3 port 2", "leaf": "leaf2",
      "leaf_port": "33", "fault": "FAULT_KIND_PACKET_LOSS"}]})"});
  EXPECT_EQ(link.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Verdicts(link), "PASS PASS UNKNOWN UNKNOWN");
  const v1::Certificate named = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_SWITCH", "name": "switch spine-3", "leaf": "spine-3",
      "fault": "FAULT_KIND_PACKET_LOSS"}]})"});
  EXPECT_EQ(named.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Verdicts(named), "UNKNOWN UNKNOWN UNKNOWN UNKNOWN") << "all may use it";
  EXPECT_EQ(Verdicts(Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_SWITCH", "name": "switch leaf2", "leaf": "leaf2",
      "fault": "FAULT_KIND_TOTAL_LOSS"}]})"})),
            "PASS PASS FAIL FAIL")
      << "a leaf is a part of its nodes' paths";
  const v1::Certificate pair = Judged(Probed(), {.blame = R"({"suspects": [{
      "kind": "SUSPECT_KIND_PAIR", "name": "n1/mlx5_0/1 and n4/mlx5_0/1", "node": "n1",
      "device": "mlx5_0", "port": 1, "other_node": "n4", "other_device": "mlx5_0",
      "other_port": 1}]})"});
  EXPECT_EQ(Verdicts(pair), "UNKNOWN PASS PASS UNKNOWN");
}

TEST(CertificateVerdict, IsUnknownWhereBlameIsUndecided) {
  const v1::Certificate undecided = Judged(Probed(), {.blame = R"({"undecided": [{"suspects": [
      {"kind": "SUSPECT_KIND_PORT", "name": "n1/mlx5_0/1", "node": "n1", "device": "mlx5_0",
       "port": 1, "fault": "FAULT_KIND_LOW_BANDWIDTH"},
      {"kind": "SUSPECT_KIND_HOST", "name": "n3", "node": "n3"}]}]})"});
  EXPECT_EQ(undecided.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(Verdicts(undecided), "UNKNOWN PASS UNKNOWN PASS");
  EXPECT_THAT(undecided.nodes(0).reasons(),
              ElementsAre("undecided: n1/mlx5_0/1 or n3 is slower than its peers"));
}

TEST(CertificateVerdict, IsUnknownForWhatIsSuspicious) {
  const v1::Certificate port = Judged(Probed(), {.suspicious = R"({"kind": "SUSPECT_KIND_PORT",
      "name": "n4/mlx5_0/1", "node": "n4", "device": "mlx5_0", "port": 1, "leaf": "leaf2"})"});
  EXPECT_EQ(Verdicts(port), "PASS PASS PASS UNKNOWN");
  EXPECT_THAT(testing::Texts(port.not_covered()),
              ElementsAre("n4/mlx5_0/1: may have a fault; no result confirms it"));
  EXPECT_EQ(Verdicts(Judged(Probed(), {.suspicious = R"({"kind": "SUSPECT_KIND_HOST",
      "name": "n1", "node": "n1"})"})),
            "UNKNOWN PASS PASS PASS");
  EXPECT_EQ(Verdicts(Judged(Probed(), {.suspicious = R"({"kind": "SUSPECT_KIND_LEAF",
      "name": "leaf2", "leaf": "leaf2"})"})),
            "PASS PASS UNKNOWN UNKNOWN");
  const v1::Certificate fabric =
      Judged(Probed(), {.suspicious = R"({"kind": "SUSPECT_KIND_FABRIC", "name": "the fabric"})"});
  EXPECT_EQ(fabric.verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(Verdicts(fabric), "UNKNOWN UNKNOWN UNKNOWN UNKNOWN") << "as the whole";
  EXPECT_THAT(fabric.evidence(), ElementsAre("the fabric may have a fault; no result confirms it"));
  EXPECT_THAT(testing::Texts(fabric.not_covered()),
              ElementsAre("the fabric may have a fault; no result confirms it"));
}

TEST(CertificateVerdict, AFailureThatNobodyExplainsIsOfBoth) {
  CertificateWork work = Probed();
  work.Take(
      PairResultOf(1, 3, v1::PROBE_STATUS_TIMED_OUT, "n1: reported no result within 5000 ms"));
  const v1::Certificate certificate = Judged(work);
  EXPECT_EQ(Verdicts(certificate), "UNKNOWN PASS UNKNOWN PASS");
  EXPECT_THAT(certificate.nodes(0).reasons(0),
              HasSubstr("n1/mlx5_0/1 with n3/mlx5_0/1: n1: reported no result"));
}

// Blame calls the node dead; but all that is known is that its agent was not there.
TEST(CertificateVerdict, AnAgentThatWasAwaySaysNothingOfItsFabric) {
  const auto result = [](std::uint32_t from, std::uint32_t to, v1::ProbeStatus status) {
    v1::PairResult made = PairResultOf(from, to, status, "n4: no word");
    if (to == 4) made.mutable_result()->set_blamed_node("n4");
    return made;
  };
  const Given dead{.blame = R"({"suspects": [{"kind": "SUSPECT_KIND_PORT", "node": "n4", "device":
      "mlx5_0", "port": 1, "name": "n4/mlx5_0/1", "fault": "FAULT_KIND_TOTAL_LOSS"}]})"};
  CertificateWork work(FourPorts(), false);
  for (const auto& [from, to] : {std::pair{1U, 2U}, {1U, 3U}, {2U, 3U}})
    work.Take(result(from, to, v1::PROBE_STATUS_OK));
  work.Take(result(1, 4, v1::PROBE_STATUS_TIMED_OUT));
  work.Take(result(2, 4, v1::PROBE_STATUS_UNREACHABLE));
  work.Take(result(3, 4, v1::PROBE_STATUS_UNREACHABLE));
  const v1::Certificate away = Judged(work, dead);
  EXPECT_EQ(Verdicts(away), "PASS PASS PASS UNKNOWN");
  EXPECT_EQ(away.verdict(), v1::VERDICT_UNKNOWN);

  v1::PairResult failed = result(2, 4, v1::PROBE_STATUS_FAILED);
  failed.mutable_result()->clear_blamed_node();
  work.Take(failed);
  EXPECT_EQ(Verdicts(Judged(work, dead)), "PASS PASS PASS FAIL");
}

TEST(CertificateVerdict, APortThatWasNotProbedIsNotWell) {
  std::vector<AskedPort> ports = FourPorts();
  ports[3].obstacle =
      CoverageGapOf(ports[3].port, v1::COVERAGE_GAP_REASON_PORT_BUSY, "busy: sends 40 Gb/s");
  CertificateWork work(std::move(ports), false);
  work.Take(PairResultOf(1, 2, v1::PROBE_STATUS_OK));
  work.Take(PairResultOf(1, 3, v1::PROBE_STATUS_OK));
  work.Take(PairResultOf(2, 3, v1::PROBE_STATUS_REFUSED, "n3: port busy"));
  const v1::Certificate certificate = Judged(
      work,
      {.cut_off = CoverageGapOf(v1::COVERAGE_GAP_REASON_TIME_LIMIT, "not probed within 5 s")});
  EXPECT_EQ(Verdicts(certificate), "PASS UNKNOWN UNKNOWN UNKNOWN");
  EXPECT_THAT(certificate.nodes(1).reasons(), ElementsAre("n2/mlx5_0/1: n3: port busy"));
  EXPECT_THAT(certificate.nodes(3).reasons(), ElementsAre("n4/mlx5_0/1: busy: sends 40 Gb/s"));
  EXPECT_THAT(testing::Texts(certificate.not_covered()),
              ElementsAre("pairs: 1 of 3 possible ones were not probed",
                          "n4/mlx5_0/1: busy: sends 40 Gb/s"));
}

TEST(CertificateVerdict, OneNodeIsProbedWithItself) {
  std::vector<AskedPort> ports = FourPorts();
  ports.resize(1);
  CertificateWork work(ports, true);
  work.Take(PairResultOf(1, 1, v1::PROBE_STATUS_OK));
  v1::Certificate certificate;
  certificate.mutable_request()->add_nodes("n1");
  v1::Certificate failed = certificate;
  Judge({.work = work}, certificate);
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(certificate.not_covered(0).reason(), v1::COVERAGE_GAP_REASON_SINGLE_NODE);
  work.Take(PairResultOf(1, 1, v1::PROBE_STATUS_FAILED, "local protection error"));
  Judge({.work = work}, failed);
  EXPECT_EQ(failed.verdict(), v1::VERDICT_FAIL);
}

}  // namespace
}  // namespace fabric::control
