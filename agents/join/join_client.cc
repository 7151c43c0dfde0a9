#include "agents/join/join_client.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "base/text.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/handshake.h"
#include "base/wrong_port.h"
#include "fabric/v1/join.grpc.pb.h"

namespace fabric::agent {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);
constexpr Duration kExplainPatience = std::chrono::seconds(1);
constexpr int kMessageBytesMax = 1 << 20;

template <class Response, class Request>
using Method = grpc::Status (v1::NodeJoin::Stub::*)(grpc::ClientContext*, const Request&,
                                                    Response*);

// `material`: null if the controller is not verified.
template <class Response, class Request>
Result<Response> Call(const HostPort& controller, const tls::TlsMaterial* material,
                      Method<Response, Request> method, const Request& request) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  // Messages are not compressed: decompression has no limit of memory.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  const auto stub = v1::NodeJoin::NewStub(
      grpc::CreateCustomChannel(ToString(controller),
                                material == nullptr ? tls::MakeUnverifiedCredentials()
                                                    : tls::MakeChannelCredentials(*material),
                                arguments));
  grpc::ClientContext context;
  gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_seconds(kDeadline.count(), GPR_TIMESPAN));
  context.set_deadline(deadline);
  Response response;
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (status.ok()) return response;
  const std::string& message = status.error_message();
  const Status why(static_cast<Code>(status.error_code()),
                   IsConnectionFailure(message)
                       ? Format("cannot reach the controller at {}: {}", ToString(controller),
                                ConnectionCause(message))
                       : message);
  if (why.code() != Code::kUnavailable || material == nullptr) return why;
  // gRPC hides why a TLS connection fails.
  const Status tls = tls::ExplainFailure(controller, material, kExplainPatience);
  return tls.ok() ? why : tls;
}

// The first answer; the last error if no controller answers.
template <class Response, class Request>
Result<Response> CallOne(const std::vector<HostPort>& controllers, const tls::TlsMaterial* material,
                         Method<Response, Request> method, const Request& request) {
  Result<Response> answer = Status(Code::kUnavailable, "no controller");
  for (const HostPort& controller : controllers) {
    answer = Call<Response, Request>(controller, material, method, request);
    if (answer.ok() || answer.status().code() != Code::kUnavailable) break;
  }
  return answer;
}

}  // namespace

Result<v1::Authority> JoinClient::GetAuthority() {
  return CallOne<v1::Authority, v1::GetAuthorityRequest>(
      controllers_, nullptr, &v1::NodeJoin::Stub::GetAuthority, v1::GetAuthorityRequest());
}

Result<v1::JoinNodeResponse> JoinClient::Join(const tls::TlsMaterial& material,
                                              const v1::JoinNodeRequest& request) {
  return CallOne<v1::JoinNodeResponse, v1::JoinNodeRequest>(controllers_, &material,
                                                            &v1::NodeJoin::Stub::Join, request);
}

Result<v1::JoinNodeResponse> JoinClient::Renew(const tls::TlsMaterial& material,
                                               const v1::RenewNodeRequest& request) {
  return CallOne<v1::JoinNodeResponse, v1::RenewNodeRequest>(controllers_, &material,
                                                             &v1::NodeJoin::Stub::Renew, request);
}

}  // namespace fabric::agent
