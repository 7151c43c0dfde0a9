// Peers that break the rules of gRPC, HTTP or of each other's names, against the real process:
// memory stays within the budget, health answers, and an honest agent stays connected.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/hostile/victim.h"
#include "tests/testing/raw_client.h"

namespace fabric::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBombBytes = std::size_t{320} << 20;  // A third of a MiB when compressed
constexpr char kStreamOfAgents[] = "/fabric.v1.AgentLink/Connect";
constexpr char kStartCampaign[] = "/fabric.v1.Fabric/StartCampaign";

// Sends these bytes as one message. A method of streams takes it, too.
grpc::Status CallWith(const Victim& victim, const std::string& method, const std::string& bytes,
                      grpc_compression_algorithm compression) {
  const std::unique_ptr<Victim::RawStub> stub = victim.DialRaw();
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer out(&slice, 1), in;
  grpc::ClientContext context;
  context.set_compression_algorithm(compression);
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<grpc::Status> result;
  stub->UnaryCall(&context, method, grpc::StubOptions(), &out, &in, [&](grpc::Status status) {
    const std::lock_guard lock(mutex);
    result = std::move(status);
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return result.has_value(); });
  return *result;
}

using HostilePeers = HostileCase;

TEST_F(HostilePeers, CompressedMessagesAreRefusedBeforeTheyGrow) {
  const std::string bomb(kBombBytes, '\0');
  for (const char* const method : {kStreamOfAgents, kStartCampaign})
    for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
      SCOPED_TRACE(method);
      EXPECT_FALSE(CallWith(victim_, method, bomb, compression).ok());
      ExpectWell("compressed messages");
    }
}

TEST_F(HostilePeers, CompressedBodiesAreNotDecompressed) {
  std::string zipped(kBombBytes / 64, '\0');
  uLongf size = zipped.size();
  const std::string body(kBombBytes / 4, ' ');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(zipped.data()), &size,
                     reinterpret_cast<const Bytef*>(body.data()), body.size()),
            Z_OK);
  zipped.resize(size);
  const std::string answer = HttpExchange(
      victim_.rest_port(),
      "POST /v1/campaigns HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nContent-Encoding: deflate\r\nContent-Length: " +
          std::to_string(zipped.size()) + "\r\n\r\n" + zipped);
  EXPECT_THAT(answer.substr(0, answer.find('\r')), HasSubstr(" 4"));
  ExpectWell("compressed bodies");
}

// Unknown groups in groups: a parser that calls itself for each would overflow its stack.
TEST_F(HostilePeers, DeepMessagesAreRefused) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string deep = std::string(kDepth, '\xfb') + std::string(kDepth, '\x07');
  const std::string groups = std::string(kDepth, '\x0b') + std::string(kDepth, '\x0c');
  for (const char* const method : {kStreamOfAgents, kStartCampaign})
    for (const std::string& bytes : {deep, groups})
      EXPECT_FALSE(CallWith(victim_, method, bytes, GRPC_COMPRESS_NONE).ok());
  ExpectWell("deep messages");
}

TEST_F(HostilePeers, IdleSocketsDoNotStopHealthOrAgents) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int n = 0; n < 800; ++n) idle.push_back(std::make_unique<RawClient>(victim_.rest_port()));
  ExpectWell("idle sockets");
  Peer late(victim_, "late");
  v1::AgentMessage message;
  message.mutable_heartbeat();
  EXPECT_TRUE(late.Say(message));
  EXPECT_TRUE(late.End().ok());
  idle.clear();
  EXPECT_THAT(victim_.Get("/v1/version"), HasSubstr("200 OK"));
}

TEST_F(HostilePeers, AForgedNameDoesNotReplaceAConnectedAgent) {
  for (const char* const machine : {"", "another-machine"}) {
    Peer forged(victim_, "");
    v1::AgentMessage message;
    message.mutable_hello()->mutable_node()->set_name("honest");
    message.mutable_hello()->mutable_node()->set_machine_id(machine);
    forged.Say(message);
    EXPECT_EQ(forged.AwaitEnd().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  }
  ExpectWell("a forged name");
}

TEST_F(HostilePeers, WatchersOnGrpcThatDoNotReadAreBounded) {
  struct Watcher {
    std::unique_ptr<v1::Fabric::Stub> stub;  // A connection has a limit of its own
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::Event>> stream;
  };
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int n = 0; n < 300; ++n) {
    Watcher& made = *watchers.emplace_back(std::make_unique<Watcher>());
    made.stub = victim_.DialAsClient();
    made.stream = made.stub->WatchEvents(&made.context, v1::WatchEventsRequest());
  }
  Peer peer(victim_, "toggles");
  v1::AgentMessage message;
  for (int device = 0; device < 500; ++device) {
    v1::RdmaDevice& made = *message.mutable_snapshot()->add_rdma_devices();
    made.set_name("mlx5_" + std::to_string(device));
    made.add_ports()->set_number(1);
  }
  for (int round = 0; round < 20; ++round) {
    for (v1::RdmaDevice& device : *message.mutable_snapshot()->mutable_rdma_devices())
      device.mutable_ports(0)->set_state(round % 2 == 0 ? v1::PORT_STATE_ACTIVE
                                                        : v1::PORT_STATE_DOWN);
    peer.Say(message);
  }
  ExpectWell("watchers that do not read");
  for (const auto& watcher : watchers) watcher->context.TryCancel();
}

}  // namespace
}  // namespace fabric::testing
