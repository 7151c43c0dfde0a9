// What a custom rule makes of a snapshot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/custom/rule_file.h"
#include "tests/testing/nodes.h"

namespace fabric::custom {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kRules = R"(rules:
  - id: site.mtu
    title: "MTU of ${netdev.name} is ${netdev.mtu_bytes}"
    severity: error
    scope: port
    when: port.state == 'ACTIVE'
    check: netdev.mtu_bytes == 9000 && netdev.dcb.trust == 'DSCP'
    expect: 9000, trust DSCP
    why: because
    fix:
      - {platform: mlx5, command: "ip link set ${netdev.name} mtu 9000", interrupts_traffic: true,
         note: "now ${netdev.mtu_bytes}"}
)";

class CustomRule : public ::testing::Test {
 protected:
  CustomRule() : file_(LoadRules(kRules, "site.yaml", {})) {
    for (const yaml::Problem& problem : file_.problems) ADD_FAILURE() << ToString(problem);
  }

  const Rule& rule() const { return file_.rules.at(0); }

  RuleFile file_;
  v1::NodeSnapshot node_ = testing::RoceNode({.number = 1, .rails = 2});
};

TEST_F(CustomRule, PassesAreCounted) {
  const Evaluation evaluation = Evaluate(rule(), node_);
  EXPECT_EQ(evaluation.passes, 2U);
  EXPECT_EQ(evaluation.findings.size(), 0U);
}

TEST_F(CustomRule, AFailureProvesItselfAndSaysWhatToType) {
  testing::SetMtu(node_, 1, 1500);
  const Evaluation evaluation = Evaluate(rule(), node_);
  EXPECT_EQ(evaluation.passes, 1U);
  ASSERT_EQ(evaluation.findings.size(), 1U);
  const v1::Finding& finding = evaluation.findings[0];
  EXPECT_EQ(finding.rule(), "site.mtu");
  EXPECT_EQ(finding.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(finding.severity(), v1::SEVERITY_ERROR);
  EXPECT_EQ(finding.title(), "MTU of rail1 is 1500");
  EXPECT_EQ(finding.subject().node(), "n1");
  EXPECT_EQ(finding.subject().device(), "mlx5_1");
  EXPECT_EQ(finding.subject().port(), 1U);
  EXPECT_EQ(finding.subject().netdev(), "rail1");
  ASSERT_EQ(finding.evidence_size(), 1);  // What decided; nobody needed to read the trust
  EXPECT_EQ(finding.evidence(0).what(), "netdev.mtu_bytes");
  EXPECT_EQ(finding.evidence(0).seen(), "1500");
  EXPECT_EQ(finding.evidence(0).expected(), "9000, trust DSCP");
  EXPECT_EQ(finding.evidence(0).basis(), "rule of site.yaml:2");
  ASSERT_EQ(finding.remedies_size(), 1);
  EXPECT_EQ(finding.remedies(0).command(), "ip link set rail1 mtu 9000");
  EXPECT_EQ(finding.remedies(0).platform(), "mlx5");
  EXPECT_EQ(finding.remedies(0).note(), "now 1500");
  EXPECT_TRUE(finding.remedies(0).interrupts_traffic());
}

TEST_F(CustomRule, WhatIsNotThereIsUnknown) {
  testing::NetdevOf(node_, 0).mutable_dcb()->clear_trust();
  const Evaluation evaluation = Evaluate(rule(), node_);
  ASSERT_EQ(evaluation.findings.size(), 1U);
  EXPECT_EQ(evaluation.findings[0].verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(evaluation.findings[0].title(),
            "site.mtu cannot be judged: netdev.dcb.trust is absent");
}

TEST_F(CustomRule, AWrongValueIsAFailureWhateverElseIsAbsent) {
  testing::SetMtu(node_, 0, 1500);
  testing::NetdevOf(node_, 0).clear_dcb();
  EXPECT_EQ(Evaluate(rule(), node_).findings.at(0).verdict(), v1::VERDICT_FAIL);
}

TEST_F(CustomRule, WithoutItsNetdevAPortIsUnknown) {
  testing::PortOf(node_, 0).clear_netdev();
  EXPECT_EQ(Evaluate(rule(), node_).findings.at(0).title(),
            "site.mtu cannot be judged: netdev is absent");
}

TEST_F(CustomRule, DoesNotApplyWhereWhenIsFalse) {
  testing::PortOf(node_, 0).set_state(v1::PORT_STATE_DOWN);
  EXPECT_EQ(Evaluate(rule(), node_).passes, 1U);
  EXPECT_EQ(Evaluate(rule(), node_).findings.size(), 0U);
}

TEST_F(CustomRule, IsUnknownWhereItIsNotKnownWhetherItApplies) {
  testing::PortOf(node_, 0).clear_state();
  EXPECT_EQ(Evaluate(rule(), node_).findings.at(0).title(),
            "site.mtu may not apply: port.state is absent");
}

TEST(RunTests, SaysWhatDiffers) {
  const RuleFile file = LoadRules(R"(rules:
  - {id: a, title: no GPU, severity: info, scope: device, check: device.numa_node == 0}
tests:
  - name: all of it
    snapshot: {rdma_devices: [{name: x, numa_node: 0}, {name: y, numa_node: 1}, {name: z}]}
    expect: [{subject: x, verdict: fail}, {subject: w, verdict: pass}]
  - name: right
    snapshot: {rdma_devices: [{name: y, numa_node: 1}]}
    expect: [{subject: y, verdict: fail}]
  - name: from a file
    snapshot: nowhere.json
    expect: [{subject: y, verdict: fail}]
)",
                                  "f.yaml", {});
  for (const yaml::Problem& problem : file.problems) ADD_FAILURE() << ToString(problem);
  const auto results = RunTests(file, [](const std::string& name) -> Result<v1::NodeSnapshot> {
    return Status(Code::kNotFound, name + ": not there");
  });
  ASSERT_EQ(results.size(), 3U);
  EXPECT_THAT(results[0].failures,
              ElementsAre("a on x: expected fail, saw pass",
                          "a on y: fail, which the test does not expect (no GPU)",
                          "a on z: unknown, which the test does not expect (a cannot be judged: "
                          "device.numa_node is absent)",
                          "a: the snapshot has no 'w'"));
  EXPECT_THAT(results[1].failures, ElementsAre());
  EXPECT_THAT(results[2].failures, ElementsAre("nowhere.json: not there"));
}

constexpr std::string_view kRates = R"(rules:
  - id: site.pauses
    title: "${rate('pfc_rx_frames_prio3')} per second, ${delta('pfc_rx_frames_prio3')} in all"
    severity: warning
    scope: port
    nodes: ["n*", "gpu-?"]
    check: rate('pfc_rx_frames_prio3') < 100.0 && delta('pfc_rx_frames_prio3') < 1000
)";

v1::NodeSnapshot WithPauses(std::int64_t seconds, std::uint64_t frames) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 1});
  node.mutable_taken_at()->set_seconds(1'700'000'000 + seconds);
  v1::CounterSet& set = *node.add_counters();
  set.set_netdev("rail0");
  v1::Counter& counter = *set.add_counters();
  counter.set_name("rx_prio3_pause");
  counter.set_neutral("pfc_rx_frames_prio3");
  counter.set_value(frames);
  return node;
}

TEST(CustomRates, AreIncreasesBetweenTwoReports) {
  const RuleFile file = LoadRules(kRates, "site.yaml", {});
  ASSERT_EQ(file.rules.size(), 1U);
  const v1::NodeSnapshot before = WithPauses(0, 1'000'000);
  const auto verdict = [&](std::uint64_t frames) {
    const v1::NodeSnapshot after = WithPauses(30, frames);
    const auto rates = fleet::CounterRates::Between(before, after);
    const Evaluation evaluation = Evaluate(file.rules[0], after, {.rates = &rates});
    return evaluation.findings.empty() ? std::string() : evaluation.findings[0].title();
  };
  EXPECT_EQ(verdict(1'000'030), "") << "the total does not matter";
  EXPECT_EQ(verdict(1'006'000), "200 per second, 6000 in all");
  EXPECT_EQ(Evaluate(file.rules[0], before).findings.at(0).verdict(), v1::VERDICT_UNKNOWN);
}

TEST(CustomNodes, LimitARule) {
  const RuleFile file = LoadRules(kRates, "site.yaml", {});
  v1::NodeSnapshot node = WithPauses(0, 0);
  for (const auto& [name, is_for] : {std::pair("n17", true), std::pair("gpu-1", true),
                                     std::pair("gpu-10", false), std::pair("login", false)}) {
    node.mutable_node()->set_name(name);
    EXPECT_EQ(IsFor(file.rules[0], node), is_for) << name;
    EXPECT_EQ(Evaluate(file.rules[0], node).findings.empty(), !is_for) << name;
  }
  EXPECT_FALSE(LoadRules("rules: [{id: a, title: t, severity: info, scope: node, check: 'true', "
                         "nodes: [[x]]}]",
                         "f", {})
                   .problems.empty());
}

constexpr std::string_view kHeldRule = R"(rules:
  - {id: site.mtu, title: "MTU ${netdev.mtu_bytes}", severity: error, scope: port,
     check: netdev.mtu_bytes == 9000, for: 2m}
)";

// Verdicts on mlx5_0/1 of reports at some seconds: the MTU, 0 for one that was not read.
class HeldRule : public ::testing::Test {
 protected:
  HeldRule() : file_(LoadRules(kHeldRule, "site.yaml", {})) {
    for (const yaml::Problem& problem : file_.problems) ADD_FAILURE() << ToString(problem);
  }

  v1::Verdict At(std::int64_t seconds, std::uint32_t mtu) {
    v1::NodeSnapshot node = testing::RoceNode({.rails = 1});
    node.mutable_taken_at()->set_seconds(1'800'000'000 + seconds);
    if (mtu != 0)
      testing::NetdevOf(node, 0).set_mtu_bytes(mtu);
    else
      testing::NetdevOf(node, 0).clear_mtu_bytes();
    const Target target = Targets(v1::SCOPE_PORT, node).at(0);
    Judgement judgement = Judge(file_.rules.at(0), node, target, {.history = &history_});
    title_ = judgement.finding ? judgement.finding->title() : "";
    return judgement.verdict;
  }

  RuleFile file_;
  History history_;
  std::string title_;
};

TEST_F(HeldRule, IsUnknownBeforeThereIsEnoughHistory) {
  EXPECT_EQ(At(0, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(90, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(title_, "site.mtu cannot be judged: false for 90s, expected a history of 2m");
  EXPECT_EQ(At(120, 1500), v1::VERDICT_FAIL);
  EXPECT_EQ(title_, "MTU 1500");
}

TEST_F(HeldRule, FailsWhenTheCheckWasFalseForTheWholeTime) {
  EXPECT_EQ(At(0, 9000), v1::VERDICT_PASS);
  EXPECT_EQ(At(30, 1500), v1::VERDICT_PASS) << "true 30 seconds ago";
  EXPECT_EQ(At(149, 1500), v1::VERDICT_PASS);
  EXPECT_EQ(At(150, 1500), v1::VERDICT_FAIL);
  EXPECT_EQ(At(150, 1500), v1::VERDICT_FAIL) << "the same report again";
  EXPECT_EQ(At(160, 9000), v1::VERDICT_PASS);
  EXPECT_EQ(At(170, 1500), v1::VERDICT_PASS) << "a new period";
}

TEST_F(HeldRule, StartsAgainAfterAValueThatWasNotReadAHoleAndAClockSetBack) {
  EXPECT_EQ(At(0, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(60, 0), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(130, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(250, 1500), v1::VERDICT_FAIL);
  EXPECT_EQ(At(600, 1500), v1::VERDICT_UNKNOWN) << "nothing was observed for more than 5 minutes";
  EXPECT_EQ(At(500, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(619, 1500), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(At(620, 1500), v1::VERDICT_FAIL);
}

TEST_F(HeldRule, IsUnknownWithoutAHistory) {
  v1::NodeSnapshot node = testing::RoceNode({.rails = 1});
  EXPECT_EQ(Evaluate(file_.rules.at(0), node).passes, 1U);
  testing::SetMtu(node, 0, 1500);
  EXPECT_EQ(Evaluate(file_.rules.at(0), node).findings.at(0).verdict(), v1::VERDICT_UNKNOWN);
}

TEST(RuleHistory, DropsSubjectsThatAreGone) {
  History history;
  WallTime now{};
  for (int i = 0; i < 10'000; ++i) {
    now += std::chrono::seconds(1);
    history.OnTrue(Format("n{} node", i), now, std::chrono::minutes(1));
  }
  EXPECT_LE(history.size(), 1000U);
}

TEST(HeldRules, AreRejectedWithAWrongTime) {
  for (const char* time : {"0s", "8d", "soon", "-1s", ""}) {
    const RuleFile file = LoadRules(
        Format("rules:\n  - {{id: a, title: t, severity: info, scope: node, check: has(node.gpus), "
               "for: '{}'}}\n",
               time),
        "site.yaml", {});
    EXPECT_EQ(file.problems.size(), *time == '\0' ? 0U : 1U) << time;
  }
}

}  // namespace
}  // namespace fabric::custom
