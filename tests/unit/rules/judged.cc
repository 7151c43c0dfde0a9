#include "tests/unit/rules/judged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/names.h"

namespace fabric::rules {
namespace {

std::vector<std::string> Select(const Evaluation& evaluation, v1::Verdict verdict) {
  std::vector<std::string> names;
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.verdict() == verdict)
      names.push_back(finding.rule() + " " + SubjectName(finding.subject()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Evaluation Judge(const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  return Evaluate(fleet::FleetView(records));
}

std::vector<std::string> Failures(const std::vector<v1::NodeSnapshot>& nodes) {
  return Select(Judge(nodes), v1::VERDICT_FAIL);
}

std::vector<std::string> Unknowns(const std::vector<v1::NodeSnapshot>& nodes) {
  return Select(Judge(nodes), v1::VERDICT_UNKNOWN);
}

v1::Finding TheFailure(const std::vector<v1::NodeSnapshot>& nodes) {
  EXPECT_THAT(Failures(nodes), ::testing::SizeIs(1));
  for (const v1::Finding& finding : Judge(nodes).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) return finding;
  return {};
}

}  // namespace fabric::rules
