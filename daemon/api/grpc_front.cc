#include "daemon/api/grpc_front.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_reflection.h"
#include "daemon/api/grpc_tls.h"
#include "daemon/api/grpc_unary.h"
#include "daemon/api/grpc_watch.h"
#include "daemon/api/listen_error.h"
#include "proto/bounds.h"
#include "proto/fabric_service.h"

namespace fabric::api {
namespace {

// Above the bounds of agent_message_bytes and request_bytes, so that the error names the bound.
constexpr int kReceiveBytesMax = 8 << 20;
constexpr int kPingIntervalMinMs = 10'000;   // Shortest that clients may use
constexpr int kKeepaliveMs = 10'000;         // To detect dead clients
constexpr int kKeepaliveTimeoutMs = 20'000;  // Far above the longest turn of the controller
constexpr int kHandshakeMs = 10'000;
constexpr int kIdleMs = 300'000;  // Connections without a call
constexpr int kStopMs = 300;

void WriteGrpcLog(gpr_log_func_args* line) {
  if (line->severity == GPR_LOG_SEVERITY_ERROR)
    log::Warning("grpc: {}", line->message);
  else
    log::Debug("grpc: {}", line->message);
}

// Calls of the services that this server offers.
CallFunction Offered(CallFunction call, GrpcServices services) {
  if (services == GrpcServices::kAll) return call;
  return [call = std::move(call), for_agents = services == GrpcServices::kOfAgents](
             const CallContext& context, const google::protobuf::MethodDescriptor& method,
             auto&&... arguments) {
    if ((method.service() == &NodeJoinService()) == for_agents)
      return call(context, method, arguments...);
    return Status(Code::kUnimplemented,
                  for_agents
                      ? "this address is for agents; clients use that of the setting grpc"
                      : "this address is for clients; agents use that of the setting agents");
  };
}

}  // namespace

struct GrpcFront::Parts {
  Parts(const CallFunction& call, control::EventBus& events, PeerSlots& watchers,
        AgentFront* agent_front)
      : agents(agent_front), unary(call), watch(call, events, watchers) {}

  AgentFront* const agents;  // Null: not of this server
  UnaryService unary;
  WatchService watch;
  HostPort address;
  std::unique_ptr<grpc::Server> server;
};

void RedirectGrpcLog() {
  gpr_set_log_function(&WriteGrpcLog);
  // protobuf logs each text that is not UTF-8: an agent could flood the log. The session ends with
  // an error that says it once.
  google::protobuf::SetLogHandler(nullptr);
}

GrpcFront::GrpcFront(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GrpcFront::~GrpcFront() {
  Stop();
}
const HostPort& GrpcFront::address() const {
  return parts_->address;
}

Result<std::unique_ptr<GrpcFront>> GrpcFront::Listen(const HostPort& address, CallFunction call,
                                                     control::EventBus& events, PeerSlots& watchers,
                                                     AgentFront& agents, const GrpcTls* tls,
                                                     GrpcServices services) {
  call = Offered(std::move(call), services);
  auto parts = std::make_unique<Parts>(call, events, watchers,
                                       services == GrpcServices::kOfClients ? nullptr : &agents);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.experimental().SetInterceptorCreators(ReflectionGuards(std::move(call)));
  int port = 0;
  builder.AddListeningPort(ToString(address),
                           tls == nullptr ? grpc::InsecureServerCredentials() : tls->credentials(),
                           &port);
  if (services != GrpcServices::kOfAgents) builder.RegisterService(&parts->watch);
  if (parts->agents != nullptr) builder.RegisterService(parts->agents);
  builder.RegisterCallbackGenericService(&parts->unary);
  builder.SetMaxReceiveMessageSize(kReceiveBytesMax);
  // gRPC checks the size of a compressed message after it has decompressed it: 1 MB becomes 1 GB.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetResourceQuota(grpc::ResourceQuota("fabricd").Resize(Limit("grpc_memory")));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(Limit("streams_per_connection")));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
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
  std::unique_ptr<GrpcFront> front(new GrpcFront(std::move(parts)));
  front->SetServing(false);
  return front;
}

void GrpcFront::SetServing(bool serving) {
  parts_->server->GetHealthCheckService()->SetServingStatus(serving);
}

void GrpcFront::Stop() {
  if (parts_->server == nullptr) return;
  if (parts_->agents != nullptr)
    parts_->agents->Stop({Code::kUnavailable, "the controller is stopping"});
  parts_->watch.Stop();
  parts_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(kStopMs, GPR_TIMESPAN)));
  parts_->server->Wait();
  parts_->watch.WaitUntilGone();
  if (parts_->agents != nullptr) parts_->agents->WaitUntilGone();
  parts_->server.reset();
}

}  // namespace fabric::api
