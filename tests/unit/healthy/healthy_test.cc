// Healthy hosts of many kinds, alone and as a fleet of equals: no rule fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "proto/names.h"
#include "tests/unit/healthy/host_kinds.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Each;
using testing::HealthyFleets;
using testing::HostFleet;
using ::testing::IsEmpty;
using Fleet = std::vector<v1::NodeSnapshot>;

std::vector<std::string> Lines(const Evaluation& evaluation, v1::Verdict verdict) {
  std::vector<std::string> lines;
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.verdict() == verdict && finding.severity() >= v1::SEVERITY_WARNING)
      lines.push_back(
          Format("{} {}: {}", finding.rule(), SubjectName(finding.subject()), finding.title()));
  return lines;
}

std::vector<std::string> UnknownRules(const Evaluation& evaluation) {
  std::vector<std::string> rules;
  for (const std::string& line : Lines(evaluation, v1::VERDICT_UNKNOWN))
    rules.push_back(line.substr(0, line.find(' ')));
  return rules;
}

TEST(HealthyHost, HasNoFailingFinding) {
  for (const HostFleet& fleet : HealthyFleets()) {
    for (const Fleet& nodes : {Fleet{fleet.nodes.front()}, fleet.nodes}) {
      SCOPED_TRACE(Format("{}, nodes: {}", fleet.kind.name, nodes.size()));
      const Evaluation evaluation = Judge(nodes);
      EXPECT_THAT(Lines(evaluation, v1::VERDICT_FAIL), IsEmpty());
      EXPECT_THAT(UnknownRules(evaluation), Each(std::string(fleet.kind.unknown)));
      EXPECT_GT(evaluation.counts.pass(), 0U);
    }
  }
}

// Rules do not compare hosts of different kinds.
TEST(HealthyHost, HasNoFailingFindingInAMixedFleet) {
  Fleet mixed;
  for (const HostFleet& fleet : HealthyFleets()) mixed.push_back(fleet.nodes.front());
  EXPECT_THAT(Lines(Judge(mixed), v1::VERDICT_FAIL), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
