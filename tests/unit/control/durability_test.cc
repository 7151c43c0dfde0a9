// What a person orders is on the disk or fails; the rest is kept in memory until the disk works.
// The state after a restart equals the state before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/ed25519.h"
#include "base/text.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Status kFull(Code::kUnavailable, "state.db: the disk is full");

ControllerOptions WithKey() {
  ControllerOptions options;
  options.certificates.key = *SigningKey::Generate();
  return options;
}

// Calls of people.
class Person {
 public:
  explicit Person(ControlWorld& world) : world_(world) {}

  template <class Response, class Request>
  Response Get(const Request& request) {
    Response response;
    const Status status = world_.controller->Call(request, response, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
    return response;
  }
  std::vector<v1::Finding> Findings() {
    const auto list = Get<v1::ListFindingsResponse>(v1::ListFindingsRequest());
    return {list.findings().begin(), list.findings().end()};
  }
  std::vector<v1::Silence> Silences() {
    const auto list = Get<v1::ListSilencesResponse>(v1::ListSilencesRequest());
    return {list.silences().begin(), list.silences().end()};
  }
  Status Acknowledge(const std::string& id, const std::string& note) {
    v1::AcknowledgeFindingRequest request;
    request.set_id(id);
    request.set_author("ada");
    request.set_note(note);
    v1::Finding finding;
    return world_.controller->Call(request, finding, world_.agents.now());
  }
  Status Silence(const std::string& node) {
    v1::CreateSilenceRequest request;
    request.mutable_silence()->set_node(node);
    request.mutable_silence()->set_author("ada");
    request.mutable_silence()->set_reason("planned work");
    request.set_duration_seconds(24 * 3600);
    v1::Silence silence;
    return world_.controller->Call(request, silence, world_.agents.now());
  }
  Status EndSilence(const std::string& id) {
    v1::DeleteSilenceRequest request;
    request.set_id(id);
    request.set_author("ada");
    v1::Silence silence;
    return world_.controller->Call(request, silence, world_.agents.now());
  }
  Status Label(const std::string& node, const std::string& value) {
    v1::SetNodeLabelsRequest request;
    request.set_name(node);
    request.set_author("ada");
    (*request.mutable_set())["pool"] = value;
    v1::NodeSummary summary;
    return world_.controller->Call(request, summary, world_.agents.now());
  }
  Result<std::string> StartCampaign() {
    v1::Campaign campaign;
    const Status status =
        world_.controller->Call(v1::StartCampaignRequest(), campaign, world_.agents.now());
    if (!status.ok()) return status;
    return campaign.id();
  }
  Result<std::string> StartCertificate(const std::string& node) {
    v1::StartCertificateRequest request;
    request.mutable_request()->add_nodes(node);
    v1::Certificate certificate;
    const Status status = world_.controller->Call(request, certificate, world_.agents.now());
    if (!status.ok()) return status;
    return certificate.id();
  }
  v1::GetCertificateResponse Certificate(const std::string& id) {
    v1::GetCertificateRequest request;
    request.set_id(id);
    return Get<v1::GetCertificateResponse>(request);
  }

 private:
  ControlWorld& world_;
};

class DurabilityTest : public ::testing::Test {
 protected:
  DurabilityTest() {
    world_.ConnectNodes(3);
    v1::NodeSnapshot node = testing::RoceNode({.number = 1});
    testing::LinkDown(node, 0);
    EXPECT_TRUE(world_.agents.SendSnapshot(node).ok());
    world_.agents.Advance(1s);
    EXPECT_FALSE(person_.Findings().empty());
  }

  ControlWorld world_{WithKey()};
  Person person_{world_};
};

TEST_F(DurabilityTest, AFollowerShowsTheStoredStateAndChangesNothing) {
  ASSERT_TRUE(person_.Silence("n2").ok());
  const auto campaign = person_.StartCampaign();
  ASSERT_TRUE(campaign.ok());
  const auto certificate = person_.StartCertificate("n2");
  ASSERT_TRUE(certificate.ok());
  const std::vector<v1::Finding> findings = person_.Findings();
  world_.store->failure = kFull;  // Each write would be seen.
  const std::uint32_t writes = world_.store->node_writes;

  EventBus events;
  Controller follower({}, *world_.store, world_.agents, events, world_.agents.now());
  ASSERT_TRUE(follower.Load(world_.agents.now(), Restoring::kToFollow).ok());
  const auto ask = [&](const auto& request, auto response) {
    const Status status = follower.Call(request, response, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
    return response;
  };
  v1::ListFindingsRequest of_node;
  of_node.set_node("n1");
  const auto listed = ask(of_node, v1::ListFindingsResponse());
  ASSERT_EQ(static_cast<std::size_t>(listed.findings_size()), findings.size());
  EXPECT_EQ(listed.findings(0).id(), findings[0].id());
  EXPECT_EQ(listed.findings(0).expired_reason(), "");
  EXPECT_EQ(ask(v1::ListSilencesRequest(), v1::ListSilencesResponse()).silences_size(), 1);
  v1::GetCampaignRequest of_campaign;
  of_campaign.set_id(*campaign);
  EXPECT_EQ(ask(of_campaign, v1::Campaign()).state(), v1::CAMPAIGN_STATE_RUNNING);
  v1::GetCertificateRequest of_certificate;
  of_certificate.set_id(*certificate);
  EXPECT_EQ(ask(of_certificate, v1::GetCertificateResponse()).certificate().state(),
            v1::CERTIFICATE_STATE_RUNNING);
  EXPECT_EQ(world_.store->node_writes, writes);
  EXPECT_EQ(follower.store_condition().failed, 0u);
}

TEST_F(DurabilityTest, WhatAPersonOrdersFailsWithTheDiskAndChangesNothing) {
  ASSERT_TRUE(person_.Silence("n2").ok());
  ASSERT_TRUE(person_.Label("n2", "h100").ok());
  const std::string silence = person_.Silences().front().id();
  const std::string finding = person_.Findings().front().id();
  world_.store->failure = kFull;
  EXPECT_EQ(person_.Acknowledge(finding, "cable ordered"), kFull);
  EXPECT_EQ(person_.Silence("n1"), kFull);
  EXPECT_EQ(person_.EndSilence(silence), kFull);
  EXPECT_EQ(person_.StartCampaign().status(), kFull);
  EXPECT_EQ(person_.StartCertificate("n2").status(), kFull);
  EXPECT_EQ(person_.Label("n2", "h200"), kFull);

  EXPECT_EQ(world_.Node("n2").labels().at("pool"), "h100");
  EXPECT_FALSE(person_.Findings().front().has_acknowledged());
  EXPECT_FALSE(person_.Findings().front().has_silenced());
  ASSERT_EQ(person_.Silences().size(), 1u);
  EXPECT_EQ(person_.Silences().front().id(), silence);
  EXPECT_THAT(person_.Get<v1::ListCampaignsResponse>(v1::ListCampaignsRequest()).campaigns(),
              IsEmpty());

  world_.store->failure = Status();
  EXPECT_TRUE(person_.Acknowledge(finding, "cable ordered").ok());
  EXPECT_TRUE(person_.EndSilence(silence).ok());
  world_.Restart();
  EXPECT_EQ(person_.Findings().front().acknowledged().note(), "cable ordered");
  EXPECT_THAT(person_.Silences(), IsEmpty());
}

TEST_F(DurabilityTest, ANodeIsNotRemovedWithoutTheDisk) {
  world_.agents.Disconnect("n3", "stopped");
  v1::DeleteNodeRequest request;
  request.set_name("n3");
  v1::NodeSummary removed;
  world_.store->failure = kFull;
  EXPECT_EQ(world_.controller->Call(request, removed, world_.agents.now()), kFull);
  EXPECT_EQ(world_.Node("n3").state(), v1::NODE_STATE_LOST);
}

TEST_F(DurabilityTest, TheConditionOfTheStoreIsShown) {
  const auto store = [&] {
    return person_.Get<v1::GetVersionResponse>(v1::GetVersionRequest()).store();
  };
  EXPECT_EQ(store().failure(), "");
  EXPECT_GT(store().file_bytes(), 0u);
  world_.store->failure = kFull;
  ASSERT_TRUE(world_.agents.SendSnapshot(testing::RoceNode({.number = 1})).ok());
  world_.agents.Advance(1s);
  EXPECT_EQ(store().failure(), kFull.message());
  EXPECT_TRUE(store().has_failing_since());
  EXPECT_GT(store().pending_writes(), 0u);
  world_.store->failure = Status();
  world_.agents.Advance(2s);
  EXPECT_EQ(store().failure(), "");
  EXPECT_EQ(store().pending_writes(), 0u);
  EXPECT_EQ(store().dropped_writes(), 0u);
}

TEST_F(DurabilityTest, ABackupCanBeMadeWhileItRuns) {
  const auto backup = person_.Get<v1::Backup>(v1::CreateBackupRequest());
  EXPECT_THAT(backup.path(), HasSubstr("/state.db.backup-"));
  EXPECT_GT(backup.bytes(), 0u);
  // Also in the same second
  const auto second = person_.Get<v1::Backup>(v1::CreateBackupRequest());
  EXPECT_NE(second.path(), backup.path());
  EXPECT_GT(second.bytes(), 0u);
  const auto version = person_.Get<v1::GetVersionResponse>(v1::GetVersionRequest());
  EXPECT_EQ(version.store().last_backup().path(), second.path());
  const auto copy = store::OpenSqlite(backup.path());
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  EXPECT_EQ((*copy)->Nodes()->size(), 3u);
}

TEST_F(DurabilityTest, ACertificateInProgressEndsWithTheReason) {
  const auto id = person_.StartCertificate("n2");
  ASSERT_TRUE(id.ok()) << id.status().message();
  world_.Restart();
  const v1::GetCertificateResponse answer = person_.Certificate(*id);
  EXPECT_EQ(answer.certificate().state(), v1::CERTIFICATE_STATE_DONE);
  EXPECT_EQ(answer.certificate().verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_EQ(answer.certificate().end_reason(), "fabricd was restarted");
  ASSERT_EQ(answer.certificate().nodes_size(), 1);
  EXPECT_EQ(answer.certificate().nodes(0).verdict(), v1::VERDICT_UNKNOWN);
  EXPECT_TRUE(answer.has_signed_());
  EXPECT_NE(*person_.StartCertificate("n2"), *id) << "ids are not reused";
}

TEST_F(DurabilityTest, ACertificateThatIsDoneSurvives) {
  const auto id = person_.StartCertificate("n2");
  ASSERT_TRUE(id.ok()) << id.status().message();
  world_.agents.Advance(90s);
  const v1::GetCertificateResponse before = person_.Certificate(*id);
  ASSERT_EQ(before.certificate().state(), v1::CERTIFICATE_STATE_DONE);
  world_.Restart();
  EXPECT_EQ(person_.Certificate(*id).SerializeAsString(), before.SerializeAsString());
}

// The counts of a campaign that a crash ended are those of its stored results.
TEST_F(DurabilityTest, ACampaignThatACrashEndedCountsItsResults) {
  world_.agents.Behave("n3", testing::Behaviour::kNeverFinishes);
  const auto id = person_.StartCampaign();
  ASSERT_TRUE(id.ok()) << id.status().message();
  for (int steps = 0; world_.Campaign(*id).results_size() == 0 && steps < 50; ++steps)
    world_.agents.Advance(100ms);
  world_.Restart();
  const v1::Campaign campaign = world_.Campaign(*id);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_EQ(campaign.end_reason(), "fabricd was restarted");
  EXPECT_GT(campaign.results_size(), 0);
  EXPECT_EQ(campaign.probes_ok() + campaign.probes_failed() + campaign.probes_cancelled(),
            static_cast<std::uint32_t>(campaign.results_size()));
}

// Random lives with a disk that fails at times.
class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {}

  void Run() {
    world_.ConnectNodes(kNodes);
    for (int turn = 0; turn < 60; ++turn) Turn();
    world_.store->failure = Status();
    // Campaigns end, and findings that flap are resolved.
    world_.agents.Advance(30s + LifecycleOptions().flap_hold);
    const std::vector<std::string> before = State();
    world_.Restart();
    EXPECT_EQ(State(), before);
    // Also when the agents are back.
    for (std::uint32_t n = 1; n <= kNodes; ++n) Report(n, /*again=*/true);
    world_.agents.Advance(2s);
    EXPECT_EQ(State(), before);
    for (const v1::Finding& finding : person_.Findings()) {
      const auto known = acknowledged_.find(finding.id());
      if (known == acknowledged_.end() || !finding.has_acknowledged()) continue;
      EXPECT_EQ(finding.acknowledged().note(), known->second);
    }
  }

 private:
  static constexpr std::uint32_t kNodes = 3;

  std::uint32_t Pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_()) % below; }

  void Report(std::uint32_t n, bool again) {
    v1::NodeSnapshot node = testing::RoceNode({.number = n});
    if (mtu_[n] != 0) testing::SetMtu(node, 0, mtu_[n]);
    if (down_.contains(n)) testing::LinkDown(node, 1);
    EXPECT_TRUE((again ? world_.agents.Connect(node) : world_.agents.SendSnapshot(node)).ok());
  }

  void Turn() {
    const std::uint32_t n = 1 + Pick(kNodes);
    switch (Pick(9)) {
      case 0: world_.store->failure = Pick(2) == 0 ? kFull : Status(); break;
      case 1: mtu_[n] = Pick(2) == 0 ? 1500 : 0; break;
      case 2:
        if (Pick(2) == 0)
          down_.insert(n);
        else
          down_.erase(n);
        break;
      case 3: (void)person_.StartCampaign().ok(); break;
      case 4: (void)person_.Silence(Format("n{}", n)).ok(); break;
      case 5: EndOne(); break;
      case 6: AcknowledgeOne(); break;
      default: world_.agents.Advance(Pick(20) * 100ms); break;
    }
    Report(n, /*again=*/false);
    world_.agents.Advance(100ms);
  }

  void EndOne() {
    const std::vector<v1::Silence> silences = person_.Silences();
    if (!silences.empty()) (void)person_.EndSilence(silences.front().id()).ok();
  }

  void AcknowledgeOne() {
    const std::vector<v1::Finding> findings = person_.Findings();
    if (findings.empty()) return;
    const std::string id = findings[Pick(static_cast<std::uint32_t>(findings.size()))].id();
    const std::string note = Format("note {}", ++notes_);
    if (person_.Acknowledge(id, note).ok()) acknowledged_[id] = note;
  }

  // All that the API shows and a restart keeps.
  std::vector<std::string> State() {
    std::vector<std::string> state;
    for (v1::Finding finding : person_.Findings()) {
      finding.clear_expired_reason();  // Nodes are lost after the restart.
      // Heartbeats confirm a snapshot without storing it again.
      for (v1::Evidence& evidence : *finding.mutable_evidence()) evidence.clear_read_at();
      if (finding.rule() == "node_connected") continue;
      state.push_back(finding.ShortDebugString());
      v1::GetFindingRequest request;
      request.set_id(finding.id());
      const auto answer = person_.Get<v1::GetFindingResponse>(request);
      for (const auto& record : answer.history()) state.push_back(record.ShortDebugString());
    }
    for (const v1::Silence& silence : person_.Silences())
      state.push_back(silence.ShortDebugString());
    const auto campaigns = person_.Get<v1::ListCampaignsResponse>(v1::ListCampaignsRequest());
    for (const v1::Campaign& campaign : campaigns.campaigns()) {
      state.push_back(campaign.ShortDebugString());
      const v1::Campaign whole = world_.Campaign(campaign.id());
      for (const v1::PairResult& result : whole.results())
        state.push_back(result.ShortDebugString());
    }
    return state;
  }

  std::mt19937 random_;
  ControlWorld world_{WithKey()};
  Person person_{world_};
  std::map<std::uint32_t, std::uint32_t> mtu_;
  std::set<std::uint32_t> down_;
  std::map<std::string, std::string> acknowledged_;
  int notes_ = 0;
};

class RestartEquality : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RestartEquality, TheStateAfterARestartIsTheStateBefore) {
  Life(GetParam()).Run();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RestartEquality, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace fabric::control
