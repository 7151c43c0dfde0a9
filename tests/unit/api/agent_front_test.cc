#include "daemon/api/agent_front.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <new>
#include <vector>

#include "daemon/api/grpc_front.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

// Takes the controller's place: notes what comes, and lets the test wait for it.
class FakeController {
 public:
  AgentListener Listener() {
    return {.admit =
                [this](const access::Caller& caller, const std::string* node) {
                  const MutexLock lock(mutex_);
                  admitted_.push_back(caller.address.substr(0, caller.address.rfind(':')) + " " +
                                      (node == nullptr ? "" : *node));
                  return node == nullptr ? may_connect_ : may_report_;
                },
            .on_message =
                [this](SessionId session, const v1::AgentMessage& message) {
                  MutexLock lock(mutex_);
                  if (throws_) throw std::bad_alloc();
                  messages_.emplace_back(session, message);
                  changed_.notify_all();
                  EXPECT_TRUE(changed_.wait_for(lock, kPatience,
                                                [&]() REQUIRES(mutex_) { return !stuck_; }));
                  return verdict_;
                },
            .on_gone =
                [this](SessionId session, const std::string& reason) {
                  const MutexLock lock(mutex_);
                  gone_.emplace_back(session, reason);
                  changed_.notify_all();
                },
            .on_excess =
                [this](SessionId, const Excess& excess) {
                  const MutexLock lock(mutex_);
                  excesses_.push_back(ToStatus(excess).message());
                }};
  }
  // Answers to the question who may connect, and who may report as the node of its Hello.
  void Admit(Status connect, Status report) {
    const MutexLock lock(mutex_);
    may_connect_ = std::move(connect);
    may_report_ = std::move(report);
  }
  std::vector<std::string> admitted() {
    const MutexLock lock(mutex_);
    return admitted_;
  }
  void Refuse(Status status) {
    const MutexLock lock(mutex_);
    verdict_ = std::move(status);
  }
  std::pair<SessionId, v1::AgentMessage> NextMessage() {
    MutexLock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience,
                           [&]() REQUIRES(mutex_) { return !messages_.empty(); })) {
      ADD_FAILURE() << "no message";
      return {};
    }
    auto message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  std::pair<SessionId, std::string> NextGone() {
    MutexLock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&]() REQUIRES(mutex_) { return !gone_.empty(); })) {
      ADD_FAILURE() << "no session ended";
      return {};
    }
    auto gone = std::move(gone_.front());
    gone_.pop_front();
    return gone;
  }
  void Throw(bool throws) {
    const MutexLock lock(mutex_);
    throws_ = throws;
  }
  // While stuck, on_message does not return.
  void SetStuck(bool stuck) {
    const MutexLock lock(mutex_);
    stuck_ = stuck;
    changed_.notify_all();
  }
  std::vector<std::string> excesses() {
    const MutexLock lock(mutex_);
    return excesses_;
  }
  std::size_t gone_waiting() {
    const MutexLock lock(mutex_);
    return gone_.size();
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  Status verdict_ GUARDED_BY(mutex_);
  Status may_connect_ GUARDED_BY(mutex_);
  Status may_report_ GUARDED_BY(mutex_);
  std::vector<std::string> admitted_ GUARDED_BY(mutex_);
  bool throws_ GUARDED_BY(mutex_) = false;
  bool stuck_ GUARDED_BY(mutex_) = false;
  std::vector<std::string> excesses_ GUARDED_BY(mutex_);
  std::deque<std::pair<SessionId, v1::AgentMessage>> messages_ GUARDED_BY(mutex_);
  std::deque<std::pair<SessionId, std::string>> gone_ GUARDED_BY(mutex_);
};

Status NoApi(const CallContext&, const google::protobuf::MethodDescriptor&,
             const google::protobuf::Message&, google::protobuf::Message&) {
  return {Code::kUnimplemented, "no API here"};
}

v1::AgentMessage Heartbeat(std::uint64_t sequence) {
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_sequence(sequence);
  return message;
}

v1::ControllerMessage Welcome(std::string text = "1.0") {
  v1::ControllerMessage message;
  message.mutable_welcome()->set_controller_version(std::move(text));
  return message;
}

class AgentFrontTest : public ::testing::Test {
 protected:
  struct Agent {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream;
  };

  explicit AgentFrontTest(Duration hello_within = std::chrono::hours(1)) : front_(hello_within) {
    front_.SetListener(controller_.Listener());
    auto server = GrpcFront::Listen({"127.0.0.1", 0}, NoApi, bus_, watchers_, front_);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    stub_ = v1::AgentLink::NewStub(
        grpc::CreateChannel(ToString(server_->address()), grpc::InsecureChannelCredentials()));
  }

  // Connects and says one thing; returns the session that the front gave it.
  SessionId Connect(Agent& agent) {
    agent.stream = stub_->Connect(&agent.context);
    agent.stream->Write(Heartbeat(1));
    return controller_.NextMessage().first;
  }

  control::EventBus bus_;
  PeerSlots watchers_{"event watchers", {.total = 4, .per_peer = 4}};
  FakeController controller_;
  AgentFront front_;
  std::unique_ptr<GrpcFront> server_;
  std::unique_ptr<v1::AgentLink::Stub> stub_;
};

TEST_F(AgentFrontTest, MessagesFlowBothWaysInOrder) {
  Agent agent;
  const SessionId session = Connect(agent);
  for (std::uint64_t i = 2; i < 20; ++i) agent.stream->Write(Heartbeat(i));
  for (std::uint64_t i = 2; i < 20; ++i)
    EXPECT_EQ(controller_.NextMessage().second.heartbeat().sequence(), i);
  for (int i = 0; i < 20; ++i) front_.Send(session, Welcome(std::to_string(i)));
  v1::ControllerMessage message;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(agent.stream->Read(&message));
    EXPECT_EQ(message.welcome().controller_version(), std::to_string(i));
  }
}

TEST_F(AgentFrontTest, SessionsAreNumberedAndSeparate) {
  Agent first;
  Agent second;
  const SessionId one = Connect(first);
  const SessionId two = Connect(second);
  EXPECT_NE(one, two);
  front_.Send(two, Welcome("for two"));
  v1::ControllerMessage message;
  ASSERT_TRUE(second.stream->Read(&message));
  EXPECT_EQ(message.welcome().controller_version(), "for two");
}

TEST_F(AgentFrontTest, CloseSendsWhatIsQueuedAndThenTheStatus) {
  Agent agent;
  const SessionId session = Connect(agent);
  front_.Send(session, Welcome());
  front_.Close(session, {Code::kAlreadyExists, "another agent of that name"});
  front_.Send(session, Welcome("too late"));
  v1::ControllerMessage message;
  EXPECT_TRUE(agent.stream->Read(&message));
  EXPECT_FALSE(agent.stream->Read(&message));
  const grpc::Status status = agent.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), "another agent of that name");
  EXPECT_EQ(controller_.NextGone().first, session);
}

TEST_F(AgentFrontTest, AMessageThatIsRefusedEndsTheSessionWithTheReason) {
  controller_.Refuse({Code::kFailedPrecondition, "expected Hello first"});
  Agent agent;
  const SessionId session = Connect(agent);
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  EXPECT_EQ(agent.stream->Finish().error_message(), "expected Hello first");
  const auto [gone, reason] = controller_.NextGone();
  EXPECT_EQ(gone, session);
  EXPECT_EQ(reason, "expected Hello first");
}

TEST_F(AgentFrontTest, AnAgentThatMayNotConnectIsRefusedBeforeItsFirstMessage) {
  controller_.Admit({Code::kUnauthenticated, "expected a client certificate"}, {});
  Agent agent;
  agent.stream = stub_->Connect(&agent.context);
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  const grpc::Status status = agent.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(status.error_message(), "expected a client certificate");
  EXPECT_THAT(controller_.admitted(), ::testing::ElementsAre("127.0.0.1 "));
}

TEST_F(AgentFrontTest, AnAgentThatReportsAsAnotherNodeIsRefused) {
  controller_.Admit({}, {Code::kPermissionDenied, "cannot report as node n2"});
  Agent agent;
  agent.stream = stub_->Connect(&agent.context);
  v1::AgentMessage hello;
  hello.mutable_hello()->mutable_node()->set_name("n2");
  agent.stream->Write(hello);
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  const grpc::Status status = agent.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "cannot report as node n2");
  EXPECT_EQ(controller_.NextGone().second, "cannot report as node n2");
  EXPECT_THAT(controller_.admitted(), ::testing::ElementsAre("127.0.0.1 ", "127.0.0.1 n2"));
}

TEST_F(AgentFrontTest, AnAgentThatVanishesIsGoneOnce) {
  SessionId session;
  {
    Agent agent;
    session = Connect(agent);
    agent.context.TryCancel();
    v1::ControllerMessage message;
    EXPECT_FALSE(agent.stream->Read(&message));
    EXPECT_FALSE(agent.stream->Finish().ok());
  }
  EXPECT_EQ(controller_.NextGone().first, session);
  front_.Send(session, Welcome());
  front_.Close(session, {Code::kUnavailable, "nobody there"});
  server_->Stop();
  EXPECT_EQ(controller_.gone_waiting(), 0u);
}

TEST_F(AgentFrontTest, AnAgentThatEndsItsSideIsGone) {
  Agent agent;
  const SessionId session = Connect(agent);
  agent.stream->WritesDone();
  const auto [gone, reason] = controller_.NextGone();
  EXPECT_EQ(gone, session);
  EXPECT_EQ(reason, "the agent ended the connection");
}

TEST_F(AgentFrontTest, AnAgentThatDoesNotReadIsDropped) {
  Agent agent;
  const SessionId session = Connect(agent);
  const v1::ControllerMessage big = Welcome(std::string(64 << 10, 'x'));
  for (std::size_t i = 0; i < 2 * AgentFront::kQueuedMax; ++i) front_.Send(session, big);
  const auto [gone, reason] = controller_.NextGone();
  EXPECT_EQ(gone, session);
  EXPECT_THAT(reason, HasSubstr("does not read"));
}

TEST_F(AgentFrontTest, StoppingEndsSessionsAndRefusesNewOnes) {
  Agent reading;
  Agent silent;
  Connect(reading);
  const SessionId stuck = Connect(silent);
  for (int i = 0; i < 100; ++i) front_.Send(stuck, Welcome(std::string(64 << 10, 'x')));
  server_->Stop();
  EXPECT_EQ(controller_.gone_waiting(), 2u);
  v1::ControllerMessage message;
  EXPECT_FALSE(reading.stream->Read(&message));
  EXPECT_EQ(reading.stream->Finish().error_message(), "the controller is stopping");
}

// 2 bytes on the wire for each, some 500 in memory.
TEST_F(AgentFrontTest, AMessageBeyondABoundIsRefusedBeforeItIsDecoded) {
  Agent agent;
  const SessionId session = Connect(agent);
  v1::AgentMessage bomb;
  for (int n = 0; n < 100'000; ++n) bomb.mutable_snapshot()->add_net_interfaces();
  agent.stream->Write(bomb);
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  const grpc::Status status = agent.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("NodeSnapshot.net_interfaces: expected at most"));
  const auto [gone, reason] = controller_.NextGone();
  EXPECT_EQ(gone, session);
  EXPECT_EQ(reason, status.error_message());
  EXPECT_THAT(controller_.excesses(), ::testing::ElementsAre(status.error_message()));
}

TEST_F(AgentFrontTest, TimesOutOfRangeAreRemovedAndReported) {
  Agent agent;
  Connect(agent);
  v1::AgentMessage message;
  message.mutable_snapshot()->mutable_host()->mutable_booted_at()->set_seconds(-1);
  agent.stream->Write(message);
  EXPECT_FALSE(controller_.NextMessage().second.snapshot().host().has_booted_at());
  EXPECT_THAT(controller_.excesses(),
              ::testing::ElementsAre(HasSubstr("timestamp_seconds: expected at most")));
}

TEST_F(AgentFrontTest, AnExceptionEndsTheSessionAndNotTheProcess) {
  Agent agent;
  Agent other;
  Connect(agent);
  Connect(other);
  controller_.Throw(true);
  agent.stream->Write(Heartbeat(2));
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  EXPECT_EQ(agent.stream->Finish().error_message(), "the controller is out of memory");
  controller_.Throw(false);
  other.stream->Write(Heartbeat(7));
  EXPECT_EQ(controller_.NextMessage().second.heartbeat().sequence(), 7u);
}

// gRPC's threads must answer pings while the controller works.
TEST_F(AgentFrontTest, AControllerThatWorksDoesNotHoldUpTheConnections) {
  Agent agent;
  Agent other;
  Connect(agent);
  const SessionId session = Connect(other);
  controller_.SetStuck(true);
  agent.stream->Write(Heartbeat(2));
  controller_.NextMessage();
  for (std::uint64_t n = 0; n < 1000; ++n) agent.stream->Write(Heartbeat(3 + n));
  front_.Close(session, {Code::kCancelled, "while the controller works"});
  v1::ControllerMessage message;
  EXPECT_FALSE(other.stream->Read(&message));
  EXPECT_EQ(other.stream->Finish().error_message(), "while the controller works");
  controller_.SetStuck(false);
  for (std::uint64_t n = 0; n < 1000; ++n)
    EXPECT_EQ(controller_.NextMessage().second.heartbeat().sequence(), 3 + n) << "in order";
}

class ShortPatience : public AgentFrontTest {
 protected:
  ShortPatience() : AgentFrontTest(std::chrono::milliseconds(1)) {}
};

TEST_F(ShortPatience, AStreamWithoutHelloIsEnded) {
  Agent agent;
  agent.stream = stub_->Connect(&agent.context);
  v1::ControllerMessage message;
  EXPECT_FALSE(agent.stream->Read(&message));
  const grpc::Status status = agent.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("expected hello within 0.001 s"));
}

class InboxTest : public ::testing::Test {
 protected:
  void Put(v1::AgentMessage message, std::size_t bytes) {
    inbox_.Put({.message = std::move(message), .bytes = bytes, .memory = bytes}, now_);
  }
  SteadyTime now_ = SteadyTime(std::chrono::hours(1));
  AgentInbox inbox_;
};

TEST_F(InboxTest, IsReadWhileThereIsRoom) {
  for (std::uint64_t n = 0; n < Limit("inbox_messages"); ++n) {
    EXPECT_EQ(inbox_.ReadIn(now_), Duration::zero());
    Put(Heartbeat(n), 10);
  }
  EXPECT_EQ(inbox_.ReadIn(now_), std::nullopt);
  EXPECT_EQ(inbox_.Take().message->heartbeat().sequence(), 0u);
  EXPECT_EQ(inbox_.ReadIn(now_), Duration::zero());
}

TEST_F(InboxTest, MemoryIsBounded) {
  Put(Heartbeat(1), Limit("inbox_memory"));
  EXPECT_EQ(inbox_.ReadIn(now_), std::nullopt);
}

TEST_F(InboxTest, AFlappingPortIsReadLaterAndReportedOnce) {
  v1::AgentMessage change;
  change.mutable_change();
  std::vector<std::string> excesses;
  for (int n = 0; n < 60; ++n) {
    Put(change, 100);
    while (!inbox_.empty())
      if (const auto item = inbox_.Take(); item.excess)
        excesses.push_back(ToStatus(*item.excess).message());
  }
  EXPECT_EQ(inbox_.ReadIn(now_), std::chrono::seconds(2))
      << "10 more than the burst, 5 each second";
  EXPECT_THAT(excesses, ::testing::ElementsAre("agent_changes_per_second: expected at most 5 "
                                               "changes/s, saw 51"));
  now_ += std::chrono::seconds(2);
  EXPECT_EQ(inbox_.ReadIn(now_), Duration::zero());
}

}  // namespace
}  // namespace fabric::api
