// The commands finding show, finding ack and silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::HasSubstr;

FakeController WithFinding() {
  FakeController controller;
  controller.Answer<v1::GetFindingResponse>() = FromText<v1::GetFindingResponse>(R"({"finding":
    {"id": "6d1f3a0c9b2e4455", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_ERROR",
     "subject": {"scope": "SCOPE_PORT", "node": "n2", "device": "mlx5_0", "port": 1},
     "title": "MTU 1500, 2 of 3 nodes on rail 0 have 9000", "state": "FINDING_STATE_OPEN",
     "opened_at": "2026-11-21T01:16:06Z", "changed_at": "2026-11-21T01:16:06Z",
     "evidence": [{"what": "MTU", "expected": "9000", "seen": "1500",
                   "source": "sys/class/net/rail0/mtu", "basis": "2 of 3 nodes on rail 0",
                   "read_at": "2026-11-21T01:20:00Z"}],
     "remedies": [{"platform": "any", "command": "ip link set rail0 mtu 9000",
                   "interrupts_traffic": true}],
     "acknowledged": {"author": "ada", "note": "cable ordered", "at": "2026-11-21T01:17:00Z"},
     "silenced": {"id": "s1", "rule": "mtu_equal_on_rail", "author": "bob",
                  "reason": "is being mended", "until": "2026-11-21T03:00:00Z"},
     "flapping": true, "openings": 4, "explained_by": "0011223344556677",
     "expired_reason": "node n2 is lost since 2026-11-21T01:21:00Z: no message for 3.0 s"},
    "history": [
     {"at": "2026-11-21T01:16:06Z", "action": "FINDING_ACTION_OPENED",
      "title": "MTU 1500, 2 of 3 nodes on rail 0 have 9000"},
     {"at": "2026-11-21T01:17:00Z", "action": "FINDING_ACTION_ACKNOWLEDGED", "author": "ada",
      "note": "cable ordered", "title": "MTU 1500, 2 of 3 nodes on rail 0 have 9000"},
     {"at": "2026-11-21T01:18:00Z", "action": "FINDING_ACTION_SILENCED", "author": "bob",
      "note": "is being mended", "title": "MTU 1500, 2 of 3 nodes on rail 0 have 9000"}]})");
  controller.Answer<v1::Finding>() = controller.Answer<v1::GetFindingResponse>().finding();
  return controller;
}

FakeController WithSilence() {
  FakeController controller;
  controller.Answer<v1::ListSilencesResponse>() =
      FromText<v1::ListSilencesResponse>(R"({"silences": [
    {"id": "s1", "rule": "mtu_equal_on_rail", "node": "n2", "author": "bob",
     "reason": "is being mended", "created_at": "2026-11-21T01:00:00Z",
     "until": "2026-11-21T03:00:00Z"},
    {"id": "s2", "finding": "6d1f3a0c9b2e4455", "author": "ada", "reason": "known",
     "created_at": "2026-11-21T01:00:00Z", "until": "2026-11-28T01:00:00Z"}]})");
  controller.Answer<v1::Silence>() = controller.Answer<v1::ListSilencesResponse>().silences(0);
  return controller;
}

TEST(FindingShow, TellsAllThatIsKnown) {
  FakeController controller = WithFinding();
  const Said said = RunWords("finding show 6d1f", controller);
  EXPECT_TRUE(MatchesGolden("ctl/finding_show", said.out));
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_EQ(controller.LastRequest<v1::GetFindingRequest>().id(), "6d1f");
  EXPECT_EQ(RunWords("finding show 6d1f -o name", controller).out, "6d1f3a0c9b2e4455\n");
  EXPECT_THAT(RunWords("finding show 6d1f -o json", controller).out,
              HasSubstr("FINDING_ACTION_ACKNOWLEDGED"));
}

TEST(FindingShow, AResolvedOneSaysSince) {
  FakeController controller = WithFinding();
  v1::Finding& finding = *controller.Answer<v1::GetFindingResponse>().mutable_finding();
  finding.set_state(v1::FINDING_STATE_RESOLVED);
  finding.mutable_resolved_at()->set_seconds(1'800'000'000);
  EXPECT_THAT(RunWords("finding show 6d1f", controller).out,
              HasSubstr("State:        resolved since 2027-01-15T08:00:00Z\n"));
}

TEST(FindingShow, WaitsUntilItIsResolved) {
  FakeController controller = WithFinding();
  auto& answers = controller.Answers<v1::GetFindingResponse>();
  answers[0].mutable_finding()->clear_expired_reason();
  answers.push_back(answers[0]);
  answers.push_back(answers[0]);
  answers[2].mutable_finding()->set_state(v1::FINDING_STATE_RESOLVED);
  const FakeController before = controller;
  Said said = RunWords("finding show 6d1f --wait", controller);
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_THAT(said.out, HasSubstr("State:        resolved since"));
  EXPECT_EQ(controller.Requests<v1::GetFindingRequest>().size(), 3u);
  EXPECT_EQ(controller.LastRequest<v1::GetFindingRequest>().id(), "6d1f3a0c9b2e4455");

  controller = before;
  said = RunWords("finding show 6d1f --wait", controller, {.interrupted = true});
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_EQ(said.err, "fabricctl: interrupted; finding 6d1f3a0c9b2e4455 is open\n");
}

TEST(FindingShow, AWaitThatEndsWithALostNodeIsNoSuccess) {
  FakeController controller = WithFinding();
  controller.Answer<v1::GetFindingResponse>().mutable_finding()->set_state(
      v1::FINDING_STATE_RESOLVED);
  const Said said = RunWords("finding show 6d1f --wait", controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("Expired:      node n2 is lost"));
}

TEST(FindingAck, IsSignedByTheUser) {
  FakeController controller = WithFinding();
  const Said said = RunWords("finding ack 6d1f --note seen", controller);
  EXPECT_EQ(said.out,
            "Finding 6d1f3a0c9b2e4455 (mtu_equal_on_rail n2/mlx5_0/1) is acknowledged by ada.\n");
  EXPECT_EQ(controller.LastRequest<v1::AcknowledgeFindingRequest>().id(), "6d1f");
  EXPECT_EQ(controller.LastRequest<v1::AcknowledgeFindingRequest>().note(), "seen");
  EXPECT_EQ(controller.LastRequest<v1::AcknowledgeFindingRequest>().author(), "ada");
  RunWords("finding ack 6d1f --note seen --author bob", controller);
  EXPECT_EQ(controller.LastRequest<v1::AcknowledgeFindingRequest>().author(), "bob");
}

TEST(FindingAck, NeedsANoteAndAName) {
  FakeController controller = WithFinding();
  EXPECT_EQ(RunWords("finding ack 6d1f", controller).status, kExitUsage);
  const Said said = RunWords("finding ack 6d1f --note seen", controller, {.user = ""});
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_THAT(said.err, HasSubstr("--author is required if USER is not set"));
}

TEST(SilenceAdd, SaysWhatIsSilencedAndUntilWhen) {
  FakeController controller = WithSilence();
  const Said said = RunWords(
      "silence add --rule mtu_equal_on_rail --node n2 --for 2h --reason mending", controller);
  EXPECT_EQ(
      said.out,
      "Silence s1 of rule mtu_equal_on_rail, node n2 is active until 2026-11-21T03:00:00Z.\n");
  const v1::CreateSilenceRequest request = controller.LastRequest<v1::CreateSilenceRequest>();
  EXPECT_EQ(request.silence().rule(), "mtu_equal_on_rail");
  EXPECT_EQ(request.silence().node(), "n2");
  EXPECT_EQ(request.silence().author(), "ada");
  EXPECT_EQ(request.silence().reason(), "mending");
  EXPECT_EQ(request.duration_seconds(), 7200u);
  RunWords("silence add --finding 6d1f --for 30d --reason mending", controller);
  EXPECT_EQ(controller.LastRequest<v1::CreateSilenceRequest>().silence().finding(), "6d1f");
  EXPECT_EQ(controller.LastRequest<v1::CreateSilenceRequest>().duration_seconds(), 30u * 24 * 3600);
}

TEST(SilenceAdd, NeedsToKnowWhatForHowLongAndWhy) {
  for (const char* words : {
           "silence add --for 2h --reason mending",
           "silence add --node n2 --reason mending",
           "silence add --node n2 --for 2h",
           "silence add --node n2 --for forever --reason mending",
       }) {
    FakeController controller = WithSilence();
    EXPECT_EQ(RunWords(words, controller).status, kExitUsage) << words;
    EXPECT_EQ(controller.LastRequest<v1::CreateSilenceRequest>().duration_seconds(), 0u)
        << "and does not ask";
  }
}

TEST(SilenceList, OneLineEach) {
  FakeController controller = WithSilence();
  EXPECT_TRUE(MatchesGolden("ctl/silence_list", RunWords("silence list", controller).out));
  EXPECT_EQ(RunWords("silence list -o name", controller).out, "s1\ns2\n");
  FakeController none;
  EXPECT_EQ(RunWords("silence list", none).err, "No silences.\n");
}

TEST(SilenceEnd, SaysWhatHasEnded) {
  FakeController controller = WithSilence();
  EXPECT_EQ(RunWords("silence end s1", controller).out,
            "Silence s1 of rule mtu_equal_on_rail, node n2 has ended.\n");
  EXPECT_EQ(controller.LastRequest<v1::DeleteSilenceRequest>().id(), "s1");
  EXPECT_EQ(controller.LastRequest<v1::DeleteSilenceRequest>().author(), "ada");
}

TEST(Events, SayWhatHappenedToAFinding) {
  FakeController controller = WithFinding();
  v1::Event& event = controller.events.emplace_back();
  *event.mutable_finding() = controller.Answer<v1::GetFindingResponse>().finding();
  EXPECT_THAT(RunWords("events --watch", controller).out,
              HasSubstr("(expired, silenced until 2026-11-21T03:00:00Z, acknowledged by ada, "
                        "flapping, caused by 0011223344556677)"));
}

}  // namespace
}  // namespace fabric::ctl
