#include "daemon/api/grpc_front.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <vector>

#include "base/mutex.h"
#include "daemon/api/agent_front.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "proto/kept_events.h"

namespace fabric::api {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Status FakeApi(const CallContext& context, const google::protobuf::MethodDescriptor& method,
               const google::protobuf::Message& request, google::protobuf::Message& response) {
  // A test that a busy machine holds up for 10 s sees that its watchers are checked again.
  EXPECT_THAT(context.transport, AnyOf("grpc", kRecheck));
  EXPECT_THAT(context.caller.address, StartsWith("127.0.0.1:"));
  if (method.server_streaming()) return {};  // Watchers may watch.
  if (method.name() != "GetNode") return {Code::kFailedPrecondition, "only nodes here"};
  const auto& get = static_cast<const v1::GetNodeRequest&>(request);
  static_cast<v1::GetNodeResponse&>(response).mutable_summary()->set_name(get.name());
  return {};
}

v1::Event PortEvent(const std::string& node) {
  v1::Event event;
  event.mutable_port()->set_node(node);
  return event;
}

auto ChannelTo(const GrpcFront& front) {
  return grpc::CreateChannel(ToString(front.address()), grpc::InsecureChannelCredentials());
}

class GrpcFrontTest : public ::testing::Test {
 protected:
  GrpcFrontTest() {
    agents_.SetListener(
        {.admit = [](const access::Caller&, const std::string*) { return Status(); },
         .on_message = [](SessionId, const v1::AgentMessage&) { return Status(); },
         .on_gone = [](SessionId, const std::string&) {}});
    auto front = GrpcFront::Listen({"127.0.0.1", 0}, FakeApi, bus_, watchers_, agents_);
    EXPECT_TRUE(front.ok()) << front.status().message();
    front_ = *std::move(front);
    stub_ = v1::Fabric::NewStub(ChannelTo(*front_));
  }

  control::EventBus bus_;
  PeerSlots watchers_{"event watchers", {.total = 3, .per_peer = 2}};
  AgentFront agents_;
  std::unique_ptr<GrpcFront> front_;
  std::unique_ptr<v1::Fabric::Stub> stub_;
};

// The status of HealthCheckResponse (grpc.health.v1) for the whole server, as field 1 in bytes.
std::string HealthOf(grpc::GenericStub stub) {
  grpc::ClientContext context;
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  if (!status.ok()) return status.error_message();
  grpc::Slice bytes;
  EXPECT_TRUE(response.DumpToSingleSlice(&bytes).ok());
  return {bytes.begin(), bytes.end()};
}

TEST_F(GrpcFrontTest, TheHealthServiceAnswersWithReadiness) {
  EXPECT_EQ(HealthOf(grpc::GenericStub(ChannelTo(*front_))), "\x08\x02") << "NOT_SERVING";
  front_->SetServing(true);
  EXPECT_EQ(HealthOf(grpc::GenericStub(ChannelTo(*front_))), "\x08\x01");
}

TEST_F(GrpcFrontTest, UnaryCallsGoByDescriptor) {
  grpc::ClientContext context;
  v1::GetNodeRequest request;
  request.set_name("n1");
  v1::GetNodeResponse response;
  const grpc::Status status = stub_->GetNode(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.summary().name(), "n1");
}

// A service that answers only after Open().
class SlowApi {
 public:
  CallFunction function() {
    return [this](const CallContext&, const google::protobuf::MethodDescriptor&,
                  const google::protobuf::Message&, google::protobuf::Message&) {
      MutexLock lock(mutex_);
      ++begun_;
      changed_.notify_all();
      changed_.wait(lock, [&]() REQUIRES(mutex_) { return open_; });
      return Status();
    };
  }
  void WaitForCalls(int calls) {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return begun_ >= calls; });
  }
  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int begun() {
    const MutexLock lock(mutex_);
    return begun_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ GUARDED_BY(mutex_) = false;
  int begun_ GUARDED_BY(mutex_) = 0;
};

TEST_F(GrpcFrontTest, CallsThatNoCallerAwaitsDoNoWork) {
  constexpr int kThreads = 4;  // Of the service
  SlowApi api;
  auto front = *GrpcFront::Listen({"127.0.0.1", 0}, api.function(), bus_, watchers_, agents_);
  const auto channel = ChannelTo(*front);
  const auto stub = v1::Fabric::NewStub(channel);
  const auto call = [&](grpc::ClientContext& context) {
    v1::ListNodesResponse response;
    return stub->ListNodes(&context, {}, &response).error_code();
  };
  std::vector<std::future<grpc::StatusCode>> busy;
  for (int i = 0; i < kThreads; ++i)
    busy.push_back(std::async(std::launch::async, [&] {
      grpc::ClientContext context;
      return call(context);
    }));
  api.WaitForCalls(kThreads);
  const auto call_with_deadline = [&] {
    grpc::ClientContext context;
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(200, GPR_TIMESPAN)));
    return call(context);
  };
  grpc::ClientContext cancelled, last;
  auto second = std::async(std::launch::async, [&] { return call(cancelled); });
  EXPECT_EQ(call_with_deadline(), grpc::StatusCode::DEADLINE_EXCEEDED);
  cancelled.TryCancel();
  EXPECT_EQ(second.get(), grpc::StatusCode::CANCELLED);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(call_with_deadline(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // No thread of the service is needed for this. The server reads it after the cancellations.
  EXPECT_EQ(HealthOf(grpc::GenericStub(channel)), "\x08\x02");
  auto third = std::async(std::launch::async, [&] { return call(last); });
  api.Open();
  for (auto& one : busy) EXPECT_EQ(one.get(), grpc::StatusCode::OK);
  EXPECT_EQ(third.get(), grpc::StatusCode::OK);
  front.reset();  // Waits for all calls
  // The last deadline may pass later for the server, which counts from the arrival of the call.
  EXPECT_GE(api.begun(), kThreads + 1);
  EXPECT_LE(api.begun(), kThreads + 2);
}

TEST_F(GrpcFrontTest, FailuresKeepTheirCodeAndMessage) {
  grpc::ClientContext context;
  v1::ListNodesResponse response;
  const grpc::Status status = stub_->ListNodes(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "only nodes here");
}

TEST_F(GrpcFrontTest, EventsFlowAndResume) {
  bus_.Publish(PortEvent("n1"));
  bus_.Publish(PortEvent("n2"));
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_after_sequence(1);
  const auto reader = stub_->WatchEvents(&context, request);
  v1::Event event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.sequence(), 2u);
  bus_.Publish(PortEvent("n3"));
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.port().node(), "n3");
  context.TryCancel();
  EXPECT_FALSE(reader->Read(&event));
}

TEST_F(GrpcFrontTest, AWatcherThatDoesNotReadIsShownAGapAndCostsNothing) {
  grpc::ClientContext context;
  const auto reader = stub_->WatchEvents(&context, {});
  reader->WaitForInitialMetadata();
  const v1::Event big = PortEvent(std::string(4000, 'x'));
  for (int i = 0; i < 20'000; ++i) bus_.Publish(big);
  EXPECT_LE(bus_.kept_bytes(), 32u << 20);
  v1::Event event;
  int events = 0;
  std::uint64_t missed = 0;
  while (event.sequence() < 20'000 && reader->Read(&event)) {
    if (event.has_gap())
      missed += event.gap().missed();
    else
      ++events;
  }
  EXPECT_GT(missed, 0u);
  EXPECT_EQ(events + static_cast<int>(missed), 20'000);
}

TEST_F(GrpcFrontTest, WatchersOfAPeerAreLimited) {
  grpc::ClientContext contexts[3];
  const auto first = stub_->WatchEvents(&contexts[0], {});
  first->WaitForInitialMetadata();
  const auto second = stub_->WatchEvents(&contexts[1], {});
  second->WaitForInitialMetadata();
  const auto third = stub_->WatchEvents(&contexts[2], {});
  const grpc::Status refused = third->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "too many event watchers from 127.0.0.1: expected at most 2");
}

// More events than one look of the bus.
TEST_F(GrpcFrontTest, AWatcherIsSentTheEventsOfItsFilter) {
  for (int i = 0; i < 2500; ++i) bus_.Publish(PortEvent("n1"));
  bus_.Publish(PortEvent("n2"));
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_after_sequence(1);
  request.set_filter("port.node=n2");
  const auto reader = stub_->WatchEvents(&context, request);
  v1::Event event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.sequence(), 2501u);
  context.TryCancel();
}

// As fabricctl events without --watch asks.
TEST_F(GrpcFrontTest, AListOfEventsEndsAfterTheNewestOne) {
  for (int i = 0; i < 2500; ++i) bus_.Publish(PortEvent("n1"));
  for (const auto& [filter, expected] :
       {std::pair("port.node=n1", 2499), std::pair("port.node=n2", 0)}) {
    grpc::ClientContext context;
    context.AddMetadata(kEventsKey, kKeptEvents);
    v1::WatchEventsRequest request;
    request.set_after_sequence(1);
    request.set_filter(filter);
    const auto reader = stub_->WatchEvents(&context, request);
    reader->WaitForInitialMetadata();
    EXPECT_EQ(context.GetServerInitialMetadata().count(kEventsKey), 1u);
    v1::Event event;
    int events = 0;
    while (reader->Read(&event)) ++events;
    EXPECT_EQ(events, expected);
    EXPECT_TRUE(reader->Finish().ok());
  }
  grpc::StatusCode refused = grpc::StatusCode::RESOURCE_EXHAUSTED;
  while (refused == grpc::StatusCode::RESOURCE_EXHAUSTED) {  // Until the lists above have their end
    grpc::ClientContext context;
    context.AddMetadata(kEventsKey, kKeptEvents);
    v1::WatchEventsRequest request;
    request.set_filter("kind");
    const auto reader = stub_->WatchEvents(&context, request);
    reader->WaitForInitialMetadata();
    EXPECT_EQ(context.GetServerInitialMetadata().count(kEventsKey), 1u) << "a refused list, too";
    refused = reader->Finish().error_code();
  }
  EXPECT_EQ(refused, grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcFrontTest, AnInvalidFilterIsRefused) {
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_filter("kind");
  const grpc::Status refused = stub_->WatchEvents(&context, request)->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("filter: 'kind': expected FIELD=VALUE"));
}

TEST_F(GrpcFrontTest, AnInvalidCursorIsRefused) {
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_after_cursor("yesterday");
  const grpc::Status refused = stub_->WatchEvents(&context, request)->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("after_cursor: expected the cursor"));
}

TEST_F(GrpcFrontTest, StopsWithWatchersConnected) {
  grpc::ClientContext context;
  const auto reader = stub_->WatchEvents(&context, {});
  reader->WaitForInitialMetadata();
  front_->Stop();
  v1::Event event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcFrontTest, APortInUseIsNamed) {
  AgentFront other;
  const auto second = GrpcFront::Listen(front_->address(), FakeApi, bus_, watchers_, other);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            "cannot listen on " + ToString(front_->address()) + ": Address already in use");
}

}  // namespace
}  // namespace fabric::api
