#include "daemon/api/grpc_front.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "base/log.h"
#include "base/text.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_status.h"
#include "daemon/api/grpc_watch.h"
#include "daemon/api/listen_error.h"
#include "proto/fabric_service.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr int kReceiveBytesMax = 16 << 20;
constexpr int kPingIntervalMinMs = 10'000;  // Shortest that clients may use
constexpr int kKeepaliveMs = 10'000;        // To detect dead clients
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kStopMs = 300;

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// One unary call: read the request, answer, done.
class UnaryCall final : public grpc::ServerGenericBidiReactor {
 public:
  UnaryCall(const CallFunction& call, grpc::GenericCallbackServerContext& context)
      : call_(call), context_(context) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "expected a request, saw none"});
      return;
    }
    const MethodDescriptor* const method = FindMethod();
    if (method == nullptr) {
      Finish({grpc::StatusCode::UNIMPLEMENTED, "no method " + Quoted(context_.method())});
      return;
    }
    const auto request = NewMessage(method->input_type());
    const auto answer = NewMessage(method->output_type());
    grpc::Status status =
        grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&request_, request.get());
    if (status.ok()) {
      const std::string peer = context_.peer();
      status = ToGrpc(call_({.peer = peer, .transport = "grpc"}, *method, *request, *answer));
    }
    bool own_buffer = false;
    if (status.ok())
      status =
          grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(*answer, &answer_, &own_buffer);
    if (status.ok())
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    else
      Finish(status);
  }

  void OnDone() override { delete this; }

 private:
  // "/fabric.v1.Fabric/ListNodes"
  const MethodDescriptor* FindMethod() const {
    const std::string prefix = "/" + FabricService().full_name() + "/";
    const std::string& path = context_.method();
    if (!path.starts_with(prefix)) return nullptr;
    return FabricService().FindMethodByName(path.substr(prefix.size()));
  }

  const CallFunction& call_;
  grpc::GenericCallbackServerContext& context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

class UnaryService final : public grpc::CallbackGenericService {
 public:
  explicit UnaryService(CallFunction call) : call_(std::move(call)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new UnaryCall(call_, *context);
  }

 private:
  const CallFunction call_;
};

void WriteGrpcLog(gpr_log_func_args* line) {
  if (line->severity == GPR_LOG_SEVERITY_ERROR)
    log::Warning("grpc: {}", line->message);
  else
    log::Debug("grpc: {}", line->message);
}

}  // namespace

struct GrpcFront::Parts {
  Parts(CallFunction call, control::EventBus& events, AgentFront& agent_front)
      : agents(agent_front), unary(std::move(call)), watch(events) {}

  AgentFront& agents;
  UnaryService unary;
  WatchService watch;
  HostPort address;
  std::unique_ptr<grpc::Server> server;
};

void RedirectGrpcLog() {
  gpr_set_log_function(&WriteGrpcLog);
}

GrpcFront::GrpcFront(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GrpcFront::~GrpcFront() {
  Stop();
}
const HostPort& GrpcFront::address() const {
  return parts_->address;
}

Result<std::unique_ptr<GrpcFront>> GrpcFront::Listen(const HostPort& address, CallFunction call,
                                                     control::EventBus& events,
                                                     AgentFront& agents) {
  auto parts = std::make_unique<Parts>(std::move(call), events, agents);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(ToString(address), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&parts->watch);
  builder.RegisterService(&agents);
  builder.RegisterCallbackGenericService(&parts->unary);
  builder.SetMaxReceiveMessageSize(kReceiveBytesMax);
  // Two controllers on one port would share its connections without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kPingIntervalMinMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr || port == 0) {
    const Status why = CheckListen(address);
    if (!why.ok()) return why;
    return Status(Code::kUnavailable, "cannot listen on " + ToString(address));
  }
  parts->address = {address.host, static_cast<std::uint16_t>(port)};
  return std::unique_ptr<GrpcFront>(new GrpcFront(std::move(parts)));
}

void GrpcFront::Stop() {
  if (parts_->server == nullptr) return;
  parts_->agents.Stop({Code::kUnavailable, "the controller is stopping"});
  parts_->watch.Stop();
  parts_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(kStopMs, GPR_TIMESPAN)));
  parts_->server->Wait();
  parts_->watch.WaitUntilGone();
  parts_->agents.WaitUntilGone();
  parts_->server.reset();
}

}  // namespace fabric::api
