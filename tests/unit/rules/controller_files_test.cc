// Findings about the files of fabricd itself, in the engine.
#include "daemon/rules/controller/controller_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rules/engine/engine.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const RefusedFile kTokens = {.setting = "tokens", .reason = "t.yaml:2:1: expected a list"};
const ExpiringFile kOwn = {.what = "certificate of fabricd",
                           .path = "/etc/fabricd/cert.pem",
                           .not_after = WallTime(std::chrono::seconds(1'800'000'000))};

TEST(ControllerFiles, EachHasAFindingWithReasonAndTime) {
  const auto findings = FindingsOf({.refused = {kTokens}, .expiring = {kOwn}});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].rule(), "controller_files_accepted");
  EXPECT_EQ(findings[0].severity(), v1::SEVERITY_ERROR);
  EXPECT_EQ(findings[0].title(),
            "fabricd refuses the new content of setting tokens: t.yaml:2:1: expected a list");
  EXPECT_EQ(findings[1].rule(), "controller_certificates_current");
  EXPECT_EQ(findings[1].severity(), v1::SEVERITY_WARNING);
  EXPECT_EQ(findings[1].title(),
            "the certificate of fabricd expires at 2027-01-15T08:00:00Z: /etc/fabricd/cert.pem");
  for (const v1::Finding& finding : findings) {
    EXPECT_EQ(finding.subject().scope(), v1::SCOPE_FLEET);
    EXPECT_EQ(finding.subject().node(), "") << "no job certificate depends on it";
    EXPECT_THAT(finding.evidence(), SizeIs(1));
    EXPECT_THAT(finding.remedies(), SizeIs(2));
  }
}

TEST(ControllerFiles, AFindingKeepsItsIdWhileItsReasonChanges) {
  RefusedFile other = kTokens;
  other.reason = "t.yaml: No such file or directory";
  const auto id = [](const RefusedFile& file) { return FindingsOf({.refused = {file}})[0].id(); };
  EXPECT_EQ(id(kTokens), id(other));
  other.setting = "role-bindings";
  EXPECT_NE(id(kTokens), id(other));
}

TEST(ControllerFiles, TheEngineHasThemUntilTheyAreGone) {
  Engine engine;
  const auto findings = FindingsOf({.refused = {kTokens}});
  engine.PutReported(findings);
  EXPECT_THAT(engine.All().findings, SizeIs(1));
  (void)engine.Take();
  engine.PutReported({});
  EXPECT_THAT(engine.Take().gone, ElementsAre(findings[0].id()));
}

}  // namespace
}  // namespace fabric::rules
