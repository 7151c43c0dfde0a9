#include "tests/unit/rules/judged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/names.h"
#include "tests/unit/rules/remedy_effects.h"
#include "tests/unit/rules/safe_remedies.h"

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

// Without common causes.
Evaluation OfRules(Evaluation evaluation) {
  std::erase_if(evaluation.findings, &v1::Finding::common_cause);
  return evaluation;
}

// Every remedy that a test sees is complete and safe to type.
Evaluation Checked(Evaluation evaluation, const std::vector<v1::NodeSnapshot>& nodes) {
  for (const v1::Finding& finding : evaluation.findings) {
    EXPECT_THAT(RemedyMistakes(finding, nodes), ::testing::IsEmpty());
    NoteEffects(finding);
  }
  return evaluation;
}

}  // namespace

Evaluation JudgeWithCauses(const std::vector<v1::NodeSnapshot>& nodes,
                           const profile::Profile& profile) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  fleet::AssignRails(records, profile);
  return Checked(Evaluate(fleet::FleetView(records, profile)), nodes);
}

Evaluation Judge(const std::vector<v1::NodeSnapshot>& nodes, const profile::Profile& profile) {
  return OfRules(JudgeWithCauses(nodes, profile));
}

Evaluation JudgeBetween(const std::vector<v1::NodeSnapshot>& before,
                        const std::vector<v1::NodeSnapshot>& after,
                        const profile::Profile& profile) {
  std::vector<fleet::NodeRecord> records;
  for (std::size_t i = 0; i < after.size(); ++i)
    records.push_back({.name = after[i].node().name(),
                       .snapshot = after[i],
                       .rates = fleet::CounterRates::Between(before[i], after[i])});
  fleet::AssignRails(records, profile);
  return OfRules(Checked(Evaluate(fleet::FleetView(records, profile)), after));
}

std::vector<std::string> FailuresBetween(const std::vector<v1::NodeSnapshot>& before,
                                         const std::vector<v1::NodeSnapshot>& after,
                                         const profile::Profile& profile) {
  return Select(JudgeBetween(before, after, profile), v1::VERDICT_FAIL);
}

std::vector<std::string> Failures(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile) {
  return Select(Judge(nodes, profile), v1::VERDICT_FAIL);
}

std::vector<std::string> Unknowns(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile) {
  return Select(Judge(nodes, profile), v1::VERDICT_UNKNOWN);
}

v1::Finding TheFailure(const std::vector<v1::NodeSnapshot>& nodes,
                       const profile::Profile& profile) {
  EXPECT_THAT(Failures(nodes, profile), ::testing::SizeIs(1));
  for (const v1::Finding& finding : Judge(nodes, profile).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) return finding;
  return {};
}

profile::Profile Expecting(const v1::Expectations& expectations) {
  v1::Profile profile;
  profile.set_name("test");
  *profile.mutable_expect() = expectations;
  auto made = profile::Profile::Make(profile, {});
  EXPECT_EQ(made.status(), Status());
  return *std::move(made);
}

}  // namespace fabric::rules
