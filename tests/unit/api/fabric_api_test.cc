// The API from its handlers to the wire, over a real controller.
#include "daemon/api/fabric_api.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "daemon/api/access_handlers.h"
#include "daemon/api/rest/rest_text.h"
#include "daemon/control/handlers/handler.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "proto/fabric_service.h"
#include "proto/json.h"
#include "tests/testing/nodes.h"
#include "tests/testing/raw_client.h"
#include "tests/unit/api/controller_world.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using ::testing::HasSubstr;
using testing::HttpBody;
using testing::HttpExchange;
using testing::HttpGet;
using ::testing::StartsWith;

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// One agent that speaks the stream's protocol by hand.
class TestAgent {
 public:
  explicit TestAgent(const std::string& controller)
      : stub_(v1::AgentLink::NewStub(
            grpc::CreateChannel(controller, grpc::InsecureChannelCredentials()))),
        stream_(stub_->Connect(&context_)) {}

  // Says hello, waits for the welcome, and reports.
  void Report(const v1::NodeSnapshot& snapshot) {
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = snapshot.node();
    stream_->Write(hello);
    v1::ControllerMessage answer;
    ASSERT_TRUE(stream_->Read(&answer)) << stream_->Finish().error_message();
    EXPECT_TRUE(answer.has_welcome());
    v1::AgentMessage report;
    *report.mutable_snapshot() = snapshot;
    stream_->Write(report);
  }
  void Vanish() { context_.TryCancel(); }
  // Reads until the controller ends the stream.
  grpc::Status End() {
    v1::ControllerMessage ignored;
    while (stream_->Read(&ignored)) continue;
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentLink::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
};

class FabricApiTest : public ::testing::Test {
 protected:
  FabricApiTest()
      : stub_(v1::Fabric::NewStub(
            grpc::CreateChannel(world_.grpc_address(), grpc::InsecureChannelCredentials()))) {}

  v1::GetNodeResponse Node(const std::string& name) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    stub_->GetNode(&context, request, &response);
    return response;
  }
  // Asks until the node is in this state with a whole snapshot; ctest ends what never comes.
  v1::GetNodeResponse WaitFor(const std::string& name, v1::NodeState state) {
    for (;;) {
      const v1::GetNodeResponse node = Node(name);
      if (node.summary().state() == state && node.snapshot().rdma_devices_size() > 0) return node;
      std::this_thread::yield();
    }
  }

  // The answer as JSON, or the error as REST says it.
  std::string OverGrpc(const MethodDescriptor& method, const Message& request) {
    grpc::GenericStub stub(
        grpc::CreateChannel(world_.grpc_address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const std::string text = request.SerializeAsString();
    const grpc::Slice slice(text);
    const auto call =
        stub.PrepareUnaryCall(&context, "/" + method.service()->full_name() + "/" + method.name(),
                              grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (!status.ok())
      return ErrorJson({static_cast<Code>(status.error_code()), status.error_message()});
    grpc::Slice whole;
    EXPECT_TRUE(answer.DumpToSingleSlice(&whole).ok());
    const auto message = NewMessage(method.output_type());
    EXPECT_TRUE(message->ParseFromArray(whole.begin(), static_cast<int>(whole.size())));
    return ToJson(*message, false);
  }

  std::string OverRest(const Route& route, std::string path) {
    for (const std::string_view field : {"{name}", "{id}"})
      if (const std::size_t at = path.find(field); at != path.npos)
        path.replace(at, field.size(), "n1");
    std::string answer = HttpBody(
        HttpExchange(world_.rest_port(), route.verb + " " + path +
                                             " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                                             "Connection: close\r\n\r\n"));
    if (answer.ends_with('\n')) answer.pop_back();
    return answer;
  }

  testing::ControllerWorld world_;
  std::unique_ptr<v1::Fabric::Stub> stub_;
};

TEST(Handlers, ThereIsOneForEveryUnaryRpcAndNoOther) {
  std::set<const google::protobuf::Descriptor*> requests;
  std::vector<const MethodDescriptor*> methods;
  for (const auto* const service : {&FabricService(), &NodeJoinService()})
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  for (const MethodDescriptor* const one : methods) {
    const MethodDescriptor& method = *one;
    EXPECT_TRUE(requests.insert(method.input_type()).second)
        << method.name() << ": the type of its request names the rpc, so no other may have it";
    // daemon/reloader.h
    if (method.input_type() == v1::ReloadRequest::descriptor() ||
        method.input_type() == v1::ApplyProfileRequest::descriptor() ||
        method.input_type() == v1::GetSettingsRequest::descriptor())
      continue;
    if (const AccessHandler* const access = FindAccessHandler(*method.input_type())) {
      EXPECT_EQ(access->response(), method.output_type()) << method.name();
      EXPECT_EQ(control::FindHandler(*method.input_type()), nullptr) << method.name();
      continue;
    }
    const control::Handler* const handler = control::FindHandler(*method.input_type());
    EXPECT_EQ(handler == nullptr, method.server_streaming()) << method.name();
    if (handler == nullptr) continue;
    EXPECT_EQ(handler->response(), method.output_type()) << method.name();
  }
  for (const auto room :
       {control::NodeHandlers(), control::FindingHandlers(), control::ProbeHandlers()})
    for (const control::Handler& handler : room)
      EXPECT_EQ(requests.erase(handler.request()), 1u) << handler.request()->name();
  for (const AccessHandler& handler : AccessHandlers())
    EXPECT_EQ(requests.erase(handler.request()), 1u) << handler.request()->name();
}

TEST_F(FabricApiTest, EveryRpcSaysTheSameOverGrpcAndRest) {
  TestAgent agent(world_.grpc_address());
  agent.Report(testing::RoceNode({.number = 1}));
  WaitFor("n1", v1::NODE_STATE_CONNECTED);
  const auto routes = RoutesOf(FabricService());
  ASSERT_TRUE(routes.ok());
  for (const Route& route : *routes) {
    // A second backup in the same second has the name of the first one. Calls about the audit log
    // are in the audit log.
    const std::string& name = route.method->name();
    if (route.method->server_streaming() || name == "CreateBackup" || name == "VerifyAuditLog" ||
        name == "ListAuditEntries")
      continue;
    const auto request = NewMessage(route.method->input_type());
    for (const char* key : {"name", "id"})
      if (const auto* const field = request->GetDescriptor()->FindFieldByName(key))
        request->GetReflection()->SetString(request.get(), field, "n1");
    EXPECT_EQ(OverGrpc(*route.method, *request), OverRest(route, route.path))
        << route.method->name();
  }
}

TEST_F(FabricApiTest, WhatAnAgentReportsIsThere) {
  TestAgent agent(world_.grpc_address());
  const v1::NodeSnapshot snapshot = testing::RoceNode({.number = 1});
  agent.Report(snapshot);
  const v1::GetNodeResponse node = WaitFor("n1", v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(node.snapshot().rdma_devices_size(), snapshot.rdma_devices_size());
  EXPECT_EQ(node.summary().ports(), 2u);
  EXPECT_THAT(HttpGet(world_.rest_port(), "/v1/nodes/n2"), HasSubstr("did you mean"));
}

TEST_F(FabricApiTest, ASecondConnectionOfANodeReplacesTheFirst) {
  TestAgent first(world_.grpc_address());
  first.Report(testing::RoceNode({.number = 1}));
  WaitFor("n1", v1::NODE_STATE_CONNECTED);
  TestAgent second(world_.grpc_address());
  second.Report(testing::RoceNode({.number = 1}));
  EXPECT_FALSE(first.End().ok());
  WaitFor("n1", v1::NODE_STATE_CONNECTED);
}

TEST_F(FabricApiTest, AnAgentThatVanishesIsALostNode) {
  TestAgent agent(world_.grpc_address());
  agent.Report(testing::RoceNode({.number = 1}));
  WaitFor("n1", v1::NODE_STATE_CONNECTED);
  agent.Vanish();
  EXPECT_FALSE(WaitFor("n1", v1::NODE_STATE_LOST).summary().lost_reason().empty());
}

TEST_F(FabricApiTest, AnAgentThatDoesNotGreetIsTurnedAway) {
  grpc::ClientContext context;
  const auto stub = v1::AgentLink::NewStub(
      grpc::CreateChannel(world_.grpc_address(), grpc::InsecureChannelCredentials()));
  const auto stream = stub->Connect(&context);
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_sequence(1);
  stream->Write(heartbeat);
  v1::ControllerMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_THAT(stream->Finish().error_message(), HasSubstr("expected hello"));
}

TEST_F(FabricApiTest, CallsAreCounted) {
  Node("nobody");
  HttpGet(world_.rest_port(), "/v1/nodes");
  const std::string metrics = HttpGet(world_.rest_port(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("fabric_api_requests_total{method=\"GetNode\",transport=\"grpc\","
                                 "code=\"NOT_FOUND\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("fabric_api_requests_total{method=\"ListNodes\",transport="
                                 "\"rest\",code=\"OK\"} 1\n"));
}

}  // namespace
}  // namespace fabric::api
