#include "daemon/operator_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OperatorLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> Flush(const store::Condition& store = {}) {
    lines_.clear();
    log_.Flush(store);
    return lines_;
  }
  static v1::Event NodeEvent(const std::string& name, v1::NodeState state) {
    v1::Event event;
    v1::NodeSummary& node = *event.mutable_node();
    node.set_name(name);
    node.set_state(state);
    node.set_ports(2);
    node.set_ports_active(1);
    node.set_agent_version("0.1.0");
    if (state == v1::NODE_STATE_LOST) node.set_lost_reason("no message for 3.0 s");
    return event;
  }
  static v1::Event FindingEvent(std::int64_t at) {
    v1::Event event;
    event.mutable_at()->set_seconds(at);
    v1::Finding& finding = *event.mutable_finding();
    finding.set_id("6d1f");
    finding.set_rule("mtu_equal_on_rail");
    finding.set_verdict(v1::VERDICT_FAIL);
    finding.set_title("MTU 1500, expected 9000");
    finding.set_state(v1::FINDING_STATE_OPEN);
    finding.mutable_subject()->set_scope(v1::SCOPE_NODE);
    finding.mutable_subject()->set_node("n2");
    finding.mutable_opened_at()->set_seconds(100);
    finding.mutable_changed_at()->set_seconds(at);
    return event;
  }

  Moment now_;
  std::vector<std::string> lines_;
  log::Fields fields_;  // Of the last line
  OperatorLog log_{[this](log::Level level, std::string_view line, const log::Fields& fields) {
    constexpr std::string_view kLevels = "DIWE";
    lines_.push_back(Format("{} {}", kLevels[static_cast<std::size_t>(level)], line));
    fields_ = fields;
  }};
  std::string Field(std::string_view name) const {
    for (const log::Field& field : fields_)
      if (field.name == name) return field.value;
    return "absent";
  }
};

TEST_F(OperatorLogTest, NodesConnectAndAreLost) {
  log_.OnEvent(NodeEvent("n1", v1::NODE_STATE_CONNECTED));
  log_.OnEvent(NodeEvent("n1", v1::NODE_STATE_LOST));
  EXPECT_THAT(Flush(), ElementsAre("I node n1 connected: 1 of 2 ports ACTIVE, agent 0.1.0",
                                   "W node n1 lost: no message for 3.0 s"));
  EXPECT_THAT(Flush(), IsEmpty());
}

TEST_F(OperatorLogTest, AChangeOfLabelsIsNoChangeOfTheState) {
  v1::Event event = NodeEvent("n1", v1::NODE_STATE_LOST);
  event.mutable_at()->set_seconds(100);
  event.mutable_node()->mutable_state_since()->set_seconds(100);
  log_.OnEvent(event);
  event.mutable_at()->set_seconds(200);
  (*event.mutable_node()->mutable_labels())["pool"] = "h100";
  log_.OnEvent(event);
  event.mutable_node()->clear_labels();
  log_.OnEvent(event);
  EXPECT_THAT(Flush(),
              ElementsAre("W node n1 lost: no message for 3.0 s",
                          "I node n1 has the labels pool=h100", "I node n1 has the labels (none)"));
}

TEST_F(OperatorLogTest, AFindingIsLoggedWhenItOpensAndWhenItIsResolved) {
  log_.OnEvent(FindingEvent(100));
  v1::Event changed = FindingEvent(110);
  log_.OnEvent(changed);
  v1::Event silenced = FindingEvent(120);
  silenced.mutable_finding()->mutable_changed_at()->set_seconds(100);
  log_.OnEvent(silenced);
  v1::Event resolved = FindingEvent(130);
  resolved.mutable_finding()->set_state(v1::FINDING_STATE_RESOLVED);
  log_.OnEvent(resolved);
  EXPECT_THAT(
      Flush(),
      ElementsAre("W finding 6d1f opened: mtu_equal_on_rail n2: MTU 1500, expected 9000",
                  "I finding 6d1f resolved: mtu_equal_on_rail n2: MTU 1500, expected 9000"));
  EXPECT_EQ(Field("finding"), "6d1f");
  EXPECT_EQ(Field("node"), "n2");
  EXPECT_EQ(Field("rule"), "mtu_equal_on_rail");
}

TEST_F(OperatorLogTest, AFindingOfTheFleetHasNoFieldNode) {
  v1::Event event = FindingEvent(100);
  event.mutable_finding()->mutable_subject()->set_scope(v1::SCOPE_FLEET);
  event.mutable_finding()->mutable_subject()->clear_node();
  log_.OnEvent(event);
  Flush();
  EXPECT_EQ(Field("subject"), "fleet");
  EXPECT_EQ(Field("node"), "absent");
}

TEST_F(OperatorLogTest, CampaignsStartAndEnd) {
  v1::Event event;
  v1::Campaign& campaign = *event.mutable_campaign();
  campaign.set_id("c1");
  campaign.set_state(v1::CAMPAIGN_STATE_RUNNING);
  campaign.set_probes_planned(12);
  campaign.set_rounds(3);
  log_.OnEvent(event);
  campaign.set_state(v1::CAMPAIGN_STATE_DONE);
  campaign.mutable_ended_at()->set_seconds(1);
  campaign.set_probes_ok(10);
  campaign.set_probes_failed(2);
  log_.OnEvent(event);
  EXPECT_THAT(Flush(),
              ElementsAre("I campaign c1 started: 12 probes in 3 rounds",
                          "I campaign c1 done: 10 probes ok, 2 failed, 0 entries skipped"));
}

TEST_F(OperatorLogTest, CertificatesAndRefusedAgents) {
  v1::Certificate certificate;
  certificate.set_id("cert-1-1");
  certificate.set_verdict(v1::VERDICT_FAIL);
  certificate.add_nodes();
  log_.OnCertificate(certificate);
  certificate.mutable_request()->set_job_id("4711");
  log_.OnCertificate(certificate);
  log_.OnRefused({Code::kAlreadyExists, "node n1 is connected from another machine"});
  EXPECT_THAT(Flush(), ElementsAre("I certificate cert-1-1 issued: FAIL for 1 node",
                                   "I certificate cert-1-1 issued: FAIL for 1 node, job '4711'",
                                   "W agent refused: node n1 is connected from another machine"));
}

TEST_F(OperatorLogTest, AFlappingFleetIsBounded) {
  for (int i = 0; i < 1000; ++i) log_.OnEvent(NodeEvent("n1", v1::NODE_STATE_LOST));
  const std::vector<std::string> lines = Flush();
  ASSERT_EQ(lines.size(), OperatorLog::kLinesMax + 1);
  EXPECT_EQ(lines.back(), "W 950 log lines omitted: more than 50 at once");
  log_.OnEvent(NodeEvent("n2", v1::NODE_STATE_LOST));
  EXPECT_EQ(Flush().size(), 1u) << "and starts again";
}

TEST_F(OperatorLogTest, AuditEntriesHaveALineEachDuringAFlood) {
  v1::AuditEntry entry;
  entry.set_method("DeleteNode");
  for (int i = 0; i < 1000; ++i) log_.OnEvent(NodeEvent("n1", v1::NODE_STATE_LOST));
  for (std::uint64_t i = 1; i <= 100; ++i) {
    entry.set_sequence(i);
    entry.set_outcome(i == 1 ? v1::AUDIT_OUTCOME_DENIED : v1::AUDIT_OUTCOME_OK);
    log_.OnAudit(entry);
  }
  const std::vector<std::string> lines = Flush();
  ASSERT_EQ(lines.size(), OperatorLog::kLinesMax + 100 + 1);
  EXPECT_THAT(lines[OperatorLog::kLinesMax], ::testing::StartsWith("W audit 1: "));
  EXPECT_THAT(lines[OperatorLog::kLinesMax + 99], ::testing::StartsWith("I audit 100: "));
}

TEST_F(OperatorLogTest, AFailingStoreIsOneLineAndItsRepairAnother) {
  store::Condition condition;
  EXPECT_THAT(Flush(condition), IsEmpty());
  condition.failure = Status(Code::kUnavailable, "/var/lib/fabricd.db: the disk is full");
  EXPECT_THAT(Flush(condition),
              ElementsAre("E cannot write to the state file, keeping changes in memory: "
                          "/var/lib/fabricd.db: the disk is full"));
  condition.dropped = 3;
  condition.failed = 900;
  EXPECT_THAT(Flush(condition), IsEmpty());
  condition.failure = Status();
  EXPECT_THAT(Flush(condition),
              ElementsAre("I the state file is complete again: 3 writes were lost"));
  EXPECT_THAT(Flush(condition), IsEmpty());
}

}  // namespace
}  // namespace fabric
