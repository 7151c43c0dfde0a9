// What is refused in a file of rules, where, and that the rest stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/custom/rule_file.h"

namespace fabric::custom {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kTaken[] = {"port_active", "other.rule"};

RuleFile Load(std::string_view yaml) {
  return LoadRules(yaml, "f.yaml", kTaken);
}

std::vector<std::string> Problems(std::string_view yaml) {
  std::vector<std::string> lines;
  for (const yaml::Problem& problem : Load(yaml).problems) lines.push_back(ToString(problem));
  return lines;
}

std::vector<std::string> Ids(const RuleFile& file) {
  std::vector<std::string> ids;
  for (const Rule& rule : file.rules) ids.push_back(rule.id);
  return ids;
}

TEST(LoadRules, ABadRuleDisturbsNoOther) {
  const RuleFile file = Load(R"(rules:
  - {id: a.one, title: t, severity: info, scope: node, check: has(node.gpus)}
  - {id: a.two, title: t, severity: info, scope: node, check: has(node.gpsu)}
  - {id: a.three, title: t, severity: info, scope: node, check: has(node.gpus)}
)");
  EXPECT_THAT(Ids(file), ElementsAre("a.one", "a.three"));
  ASSERT_EQ(file.problems.size(), 1U);
  EXPECT_EQ(ToString(file.problems[0]),
            "f.yaml:3:72: check: unknown NodeSnapshot field 'gpsu'; did you mean 'gpus'?");
}

TEST(LoadRules, EveryProblemOfARuleIsTold) {
  EXPECT_THAT(Problems(R"(rules:
  - id: Bad Id
    titel: t
    severity: bad
    scope: port
    when: port.number
    check: >-
      port.number == 1 &&
        port.nubmer == 2
    fix:
      - {comand: x}
      - command: ip link set ${netdev.nam} up
        interrupts_traffic: maybe
)"),
              ElementsAre("f.yaml:2:5: no 'title'",
                          "f.yaml:2:9: id: expected words of a-z, 0-9 and _ with dots between "
                          "them, at most 64 bytes; saw 'Bad Id'",
                          "f.yaml:3:5: unknown key 'titel'; did you mean 'title'?",
                          "f.yaml:4:15: severity: expected one of info, warning, error, critical; "
                          "saw 'bad'",
                          "f.yaml:6:16: when: expected a bool, saw int",
                          "f.yaml:9:14: check: unknown Port field 'nubmer'; did you mean 'number'?",
                          "f.yaml:11:9: no 'command'",
                          "f.yaml:11:10: unknown key 'comand'; did you mean 'command'?",
                          "f.yaml:12:39: command: unknown NetInterface field 'nam'; did you mean "
                          "'name'?",
                          "f.yaml:13:29: interrupts_traffic: expected true or false; saw 'maybe'"));
}

TEST(LoadRules, VariablesAreThoseOfTheScope) {
  EXPECT_THAT(Problems("rules: [{id: a, title: t, severity: info, scope: node, check: port.number "
                       "== 1}]"),
              ElementsAre("f.yaml:1:63: check: unknown name 'port'; expected node"));
  EXPECT_THAT(Problems("rules: [{id: a, title: t, severity: info, scope: fleet, check: 'true'}]"),
              ElementsAre("f.yaml:1:50: scope: expected one of port, device, node; saw 'fleet'"));
}

TEST(LoadRules, IdsAreUnique) {
  EXPECT_THAT(Problems(R"(rules:
  - {id: port_active, title: t, severity: info, scope: node, check: 'true'}
  - {id: a, title: t, severity: info, scope: node, check: 'true'}
  - {id: a, title: t, severity: info, scope: node, check: 'true'}
)"),
              ElementsAre("f.yaml:2:10: id: 'port_active' is taken by another rule",
                          "f.yaml:4:10: id: 'a' is given twice"));
}

TEST(LoadRules, WhatIsNoFileOfRules) {
  EXPECT_THAT(Problems(""), ElementsAre("f.yaml:1:1: expected a file of rules (rules, tests), saw "
                                        "nothing"));
  EXPECT_THAT(Problems("rule: []"),
              ElementsAre("f.yaml:1:1: unknown key 'rule'; did you mean 'rules'?",
                          "f.yaml:1:1: no 'rules'"));
  EXPECT_THAT(Problems("rules: x"), ElementsAre("f.yaml:1:8: rules: expected a list, saw a text"));
  EXPECT_THAT(
      Problems("rules: [x]"),
      ElementsAre(
          "f.yaml:1:9: expected a rule (id, title, severity, scope, nodes, when, check, for, "
          "expect, seen, why, source, fix), saw a text"));
  EXPECT_THAT(Problems("rules: []\nrules: []"), ElementsAre("f.yaml:2:1: 'rules' is given twice"));
  EXPECT_THAT(Problems("rules: []"), IsEmpty());
  EXPECT_THAT(Problems("rules:\n - [\n"), ElementsAre(::testing::StartsWith("f.yaml:3:1: ")));
}

TEST(LoadRules, TestsAreCheckedToo) {
  EXPECT_THAT(Problems(R"(rules:
  - {id: a, title: t, severity: info, scope: node, check: has(node.gpus)}
  - {id: b, title: t, severity: info, scope: node, check: has(node.gpus)}
tests:
  - {name: x, snapshot: {gpsu: []}, expect: [{rule: a, subject: node, verdict: pass}]}
  - {name: x, snapshot: {}, expect: [{subject: node, verdict: pass}]}
  - {name: x, snapshot: {}, expect: [{rule: c, subject: node, verdict: pass}]}
  - {name: x, snapshot: {}, expect: [{rule: a, subject: node, verdict: good}]}
  - {name: x, snapshot: {}, expect: []}
  - {name: x, expect: [{rule: a, subject: node, verdict: pass}]}
)"),
              ElementsAre("f.yaml:5:25: snapshot: gpsu: Cannot find field.",
                          "f.yaml:6:38: no 'rule': there are several, so name the one that is "
                          "tested",
                          "f.yaml:7:45: rule: unknown rule 'c' in this file",
                          "f.yaml:8:72: verdict: expected one of pass, fail, unknown, none; saw "
                          "'good'",
                          "f.yaml:9:5: expect: expected at least one expectation, saw none",
                          "f.yaml:10:5: no 'snapshot'"));
}

}  // namespace
}  // namespace fabric::custom
