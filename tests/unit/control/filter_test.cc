#include "daemon/control/listing/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "fabric/v1/fabric.pb.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using ::testing::HasSubstr;

const Moment kNow{.steady = {}, .wall = WallTime(std::chrono::hours(24 * 365 * 50))};

v1::Finding Sample() {
  v1::Finding finding;
  finding.set_rule("pfc_equal_on_rail");
  finding.set_severity(v1::SEVERITY_ERROR);
  finding.mutable_subject()->set_node("gpu-17");
  finding.mutable_subject()->set_rail(3);
  finding.set_title("PFC is off, expected \"3\"");
  finding.add_explains("a");
  finding.add_explains("b");
  *finding.mutable_opened_at() = ToProto(kNow.wall - std::chrono::minutes(30));
  return finding;
}

bool Match(const std::string& text, const v1::Finding& finding = Sample()) {
  const auto filter = Filter::Parse(text, *v1::Finding::descriptor(), kNow);
  EXPECT_TRUE(filter.ok()) << filter.status().message();
  return filter.ok() && filter->Matches(finding);
}

TEST(Filter, ComparesFieldsOfEveryType) {
  for (const char* text : {
           "",
           "  ",
           "node=gpu-17",
           "subject.node=gpu-17",
           "rule!=x",
           "node=~gpu-1.*",
           "node=~\"gpu-1.*\" severity>=error rail=3",
           "severity=SEVERITY_ERROR",
           "severity<critical",
           "rail>2.5",
           "rail<=3",
           "node!~.*18",
           "flapping=false",
           "opened_at>1h",
           "opened_at<10m",
           "opened_at>=2010-01-01T00:00:00Z",
           "explains=b",
           "title=\"PFC is off, expected \\\"3\\\"\"",
           "expired_reason=\"\"",
           "node>gpu-10",
       })
    EXPECT_TRUE(Match(text)) << text;
  for (const char* text : {"node=gpu-1", "node=~gpu", "severity>error", "rail!=3", "explains=c",
                           "opened_at>10m", "node=gpu-17 rail=4", "flapping=true"})
    EXPECT_FALSE(Match(text)) << text;
}

TEST(Filter, AnAbsentValueMatchesNothingButInequality) {
  v1::Finding finding;
  EXPECT_FALSE(Match("rail=0", finding));
  EXPECT_FALSE(Match("rail<9", finding));
  EXPECT_TRUE(Match("rail!=0", finding));
  EXPECT_FALSE(Match("opened_at<1h", finding));
  EXPECT_FALSE(Match("explains=a", finding));
  EXPECT_TRUE(Match("explains!=a", finding));
}

TEST(Filter, ComparesTheValuesOfAMap) {
  v1::NodeSummary node;
  (*node.mutable_labels())["pool"] = "h100";
  (*node.mutable_labels())["example.com/rack"] = "r12";
  (*node.mutable_labels())["spare"] = "";
  const auto match = [&](const std::string& text) {
    const auto filter = Filter::Parse(text, *v1::NodeSummary::descriptor(), kNow);
    EXPECT_TRUE(filter.ok()) << filter.status().message();
    return filter.ok() && filter->Matches(node);
  };
  for (const char* text :
       {"labels.pool=h100", "labels.pool=~h.*", "labels.pool!=h200", "labels.spare=\"\"",
        "labels.example.com/rack=r12", "labels.tier!=gold", "labels.pool=h100 labels.tier!~g.*"})
    EXPECT_TRUE(match(text)) << text;
  for (const char* text : {"labels.pool=h200", "labels.pool!=h100", "labels.tier=gold",
                           "labels.tier=\"\"", "labels.tier=~.*", "labels.Pool=h100"})
    EXPECT_FALSE(match(text)) << text;
  for (const char* text : {"labels=h100", "labels.=h100", "labels!=x"})
    EXPECT_THAT(Filter::Parse(text, *v1::NodeSummary::descriptor(), kNow).status().message(),
                HasSubstr("expected labels.KEY, such as labels.pool=h100"))
        << text;
}

TEST(Filter, NamesWhatIsWrong) {
  const std::tuple<std::string, std::string> cases[] = {
      {"nodes=a", "filter: 'nodes=a': unknown field 'nodes'; expected one of id, rule, "},
      {"rule.x=a", "filter: 'rule.x=a': unknown field 'x'"},
      {"subject.nod=a", "unknown field 'nod'; did you mean 'node'?"},
      {"node", "filter: 'node': expected FIELD=VALUE"},
      {"=3", "expected FIELD=VALUE"},
      {"node~x", "expected FIELD=VALUE"},
      {"node!x", "expected an operator"},
      {"node=\"a", "expected a closing quote"},
      {"node=\"a\"b", "expected a blank after a quote"},
      {"node=~(", "missing )"},
      {"severity=bad", "unknown value 'bad'; expected one of info, warning, error, critical"},
      {"severity=eror", "unknown value 'eror'; did you mean 'error'?"},
      {"severity=~e.*", "=~ and !~ need a text field"},
      {"rail=x", "expected a number"},
      {"rail=", "expected a number"},
      {"flapping=1", "expected true or false"},
      {"opened_at>soon", "expected a time such as"},
      {"subject=x", "'subject' has fields: expected one of them"},
      {std::string(2000, 'x'), "expected at most 1024 bytes, saw 2000"},
      {"a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1", "unknown field"},
  };
  for (const auto& [text, message] : cases) {
    const auto filter = Filter::Parse(text, *v1::Finding::descriptor(), kNow);
    ASSERT_FALSE(filter.ok()) << text;
    EXPECT_EQ(filter.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(filter.status().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace fabric::control
