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

}  // namespace
}  // namespace fabric::custom
