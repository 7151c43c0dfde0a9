// Messages at their bounds and beyond, against the real process: memory stays within the budget,
// health answers, and an honest agent stays connected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "proto/bounds.h"
#include "proto/wire_check.h"
#include "tests/hostile/bombs.h"
#include "tests/hostile/victim.h"

namespace fabric::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kElements = 100'000;  // Beyond each bound, with 2 or 3 bytes on the wire

v1::AgentMessage Filled(const Path& path, int elements) {
  v1::AgentMessage message;
  FillList(path, elements, message);
  return message;
}

using HostileTest = HostileCase;

TEST_F(HostileTest, ListsBeyondTheirBoundsAreRefused) {
  const std::vector<Path> lists = ListsOf(*v1::AgentMessage::descriptor());
  ASSERT_GT(lists.size(), 50u);
  for (const Path& path : lists) {
    const std::string name = path.back()->full_name();
    Peer peer(victim_, name);  // As the name of the node
    peer.Say(Filled(path, kElements));
    const grpc::Status status = peer.AwaitEnd();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << name;
    EXPECT_THAT(status.error_message(), HasSubstr("expected at most")) << name;
  }
  ExpectWell("bombs");
  EXPECT_THAT(victim_.Get("/v1/findings?node=fabric.v1.NodeSnapshot.gaps"),
              HasSubstr("agent_over_budget"));
  EXPECT_THAT(victim_.Get("/v1/nodes/fabric.v1.NodeSnapshot.gaps"),
              HasSubstr("\"bound\":\"NodeSnapshot.gaps\""));
}

TEST_F(HostileTest, ListsAtTheirBoundsAreTaken) {
  const std::vector<Path> lists = ListsOf(*v1::AgentMessage::descriptor());
  for (const Path& path : lists) {
    Peer peer(victim_, "large-" + path.back()->full_name());
    peer.Say(Filled(path, static_cast<int>(BoundOfList(*path.back()).limit)));
    EXPECT_THAT(peer.End().error_message(), Not(HasSubstr("expected at most")))
        << path.back()->full_name();
  }
  ExpectWell("large messages");
}

TEST_F(HostileTest, ForgedNamesDoNotFillTheMemoryOrTheFile) {
  v1::AgentMessage snapshot;
  for (std::uint64_t n = 0; n < 4096; ++n) snapshot.mutable_snapshot()->add_net_interfaces();
  for (int n = 0; n < 60; ++n) {
    Peer peer(victim_, "forged-" + std::to_string(n));
    peer.Say(snapshot);
    peer.End();
  }
  ExpectWell("forged names");
  victim_.Restart();
  EXPECT_THAT(victim_.Health(), HasSubstr("200 OK"));
  EXPECT_LT(victim_.PeakMemory(), kMemoryMax);
}

TEST_F(HostileTest, TextsBeyondTheirBoundsAreRefused) {
  for (const Path& path : TextsOf(*v1::AgentMessage::descriptor())) {
    const std::string name = path.back()->full_name();
    Peer peer(victim_, "text-" + name);
    v1::AgentMessage message;
    FillText(path, 1'000'000, message);
    peer.Say(message);
    EXPECT_EQ(peer.AwaitEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << name;
  }
  ExpectWell("long texts");
}

TEST_F(HostileTest, ALyingDigestMakesNoNode) {
  Peer peer(victim_, "");
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.mutable_node()->set_name("liar");
  hello.mutable_node()->set_machine_id("machine-liar");
  hello.set_protocol_version(2);
  hello.set_settings_digest(0);
  peer.Say(message);
  message.mutable_change()->add_rdma_devices()->set_name("mlx5_0");
  peer.Say(message);  // Without a snapshot
  EXPECT_EQ(peer.End().error_message().find("expected"), std::string::npos);
  EXPECT_THAT(victim_.Get("/v1/nodes/liar"), HasSubstr("404 Not Found"));
  ExpectWell("a lying digest");
}

TEST_F(HostileTest, NamesOfFieldsThatRepeatAreRefused) {
  Peer peer(victim_, "fields");
  v1::AgentMessage message;
  message.mutable_snapshot();
  peer.Say(message);
  for (int n = 0; n < 4000; ++n)
    message.mutable_change()->mutable_rest()->add_gaps()->set_reason(std::string(200, 'x'));
  for (int n = 0; n < 70'000; ++n) message.mutable_change()->add_fields("gaps");
  peer.Say(message);
  EXPECT_THAT(peer.AwaitEnd().error_message(),
              HasSubstr("SnapshotChange.fields: expected at most"));
  ExpectWell("repeated names");
}

TEST_F(HostileTest, AFloodOfChangesSlowsItsSenderOnly) {
  Peer peer(victim_, "flood");
  v1::AgentMessage message;
  message.mutable_snapshot();
  peer.Say(message);
  message.mutable_change()->add_rdma_devices()->set_name("mlx5_0");
  for (int n = 0; n < 300; ++n) peer.Say(message);
  ExpectWell("a flood");
}

TEST_F(HostileTest, AbsurdTimesDoNotHideANode) {
  Peer peer(victim_, "clock");
  v1::AgentMessage message;
  v1::NodeSnapshot& snapshot = *message.mutable_snapshot();
  snapshot.mutable_taken_at()->set_seconds(INT64_MAX);
  snapshot.mutable_host()->mutable_booted_at()->set_seconds(INT64_MAX);
  snapshot.add_kernel_log()->mutable_first_at()->set_nanos(-1);
  peer.Say(message);
  // The controller processes a message some time after it has read it.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::string seen = victim_.Get("/v1/nodes/clock");
  while (seen.find("\"clock\"") == std::string::npos && std::chrono::steady_clock::now() < end)
    seen = victim_.Get("/v1/nodes/clock");
  EXPECT_THAT(seen, HasSubstr("\"clock\""));
  peer.End();
  ExpectWell("absurd times");
}

TEST_F(HostileTest, ManyStreamsAreServedWithinTheBudget) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (int n = 0; n < 500; ++n) peers.push_back(std::make_unique<Peer>(victim_, ""));
  ExpectWell("streams without Hello");
  EXPECT_EQ(peers.front()->AwaitEnd().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(HostileTest, RequestsBeyondTheirBoundsAreRefused) {
  const auto stub = victim_.DialAsClient();
  v1::StartCampaignRequest campaign;
  for (int n = 0; n < 1'000'000; ++n) campaign.mutable_spec()->add_probes();
  v1::Campaign started;
  grpc::ClientContext first;
  EXPECT_EQ(stub->StartCampaign(&first, campaign, &started).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::StartCertificateRequest certificate;
  for (int n = 0; n < 60'000; ++n)
    certificate.mutable_request()->add_nodes("unknown-" + std::to_string(n));
  v1::Certificate made;
  grpc::ClientContext second;
  EXPECT_THAT(stub->StartCertificate(&second, certificate, &made).error_message(),
              HasSubstr("expected at most 1000 unknown names"));
  ExpectWell("requests");
}

}  // namespace
}  // namespace fabric::testing
