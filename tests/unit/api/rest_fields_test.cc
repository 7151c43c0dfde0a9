#include "daemon/api/rest/rest_fields.h"

#include <gtest/gtest.h>

#include "fabric/v1/fabric.pb.h"

namespace fabric::api {
namespace {

TEST(SetField, SetsEveryKindOfScalar) {
  v1::ListFindingsRequest findings;
  EXPECT_TRUE(SetField(findings, "node", "n1").ok());
  EXPECT_TRUE(SetField(findings, "include_resolved", "true").ok());
  EXPECT_TRUE(SetField(findings, "include_unknown", "").ok());
  EXPECT_EQ(findings.node(), "n1");
  EXPECT_TRUE(findings.include_resolved());
  EXPECT_TRUE(findings.include_unknown());
  v1::WatchEventsRequest watch;
  EXPECT_TRUE(SetField(watch, "after_sequence", "18446744073709551615").ok());
  EXPECT_EQ(watch.after_sequence(), 18446744073709551615u);
  v1::LatencySummary latency;
  EXPECT_TRUE(SetField(latency, "min_us", "1.5").ok());
  EXPECT_EQ(latency.min_us(), 1.5);
}

TEST(SetField, TakesEnumsByFullNameShortNameAndNumber) {
  for (const char* text : {"SEVERITY_ERROR", "error", "Error", "3"}) {
    v1::ListFindingsRequest request;
    EXPECT_TRUE(SetField(request, "min_severity", text).ok()) << text;
    EXPECT_EQ(request.min_severity(), v1::SEVERITY_ERROR) << text;
  }
}

TEST(SetField, ReachesNestedAndRepeatedFields) {
  v1::StartCampaignRequest request;
  EXPECT_TRUE(SetField(request, "spec.seed", "7").ok());
  EXPECT_TRUE(SetField(request, "spec.nodes", "n1").ok());
  EXPECT_TRUE(SetField(request, "spec.nodes", "n2").ok());
  EXPECT_TRUE(SetField(request, "spec.rails", "1").ok());
  EXPECT_EQ(request.spec().seed(), 7u);
  EXPECT_EQ(request.spec().nodes(1), "n2");
  EXPECT_EQ(request.spec().rails(0), 1u);
}

TEST(SetField, NamesTheParameterAndWhatWasExpected) {
  struct Row {
    const char* path;
    const char* text;
    const char* message;
  };
  for (const Row& row :
       {Row{"nod", "x", "unknown parameter 'nod'; did you mean 'node'?"},
        Row{"zzz", "x", "unknown parameter 'zzz'"}, Row{"", "x", "unknown parameter ''"},
        Row{"node.x", "x", "unknown parameter 'node.x': 'node' has no fields"},
        Row{"include_resolved", "maybe",
            "parameter 'include_resolved': expected true or false, saw 'maybe'"},
        Row{"min_severity", "loud",
            "parameter 'min_severity': expected one of info, warning, error, critical, saw 'loud'"},
        Row{"min_severity", "9",
            "parameter 'min_severity': expected one of info, warning, error, critical, saw '9'"}}) {
    v1::ListFindingsRequest request;
    EXPECT_EQ(SetField(request, row.path, row.text), Status(Code::kInvalidArgument, row.message));
  }
  v1::WatchEventsRequest watch;
  EXPECT_EQ(
      SetField(watch, "after_sequence", "-1").message(),
      "parameter 'after_sequence': expected a whole number of 64 bits, not negative, saw '-1'");
  v1::StartCampaignRequest start;
  EXPECT_EQ(SetField(start, "spec", "{}").message(),
            "parameter 'spec': cannot be given in the address");
}

}  // namespace
}  // namespace fabric::api
