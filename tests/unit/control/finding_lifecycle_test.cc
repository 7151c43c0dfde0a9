// The life of findings as the API tells it: people, silences, lost nodes, restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "proto/timestamps.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FindingLifeTest : public ::testing::Test {
 protected:
  // Three nodes, one of which lost an MTU.
  FindingLifeTest() {
    world_.ConnectNodes(3);
    world_.agents.Advance(1s);
    Report(1500);
  }

  void Report(std::uint32_t mtu, const std::string& booted = "") {
    v1::NodeSnapshot node = testing::RoceNode({.number = 2});
    *node.mutable_taken_at() = ToProto(world_.agents.now().wall);
    if (mtu != 9000) testing::SetMtu(node, 0, mtu);
    if (!booted.empty())
      *node.mutable_host()->mutable_booted_at() =
          ToProto(world_.agents.now().wall - (booted == "now" ? 0s : 24h));
    ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
    world_.agents.Advance(300ms);
  }
  std::vector<v1::Finding> List(bool resolved = false) {
    v1::ListFindingsRequest request;
    request.set_include_resolved(resolved);
    v1::ListFindingsResponse response;
    EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
    return {response.findings().begin(), response.findings().end()};
  }
  // Without findings of lost nodes.
  v1::Finding Only() {
    auto findings = List();
    std::erase_if(findings,
                  [](const v1::Finding& each) { return each.rule() == "node_connected"; });
    EXPECT_EQ(findings.size(), 1u);
    return findings.empty() ? v1::Finding() : findings.front();
  }
  Result<v1::GetFindingResponse> Get(const std::string& id) {
    v1::GetFindingRequest request;
    request.set_id(id);
    v1::GetFindingResponse response;
    RETURN_IF_ERROR(world_.controller->Call(request, response, world_.agents.now()));
    return response;
  }
  // "opened", "acknowledged ada: cable ordered"
  std::vector<std::string> History(const std::string& id) {
    std::vector<std::string> lines;
    const auto response = Get(id);
    EXPECT_TRUE(response.ok()) << response.status().message();
    if (!response.ok()) return lines;
    for (const v1::FindingRecord& record : response->history())
      lines.push_back(Format("{} {} {}", v1::FindingAction_Name(record.action()).substr(15),
                             record.author(), record.note()));
    return lines;
  }
  Status Acknowledge(const std::string& id, const std::string& author = "ada",
                     const std::string& note = "cable ordered") {
    v1::AcknowledgeFindingRequest request;
    request.set_id(id);
    request.set_author(author);
    request.set_note(note);
    v1::Finding finding;
    return world_.controller->Call(request, finding, world_.agents.now());
  }
  Result<v1::Silence> SilenceIt(const std::string& finding, const std::string& rule,
                                const std::string& node, std::uint32_t seconds = 60) {
    v1::CreateSilenceRequest request;
    request.mutable_silence()->set_finding(finding);
    request.mutable_silence()->set_rule(rule);
    request.mutable_silence()->set_node(node);
    request.mutable_silence()->set_author("bob");
    request.mutable_silence()->set_reason("is being mended");
    request.set_duration_seconds(seconds);
    v1::Silence silence;
    RETURN_IF_ERROR(world_.controller->Call(request, silence, world_.agents.now()));
    return silence;
  }
  v1::VerdictCounts Counts() {
    v1::ValidateResponse response;
    EXPECT_TRUE(world_.controller->Call(v1::ValidateRequest(), response, world_.agents.now()).ok());
    EXPECT_EQ(response.counts().fail() + response.counts().unknown(),
              static_cast<std::uint64_t>(response.findings_size()));
    return response.counts();
  }

  testing::ControlWorld world_;
};

TEST_F(FindingLifeTest, IsShownWithItsHistoryByTheBeginningOfItsId) {
  const v1::Finding finding = Only();
  EXPECT_EQ(finding.rule(), "mtu_equal_on_rail");
  const auto response = Get(finding.id().substr(0, 6));
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->finding().id(), finding.id());
  Report(1600);
  Report(9000);
  EXPECT_THAT(History(finding.id()), ElementsAre("OPENED  ", "CHANGED  ", "RESOLVED  "));
  EXPECT_EQ(Get(finding.id())->finding().state(), v1::FINDING_STATE_RESOLVED);
  EXPECT_THAT(Get(finding.id())->history(0).title(), HasSubstr("1500"));
}

TEST_F(FindingLifeTest, AnIdThatIsNoneSaysWhatWasMeant) {
  EXPECT_EQ(Get("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Get("nothing").status().code(), Code::kNotFound);
  std::string wrong = Only().id();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  EXPECT_THAT(Get(wrong).status().message(), HasSubstr("did you mean '" + Only().id()));
}

TEST_F(FindingLifeTest, IsAcknowledgedByName) {
  const std::string id = Only().id();
  EXPECT_EQ(Acknowledge(id, " ").message(), "author: expected a name, saw ' '");
  EXPECT_EQ(Acknowledge(id, "ada", "").message(), "note: expected some words, saw ''");
  const std::size_t events = world_.log.events.size();
  ASSERT_TRUE(Acknowledge(id.substr(0, 5)).ok());
  EXPECT_EQ(world_.log.events.size(), events + 1);
  EXPECT_EQ(world_.log.events.back().finding().acknowledged().note(), "cable ordered");
  Report(1600);
  EXPECT_EQ(Only().acknowledged().author(), "ada");
  world_.Restart();
  EXPECT_EQ(Only().acknowledged().author(), "ada");
  EXPECT_THAT(History(id), ElementsAre("OPENED  ", "ACKNOWLEDGED ada cable ordered", "CHANGED  "));
}

TEST_F(FindingLifeTest, AResolvedOneIsNotAcknowledged) {
  const std::string id = Only().id();
  Report(9000);
  const Status status = Acknowledge(id);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("was resolved at 2027-"));
}

TEST_F(FindingLifeTest, IsSilencedForATime) {
  const std::string id = Only().id();
  const auto silence = SilenceIt("", "mtu_equal_on_rail", "n2");
  ASSERT_TRUE(silence.ok()) << silence.status().message();
  EXPECT_EQ(Only().silenced().id(), "s1");
  EXPECT_TRUE(world_.log.events.back().finding().has_silenced());
  EXPECT_EQ(Counts().fail(), 1u) << "it is still there";
  Report(1600);
  EXPECT_EQ(Only().silenced().author(), "bob");
  Report(9000);
  Report(1500);
  EXPECT_TRUE(Only().has_silenced()) << "from its opening on";
  world_.agents.Advance(62s);
  EXPECT_FALSE(Only().has_silenced());
  EXPECT_THAT(History(id), ElementsAre("OPENED  ", "SILENCED bob is being mended", "CHANGED  ",
                                       "RESOLVED  ", "OPENED  ", "UNSILENCED  silence s1 expired"));
}

TEST_F(FindingLifeTest, ASilenceIsEndedByHand) {
  const std::string id = Only().id();
  ASSERT_TRUE(SilenceIt(id.substr(0, 4), "", "").ok());
  v1::ListSilencesResponse list;
  ASSERT_TRUE(world_.controller->Call(v1::ListSilencesRequest(), list, world_.agents.now()).ok());
  ASSERT_EQ(list.silences_size(), 1);
  EXPECT_EQ(list.silences(0).finding(), id) << "the whole id";
  v1::DeleteSilenceRequest request;
  request.set_id("s1");
  request.set_author("ada");
  v1::Silence ended;
  ASSERT_TRUE(world_.controller->Call(request, ended, world_.agents.now()).ok());
  EXPECT_FALSE(Only().has_silenced());
  EXPECT_EQ(History(id).back(), "UNSILENCED ada silence s1 ended");
  EXPECT_EQ(world_.controller->Call(request, ended, world_.agents.now()).code(), Code::kNotFound);
}

// Both ports of a node have the same fault: their aggregate is silenced, then one is fixed.
TEST_F(FindingLifeTest, WhatIsExplainedIsSilencedWithItsCauseAndNoLonger) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 2});
  *node.mutable_taken_at() = ToProto(world_.agents.now().wall);
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(node, rail, 1500);
  ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
  world_.agents.Advance(300ms);
  std::string cause;
  for (const v1::Finding& finding : List())
    if (finding.explains_size() == 2) cause = finding.id();
  ASSERT_TRUE(SilenceIt(cause, "", "", 3600).ok());
  for (const v1::Finding& finding : List()) EXPECT_TRUE(finding.has_silenced());
  Report(1500);
  EXPECT_FALSE(Only().has_silenced()) << "it has no such cause now";
  EXPECT_EQ(History(Only().id()).back(), "UNSILENCED  silence on the cause ended");
}

TEST_F(FindingLifeTest, SilencesSurviveARestart) {
  ASSERT_TRUE(SilenceIt("", "", "n2", 3600).ok());
  world_.Restart();
  EXPECT_TRUE(Only().has_silenced());
  v1::ListSilencesResponse list;
  ASSERT_TRUE(world_.controller->Call(v1::ListSilencesRequest(), list, world_.agents.now()).ok());
  EXPECT_EQ(list.silences_size(), 1);
  EXPECT_EQ(SilenceIt("", "", "n1")->id(), "s2");
}

TEST_F(FindingLifeTest, ASilenceThatEndedWhileTheControllerWasAwayIsOver) {
  ASSERT_TRUE(SilenceIt("", "", "n2", 60).ok());
  world_.controller.reset();
  world_.agents.PassUnheard(61s);
  world_.Restart();
  EXPECT_FALSE(Only().has_silenced());
}

TEST_F(FindingLifeTest, ASilenceNamesWhatThereIs) {
  EXPECT_EQ(SilenceIt("", "mtu_equal_on_rial", "").status().message(),
            "unknown rule 'mtu_equal_on_rial'; did you mean 'mtu_equal_on_rail'?");
  EXPECT_EQ(SilenceIt("", "", "n22").status().message(), "unknown node 'n22'; did you mean 'n2'?");
  EXPECT_EQ(SilenceIt("nothing", "", "").status().code(), Code::kNotFound);
  EXPECT_EQ(SilenceIt("", "", "").status().code(), Code::kInvalidArgument);
  v1::ListSilencesResponse list;
  ASSERT_TRUE(world_.controller->Call(v1::ListSilencesRequest(), list, world_.agents.now()).ok());
  EXPECT_EQ(list.silences_size(), 0);
}

TEST_F(FindingLifeTest, OfALostNodeSaysThatItIsExpired) {
  EXPECT_EQ(Only().expired_reason(), "");
  const v1::VerdictCounts before = Counts();
  world_.agents.Disconnect("n2", "reset by peer");
  world_.agents.Advance(1s);
  EXPECT_THAT(Only().expired_reason(), HasSubstr("node n2 is lost since 2027-"));
  EXPECT_THAT(Only().expired_reason(), HasSubstr("connection closed: reset by peer"));
  EXPECT_EQ(Get(Only().id())->finding().expired_reason(), Only().expired_reason());
  const v1::VerdictCounts after = Counts();
  EXPECT_EQ(after.fail(), 1u) << "node_connected";
  EXPECT_LT(after.pass(), before.pass()) << "nothing is known to be fine of a lost node";
}

TEST_F(FindingLifeTest, OfANodeThatDoesNotTellItsSettingsExpires) {
  const v1::VerdictCounts before = Counts();
  world_.agents.Advance(10min);
  EXPECT_EQ(Only().expired_reason(), "") << "they are reported unchanged";
  EXPECT_EQ(Counts().pass(), before.pass());
  world_.agents.StopInspecting("n2");
  world_.agents.Advance(6min + 1s);
  EXPECT_EQ(world_.Node("n2").state(), v1::NODE_STATE_CONNECTED);
  EXPECT_THAT(Only().expired_reason(), HasSubstr("node n2 has reported no settings since 2027-"));
  EXPECT_LT(Counts().pass(), before.pass());
  EXPECT_EQ(Counts().fail(), 1u) << "node_connected";
  Report(9000);
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_GT(Counts().pass(), before.pass());
}

TEST_F(FindingLifeTest, FlappingIsToldOnce) {
  Report(9000);
  for (int i = 0; i < 10; ++i) {
    Report(1500);
    Report(9000);
  }
  EXPECT_TRUE(Only().flapping());
  EXPECT_EQ(Only().openings(), 11u);
  std::size_t told = 0;
  for (const v1::Event& event : world_.log.events) told += event.has_finding() ? 1 : 0;
  EXPECT_EQ(told, 5u) << "opened, resolved, opened, resolved, opened";
  EXPECT_EQ(Counts().fail(), 0u) << "of what is true now";
  world_.agents.Advance(2min + 1s);
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(FindingLifeTest, AMachineThatHasJustBootedIsGivenTime) {
  Report(9000);
  Report(1500, "now");
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_EQ(Counts().fail(), 1u) << "validate says what is true now";
  world_.agents.Advance(110s);
  EXPECT_THAT(List(), IsEmpty());
  world_.agents.Advance(12s);
  EXPECT_EQ(Only().rule(), "mtu_equal_on_rail");
}

TEST_F(FindingLifeTest, OneThatHasBeenUpForLongIsNot) {
  Report(9000);
  Report(1500, "yesterday");
  EXPECT_EQ(List().size(), 1u);
}

TEST_F(FindingLifeTest, WhatIsMendedWhileItBootsIsNeverTold) {
  Report(9000);
  const std::size_t events = world_.log.events.size();
  Report(1500, "now");
  Report(9000, "now");
  world_.agents.Advance(5min);
  for (std::size_t i = events; i < world_.log.events.size(); ++i)
    EXPECT_FALSE(world_.log.events[i].has_finding());
}

}  // namespace
}  // namespace fabric::control
