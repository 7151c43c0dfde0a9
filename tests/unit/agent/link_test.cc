// The link against a controller in this process, over the loopback on a free port.
#include "agents/session/link.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "fabric/v1/agent.grpc.pb.h"

namespace fabric::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // For what must come

// A queue that tests wait on.
template <class T>
class Waiting {
 public:
  void Put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  T Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !values_.empty(); })) {
      ADD_FAILURE() << "nothing came";
      return {};
    }
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
};

// Answers each stream with what `talk` does.
class Controller final : public v1::AgentLink::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::ControllerMessage, v1::AgentMessage>;

  explicit Controller(std::function<grpc::Status(Stream&)> talk) : talk_(std::move(talk)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Controller() override { server_->Shutdown(std::chrono::system_clock::time_point()); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Connect(grpc::ServerContext*, Stream* stream) override { return talk_(*stream); }

 private:
  const std::function<grpc::Status(Stream&)> talk_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class Events final : public LinkEvents {
 public:
  void OnConnected() override { connected.Put(true); }
  void OnMessage(v1::ControllerMessage message) override { messages.Put(std::move(message)); }
  void OnIdle() override { idle.Put(true); }
  void OnDisconnected(const Status& why) override { disconnected.Put(why); }

  Waiting<bool> connected;
  Waiting<v1::ControllerMessage> messages;
  Waiting<bool> idle;
  Waiting<Status> disconnected;
};

v1::AgentMessage Hello(const std::string& node) {
  v1::AgentMessage message;
  message.mutable_hello()->mutable_node()->set_name(node);
  return message;
}

v1::AgentMessage Outcome(std::uint64_t probe) {
  v1::AgentMessage message;
  message.mutable_probe_outcome()->set_probe_id(probe);
  return message;
}

TEST(Link, CarriesMessagesBothWaysInOrder) {
  Controller controller([](Controller::Stream& stream) {
    v1::AgentMessage message;
    stream.Read(&message);
    v1::ControllerMessage welcome;
    welcome.mutable_welcome()->set_controller_version(message.hello().node().name());
    stream.Write(welcome);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 1; i <= 100 && stream.Read(&message); ++i)
      if (message.probe_outcome().probe_id() == i) sum += i;
    v1::ControllerMessage answer;
    answer.mutable_probe_stop()->set_probe_id(sum);
    stream.Write(answer);
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  events.connected.Next();
  link.Send(Hello("n1"));
  EXPECT_EQ(events.messages.Next().welcome().controller_version(), "n1");
  for (std::uint64_t i = 1; i <= 100; ++i) link.Send(Outcome(i));
  EXPECT_EQ(events.messages.Next().probe_stop().probe_id(), 5050u);
  EXPECT_EQ(events.disconnected.Next().message(), "the controller closed the stream");
  EXPECT_EQ(link.dropped(), 0u);
}

TEST(Link, NothingIsSentBeforeHello) {
  Waiting<v1::AgentMessage> seen;
  Controller controller([&](Controller::Stream& stream) {
    v1::AgentMessage message;
    while (stream.Read(&message)) seen.Put(message);
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  link.Send(Outcome(7));  // Of the last stream
  link.Send(Hello("n1"));
  EXPECT_TRUE(seen.Next().has_hello());
}

TEST(Link, ARefusalComesWithTheControllersWords) {
  Controller controller([](Controller::Stream& stream) {
    v1::AgentMessage message;
    stream.Read(&message);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "hello without a node name");
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  link.Send(Hello(""));
  EXPECT_EQ(events.disconnected.Next(),
            Status(Code::kInvalidArgument, "hello without a node name"));
}

TEST(Link, AControllerThatIsNotThereIsSaidOnceForEachDialAndCanBeDialledAgain) {
  std::string address;
  {
    Controller gone([](Controller::Stream&) { return grpc::Status::OK; });
    address = gone.address();
  }
  Events events;
  Link link({.controllers = {address}}, events);
  for (int dial = 0; dial < 3; ++dial) {
    link.Dial();
    link.Send(Hello("n1"));
    const Status why = events.disconnected.Next();
    EXPECT_EQ(why.code(), Code::kUnavailable);
    EXPECT_EQ(why.message(), "connection refused");
  }
}

TEST(Link, HangingUpEndsTheStreamAndANewOneCanBeDialled) {
  Controller controller([](Controller::Stream& stream) {
    v1::AgentMessage message;
    v1::ControllerMessage welcome;
    welcome.mutable_welcome();
    while (stream.Read(&message)) stream.Write(welcome);
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  for (int dial = 0; dial < 3; ++dial) {
    link.Dial();
    link.Send(Hello("n1"));
    events.messages.Next();
    link.HangUp();
    EXPECT_EQ(events.disconnected.Next().code(), Code::kCancelled);
  }
}

TEST(Link, DestroyingItWhileConnectedEndsTheStream) {
  Waiting<bool> ended;
  Controller controller([&](Controller::Stream& stream) {
    v1::AgentMessage message;
    v1::ControllerMessage welcome;
    welcome.mutable_welcome();
    while (stream.Read(&message)) stream.Write(welcome);
    ended.Put(true);
    return grpc::Status::OK;
  });
  Events events;
  {
    Link link({.controllers = {controller.address()}}, events);
    link.Dial();
    link.Send(Hello("n1"));
    events.messages.Next();
  }
  EXPECT_TRUE(ended.Next());
  EXPECT_EQ(events.disconnected.Next().code(), Code::kCancelled);
}

TEST(Link, AControllerThatDoesNotReadFillsTheBoundedQueue) {
  Waiting<bool> done;
  Controller controller([&](Controller::Stream& stream) {
    v1::AgentMessage message;
    stream.Read(&message);
    done.Next();
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  link.Send(Hello("n1"));
  v1::AgentMessage large = Outcome(1);
  large.mutable_probe_outcome()->mutable_result()->set_reason(std::string(1 << 20, 'x'));
  for (int i = 0; i < 300; ++i) link.Send(large);
  v1::AgentMessage change;
  change.mutable_change();
  link.Send(change);
  EXPECT_GT(link.dropped(), 0u);
  EXPECT_FALSE(link.Idle());
  done.Put(true);
}

TEST(Link, TellsWhenASnapshotHasLeft) {
  Controller controller([](Controller::Stream& stream) {
    v1::AgentMessage message;
    while (stream.Read(&message)) continue;
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  events.connected.Next();
  link.Send(Hello("n1"));
  v1::AgentMessage message;
  message.mutable_snapshot()->mutable_node()->set_name("n1");
  link.Send(message);
  EXPECT_TRUE(events.idle.Next());
  EXPECT_TRUE(link.Idle());
}

TEST(Link, AMessageBeyondABoundEndsTheStreamWithTheReason) {
  Controller controller([](Controller::Stream& stream) {
    v1::ControllerMessage bomb;  // 2 bytes for each port on the wire
    for (int n = 0; n < 100'000; ++n) bomb.mutable_mesh_assignment()->add_ports();
    stream.Write(bomb);
    v1::AgentMessage message;
    while (stream.Read(&message)) {
    }
    return grpc::Status::OK;
  });
  Events events;
  Link link({.controllers = {controller.address()}}, events);
  link.Dial();
  const Status why = events.disconnected.Next();
  EXPECT_EQ(why.code(), Code::kResourceExhausted);
  EXPECT_EQ(why.message(),
            "message of the controller: MeshAssignment.ports: expected at most 256 elements, saw "
            "257");
}

}  // namespace
}  // namespace fabric::agent
