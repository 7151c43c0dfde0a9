#include "daemon/otlp/event_records.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fabric::otlp {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

std::map<std::string, std::string> AttributesOf(const LogRecord& record) {
  std::map<std::string, std::string> found;
  for (const auto& one : record.attributes())
    found[one.key()] = one.value().has_int_value() ? std::to_string(one.value().int_value())
                                                   : one.value().string_value();
  return found;
}

struct RecordCase {
  std::string name;
  std::string event;  // Text of protobuf
  int level;
  std::string level_text;
  std::string body;
  std::map<std::string, std::string> attributes;
};

class RecordTest : public ::testing::TestWithParam<RecordCase> {};

TEST_P(RecordTest, HasLevelBodyAndAttributes) {
  v1::Event event;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().event, &event));
  const LogRecord record = RecordOf(event, WallTime(9s));
  EXPECT_EQ(record.severity_number(), GetParam().level);
  EXPECT_EQ(record.severity_text(), GetParam().level_text);
  EXPECT_EQ(record.body().string_value(), GetParam().body);
  EXPECT_EQ(AttributesOf(record), GetParam().attributes);
  EXPECT_EQ(record.time_unix_nano(), event.has_at() ? 5'000'000'007U : 0U);
  EXPECT_EQ(record.observed_time_unix_nano(), 9'000'000'000U);
}

constexpr const char* kAt = "at {seconds: 5 nanos: 7} ";

INSTANTIATE_TEST_SUITE_P(
    Kinds, RecordTest,
    ::testing::Values(
        RecordCase{"FindingOpened",
                   std::string(kAt) +
                       R"(kind: "finding" cursor: "1-2"
                       finding {id: "6d1f" rule: "port_active" verdict: VERDICT_FAIL
                       severity: SEVERITY_CRITICAL title: "port is DOWN" state: FINDING_STATE_OPEN
                       subject {scope: SCOPE_PORT node: "n1" device: "mlx5_0" port: 1}
                       opened_at {seconds: 5 nanos: 7} changed_at {seconds: 5 nanos: 7}})",
                   18,
                   "critical",
                   "finding 6d1f opened: port_active n1/mlx5_0/1: port is DOWN",
                   {{"fabric.kind", "finding"},
                    {"fabric.cursor", "1-2"},
                    {"fabric.finding", "6d1f"},
                    {"fabric.rule", "port_active"},
                    {"fabric.change", "opened"},
                    {"fabric.verdict", "FAIL"},
                    {"fabric.severity", "critical"},
                    {"fabric.node", "n1"},
                    {"fabric.device", "mlx5_0"},
                    {"fabric.port", "1"}}},
        RecordCase{"FindingResolved",
                   std::string(kAt) +
                       R"(kind: "finding" finding {id: "a" rule: "r" verdict: VERDICT_FAIL
                       severity: SEVERITY_ERROR title: "t" state: FINDING_STATE_RESOLVED
                       subject {scope: SCOPE_NODE node: "n1"}})",
                   9,
                   "info",
                   "finding a resolved: r n1: t",
                   {{"fabric.kind", "finding"},
                    {"fabric.finding", "a"},
                    {"fabric.rule", "r"},
                    {"fabric.change", "resolved"},
                    {"fabric.verdict", "FAIL"},
                    {"fabric.severity", "error"},
                    {"fabric.node", "n1"}}},
        RecordCase{"FindingThatCannotBeJudged",
                   std::string(kAt) +
                       R"(kind: "finding" finding {id: "a" rule: "r" verdict: VERDICT_UNKNOWN
                       severity: SEVERITY_ERROR title: "t" state: FINDING_STATE_OPEN
                       subject {scope: SCOPE_NODE node: "n1"} opened_at {seconds: 1}})",
                   9,
                   "info",
                   "finding a changed: r n1: t",
                   {{"fabric.kind", "finding"},
                    {"fabric.finding", "a"},
                    {"fabric.rule", "r"},
                    {"fabric.change", "changed"},
                    {"fabric.verdict", "UNKNOWN"},
                    {"fabric.severity", "error"},
                    {"fabric.node", "n1"}}},
        RecordCase{"NodeLost",
                   std::string(kAt) + R"(kind: "node" node {name: "n1" state: NODE_STATE_LOST
                       lost_reason: "no message for 3.0 s"})",
                   13,
                   "warning",
                   "node n1 lost: no message for 3.0 s",
                   {{"fabric.kind", "node"}, {"fabric.node", "n1"}, {"fabric.change", "lost"}}},
        RecordCase{
            "NodeConnected",
            std::string(kAt) + R"(kind: "node" node {name: "n1" state: NODE_STATE_CONNECTED})",
            9,
            "info",
            "node n1 connected",
            {{"fabric.kind", "node"}, {"fabric.node", "n1"}, {"fabric.change", "connected"}}},
        RecordCase{"NodeLabels",
                   std::string(kAt) + R"(kind: "node" node {name: "n1" state: NODE_STATE_LOST
                       state_since {seconds: 3} labels {key: "pool" value: "h100"}})",
                   9,
                   "info",
                   "node n1 has the labels pool=h100",
                   {{"fabric.kind", "node"}, {"fabric.node", "n1"}, {"fabric.change", "labels"}}},
        RecordCase{"Port",
                   std::string(kAt) + R"(kind: "port" port {node: "n1" device: "mlx5_0" port: 1
                       before: PORT_STATE_ACTIVE after: PORT_STATE_DOWN})",
                   9,
                   "info",
                   "port n1/mlx5_0/1: ACTIVE -> DOWN",
                   {{"fabric.kind", "port"},
                    {"fabric.node", "n1"},
                    {"fabric.device", "mlx5_0"},
                    {"fabric.port", "1"},
                    {"fabric.change", "DOWN"}}},
        RecordCase{
            "Campaign",
            std::string(kAt) + R"(kind: "campaign" campaign {id: "c1"
                       state: CAMPAIGN_STATE_DONE probes_ok: 5 probes_failed: 1})",
            9,
            "info",
            "campaign c1 done: 5 probes ok, 1 failed",
            {{"fabric.kind", "campaign"}, {"fabric.campaign", "c1"}, {"fabric.change", "done"}}},
        RecordCase{"Gap",
                   R"(kind: "gap" gap {reason: "7 events discarded" missed: 7})",
                   13,
                   "warning",
                   "events are missing: 7 events discarded",
                   {{"fabric.kind", "gap"}, {"fabric.missed", "7"}}},
        RecordCase{"GapOfUnknownSize",
                   R"(kind: "gap" gap {reason: "the controller restarted"})",
                   13,
                   "warning",
                   "events are missing: the controller restarted",
                   {{"fabric.kind", "gap"}}}),
    [](const auto& one) { return one.param.name; });

TEST(RecordOf, CutsLongTextsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\xc3\xa9";
  v1::Event event;
  v1::Finding& finding = *event.mutable_finding();
  finding.set_title(text);
  finding.set_id(text);
  finding.set_rule(text);
  finding.mutable_subject()->set_node(text);
  finding.mutable_subject()->set_device(text);
  finding.mutable_subject()->set_switch_name(text);
  event.set_cursor(text);
  const LogRecord record = RecordOf(event, {});
  EXPECT_LT(record.ByteSizeLong(), kRecordBytesMax);
  EXPECT_EQ(record.body().string_value().size() % 2, 0U);
}

}  // namespace
}  // namespace fabric::otlp
