// The commands findings, rules and validate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "ctl/render.h"
#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFindings = R"("findings": [
    {"id": "f3", "rule": "peermem_loaded", "verdict": "VERDICT_UNKNOWN",
     "severity": "SEVERITY_ERROR", "subject": {"scope": "SCOPE_NODE", "node": "n10"},
     "title": "module list not readable: permission denied", "state": "FINDING_STATE_OPEN",
     "opened_at": "2026-11-21T01:16:07Z"},
    {"id": "f2", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_ERROR",
     "subject": {"scope": "SCOPE_PORT", "node": "n10", "device": "rxe1", "port": 1},
     "title": "MTU 1500, expected 4200", "state": "FINDING_STATE_OPEN",
     "opened_at": "2026-11-21T01:16:06Z",
     "evidence": [{"what": "MTU", "expected": "4200", "seen": "1500"}],
     "remedies": [{"command": "ip link set rail1 mtu 4200"}]},
    {"id": "f1", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_ERROR",
     "subject": {"scope": "SCOPE_PORT", "node": "n2", "device": "rxe1", "port": 1},
     "title": "MTU 1500, expected 4200", "state": "FINDING_STATE_RESOLVED",
     "opened_at": "2026-11-21T01:16:05Z", "remedies": [{"note": "see the switch"}]},
    {"id": "f0", "rule": "duplicate_gid", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_CRITICAL", "subject": {"scope": "SCOPE_RAIL", "rail": 0},
     "title": "GID 10.10.0.1 on n1 and n2", "state": "FINDING_STATE_OPEN",
     "opened_at": "2026-11-21T01:16:08Z"}])";

FakeController WithFindings() {
  FakeController controller;
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(std::string("{").append(kFindings).append("}"));
  return controller;
}

TEST(Findings, MostSevereFirstUnknownLast) {
  FakeController controller = WithFindings();
  const Said said = RunWords("findings", controller);
  EXPECT_TRUE(MatchesGolden("ctl/findings", said.out));
  EXPECT_EQ(said.status, kExitFindings);
}

TEST(Findings, FitANarrowTerminalWithWholeIds) {
  FakeController controller = WithFindings();
  for (v1::Finding& finding : *controller.Answer<v1::ListFindingsResponse>().mutable_findings()) {
    finding.set_id("8f21c03be94d7a" + finding.id());
    finding.set_rule("rdma_mtu_matches_netdev");
    finding.set_title(finding.title() + ", as the switch leaf-12 announces it for the rail");
    finding.mutable_subject()->set_node("gpu-0101-of-the-third-pod");
  }
  const std::string text = RunWords("findings", controller, {.columns = 80}).out;
  EXPECT_THAT(text, HasSubstr("8f21c03be94d7af0  "));
  EXPECT_THAT(text, HasSubstr("rdma_mtu_matches_ne…"));
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(DisplayWidth(line), 80u) << line;
  EXPECT_THAT(RunWords("findings", controller, {.columns = 140}).out,
              HasSubstr("rdma_mtu_matches_netdev  "));
}

TEST(Findings, OfOneRuleAndSubjectGoByWhatTheySay) {
  FakeController controller;
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(R"({"findings": [
      {"id": "a", "rule": "duplicate_lid", "verdict": "VERDICT_FAIL", "title": "LID 53 is on 2",
       "subject": {"scope": "SCOPE_FLEET"}},
      {"id": "b", "rule": "duplicate_lid", "verdict": "VERDICT_FAIL", "title": "LID 7 is on 2",
       "subject": {"scope": "SCOPE_FLEET"}}]})");
  EXPECT_EQ(RunWords("findings -o name", controller).out, "b\na\n");
}

TEST(Findings, WideTellsEvidenceAndFix) {
  FakeController controller = WithFindings();
  EXPECT_TRUE(MatchesGolden("ctl/findings_wide", RunWords("findings -o wide", controller).out));
  EXPECT_EQ(RunWords("findings -o name", controller).out, "f0\nf1\nf2\nf3\n");
}

TEST(Findings, AllSaysWhichAreResolved) {
  FakeController controller = WithFindings();
  EXPECT_TRUE(MatchesGolden("ctl/findings_all", RunWords("findings --all", controller).out));
}

TEST(Findings, FiltersAreTheControllers) {
  FakeController controller;
  RunWords(
      "findings --node n2,n[3-4] --node n9 --rule=port_active --severity warning --all --unknown",
      controller);
  const v1::ListFindingsRequest request = controller.LastRequest<v1::ListFindingsRequest>();
  EXPECT_THAT(request.nodes(), ElementsAre("n2", "n3", "n4", "n9"));
  EXPECT_EQ(request.rule(), "port_active");
  EXPECT_EQ(request.min_severity(), v1::SEVERITY_WARNING);
  EXPECT_TRUE(request.include_resolved());
  EXPECT_TRUE(request.include_unknown());
}

TEST(Findings, WhatHasOneCauseIsOneRow) {
  FakeController controller = WithFindings();
  auto& list = *controller.Answer<v1::ListFindingsResponse>().mutable_findings();
  v1::Finding& cause = *list.Add();
  cause = list[1];
  cause.set_id("f9");
  cause.set_title("MTU 1500, expected 4200, on all 2 ports");
  cause.add_explains("f2");
  list[1].set_explained_by("f9");
  const Said said = RunWords("findings", controller);
  EXPECT_THAT(said.out, HasSubstr("on all 2 ports"));
  EXPECT_THAT(said.out, Not(HasSubstr("caused by f9")));
  EXPECT_THAT(said.out, HasSubstr("1 finding caused by these is not shown"));
  const Said all = RunWords("findings --explained", controller);
  EXPECT_THAT(all.out, HasSubstr("caused by f9"));
  EXPECT_THAT(all.out, Not(HasSubstr("not shown")));
  list.RemoveLast();
  EXPECT_THAT(RunWords("findings", controller).out, HasSubstr("caused by f9"))
      << "its cause was not asked for";
}

TEST(Findings, UnknownsThatReadAlikeAreOneRow) {
  FakeController controller;
  for (const char* device : {"rxe0", "rxe1", "rxe2"}) {
    v1::Finding& finding = *controller.Answer<v1::ListFindingsResponse>().add_findings();
    finding.set_id(device);
    finding.set_rule("pfc_equal_on_rail");
    finding.set_verdict(v1::VERDICT_UNKNOWN);
    finding.mutable_subject()->set_scope(v1::SCOPE_PORT);
    finding.mutable_subject()->set_node("n1");
    finding.mutable_subject()->set_device(device);
    finding.mutable_subject()->set_port(1);
    finding.set_title("PFC could not be read");
  }
  EXPECT_THAT(RunWords("findings --unknown", controller).out, HasSubstr("n1 (3 ports)"));
  EXPECT_THAT(RunWords("findings --unknown --explained", controller).out, HasSubstr("n1/rxe2/1"));
  controller.Answer<v1::ListFindingsResponse>().mutable_findings(2)->set_title(
      "PFC could not be read: other");
  EXPECT_THAT(RunWords("findings --unknown", controller).out, HasSubstr("n1 (2 ports)"));
}

TEST(Findings, OnlyOpenFailingOnesChangeTheExitStatus) {
  FakeController controller = WithFindings();
  auto& list = *controller.Answer<v1::ListFindingsResponse>().mutable_findings();
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const v1::Finding& f) { return f.id() == "f0" || f.id() == "f2"; }),
             list.end());
  ASSERT_EQ(list.size(), 2);  // One unknown, one resolved.
  EXPECT_EQ(RunWords("findings --all --unknown", controller).status, kExitOk);
}

TEST(Findings, SilencedOnesAreLeftOutAndCounted) {
  FakeController controller = WithFindings();
  for (v1::Finding& finding : *controller.Answer<v1::ListFindingsResponse>().mutable_findings())
    finding.mutable_silenced()->mutable_until()->set_seconds(1'800'000'000);
  Said said = RunWords("findings --all", controller);
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_THAT(said.out, HasSubstr("3 silenced findings not shown; use --silenced.\n"));
  EXPECT_THAT(said.out, HasSubstr("resolved"));
  EXPECT_EQ(RunWords("findings -o name", controller).out, "f1\n");
  said = RunWords("findings --silenced", controller);
  EXPECT_EQ(said.status, kExitOk) << "they alert nobody";
  EXPECT_THAT(said.out, HasSubstr("silenced until 2027-01-15T08:00:00Z"));
  EXPECT_THAT(said.out, Not(HasSubstr("not shown")));
}

TEST(Findings, WhatHappenedInTheirLivesIsAColumn) {
  FakeController controller = WithFindings();
  EXPECT_THAT(RunWords("findings", controller).out, Not(HasSubstr("STATUS")));
  v1::Finding& finding = *controller.Answer<v1::ListFindingsResponse>().mutable_findings(1);
  finding.mutable_acknowledged()->set_author("ada");
  finding.set_flapping(true);
  finding.set_expired_reason("node n10 is lost since yesterday: gone");
  EXPECT_THAT(RunWords("findings", controller).out,
              HasSubstr("  expired, acknowledged by ada, flapping\n"));
}

TEST(Findings, NoneIsSaidOnStandardError) {
  FakeController controller;
  const Said said = RunWords("findings", controller);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err, "No findings.\n");
  EXPECT_EQ(said.status, kExitOk);
}

TEST(Rules, AreListed) {
  FakeController controller;
  controller.Answer<v1::ListRulesResponse>() = FromText<v1::ListRulesResponse>(R"({"rules": [
    {"id": "port_active", "title": "a port with a link is ACTIVE", "severity": "SEVERITY_CRITICAL",
     "scope": "SCOPE_PORT", "why": "nothing can use it", "source": "IBTA volume 1, 7.2.7"}]})");
  EXPECT_TRUE(MatchesGolden("ctl/rules", RunWords("rules", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/rules_wide", RunWords("rules -o wide", controller).out));
  EXPECT_EQ(RunWords("rules -o name", controller).out, "port_active\n");
}

TEST(Validate, CountsAndLists) {
  FakeController controller;
  controller.Answer<v1::ValidateResponse>() = FromText<v1::ValidateResponse>(
      std::string(R"({"counts": {"pass": "45", "fail": "2", "unknown": "1"}, "nodes": 3,
                      "rules": 1, )")
          .append(kFindings)
          .append("}"));
  const Said said = RunWords("validate", controller);
  EXPECT_TRUE(MatchesGolden("ctl/validate", said.out));
  EXPECT_EQ(said.status, kExitFindings);
}

TEST(Validate, SaysWhatTheVerdictsCover) {
  FakeController controller;
  controller.Answer<v1::ValidateResponse>() = FromText<v1::ValidateResponse>(
      R"({"counts": {"pass": "45", "unknown": "3"}, "nodes": 2, "rules": 130, "coverage": {
          "rulesJudged": 80, "rulesNotApplicable": 30, "rulesWithoutRates": 20,
          "unread": [{"reason": "not readable: Permission denied", "verdicts": 3,
                      "rules": ["pcie_ats_equal", "pcie_payload_equal_in_node"], "nodes": 1}],
          "expectationsMissing": ["rate_bps", "trust", "gpus", "firmware", "ats"]}})");
  EXPECT_THAT(RunWords("validate", controller).out,
              HasSubstr("Coverage: 80 rules judged, 30 not applicable, 20 without counter rates "
                        "(two reports at least 10 s apart).\n"
                        "Unknown, by reason:\n"
                        "  3 verdicts on 1 node: not readable: Permission denied "
                        "(pcie_ats_equal, pcie_payload_equal_in_node)\n"
                        "5 expectations missing: rate_bps, trust, gpus, firmware and 1 more. Run "
                        "`fabricctl profile infer`.\n"));
}

TEST(Validate, UnknownAloneIsNoFailure) {
  FakeController controller;
  controller.Answer<v1::ValidateResponse>() =
      FromText<v1::ValidateResponse>(R"({"counts": {"pass": "45", "unknown": "1"}, "nodes": 1})");
  const Said said = RunWords("validate", controller);
  EXPECT_EQ(said.out, "1 node, 0 rules: 45 pass, 0 fail, 1 unknown\n");
  EXPECT_EQ(said.status, kExitOk);
}

}  // namespace
}  // namespace fabric::ctl
