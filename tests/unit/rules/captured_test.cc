// Verdicts of the rules on captured machines, as the agent reads them: every verdict that is not a
// pass, as a golden text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "proto/names.h"
#include "tests/testing/captured.h"
#include "tests/testing/golden.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::Captured;

TEST(Captured, FindingsMatchTheGoldenTexts) {
  for (const std::string machine : testing::CapturedMachines()) {
    const Evaluation evaluation = Judge({Captured(machine)});
    std::multiset<std::string> lines;
    for (const v1::Finding& finding : evaluation.findings)
      lines.insert(Format("{} {} {}: {}\n", Name(finding.verdict()), finding.rule(),
                          SubjectName(finding.subject()), finding.title()));
    std::string text = Format("{} pass, {} fail, {} unknown\n", evaluation.counts.pass(),
                              evaluation.counts.fail(), evaluation.counts.unknown());
    for (const std::string& line : lines) text += line;
    EXPECT_TRUE(testing::MatchesGolden("rules/" + machine, text));
  }
}

constexpr const char* kHealthy[] = {"azure_guest", "e810_irdma", "efa",     "ionic_pollara",
                                    "lag_vlan",    "mi300x",     "nothing", "rxe_guest",
                                    "thor2_bnxt",  "vf_bond"};

TEST(Captured, HealthyMachinesHaveNoFailingFinding) {
  for (const std::string machine : kHealthy)
    EXPECT_EQ(Judge({Captured(machine)}).counts.fail(), 0U) << machine;
}

// A fleet of one machine of each kind: the rules do not compare different kinds.
TEST(Captured, HealthyMachinesTogetherHaveNoFailingFinding) {
  std::vector<v1::NodeSnapshot> fleet;
  for (const std::string machine : kHealthy) fleet.push_back(Captured(machine));
  EXPECT_THAT(Failures(fleet), ::testing::IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
