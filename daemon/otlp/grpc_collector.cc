#include "daemon/otlp/grpc_collector.h"

#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/text.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/handshake.h"

namespace fabric::otlp {
namespace {

constexpr std::size_t kHeadersBytesMax = 16 << 10;
constexpr int kAnswerBytesMax = 1 << 20;
constexpr int kReconnectMs = 1'000;  // The exporter has pauses of its own.
constexpr Duration kExplainPatience = std::chrono::seconds(1);

}  // namespace

Result<Headers> ReadHeaders(const std::string& path) {
  RETURN_IF_ERROR(CheckPrivate(path, "a file of headers"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kHeadersBytesMax));
  return ParseHeaders(text, path);
}

Answer GrpcCollector::Export(const MetricsRequest& request) {
  opentelemetry::proto::collector::metrics::v1::ExportMetricsServiceResponse response;
  Answer answer =
      Call("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", request, response);
  if (answer.outcome != Outcome::kOk) return answer;
  return AnswerOfSuccess(response.partial_success().rejected_data_points(),
                         response.partial_success().error_message());
}

Answer GrpcCollector::Export(const LogsRequest& request) {
  opentelemetry::proto::collector::logs::v1::ExportLogsServiceResponse response;
  Answer answer =
      Call("/opentelemetry.proto.collector.logs.v1.LogsService/Export", request, response);
  if (answer.outcome != Outcome::kOk) return answer;
  return AnswerOfSuccess(response.partial_success().rejected_log_records(),
                         response.partial_success().error_message());
}

template <class Request, class Response>
Answer GrpcCollector::Call(const char* path, const Request& request, Response& response) {
  grpc::ClientContext context;
  if (!options_.headers_file.empty()) {
    const auto headers = ReadHeaders(options_.headers_file);
    if (!headers.ok())
      return {.outcome = Outcome::kRetry, .reason = headers.status().In("otlp-headers").message()};
    for (const auto& [name, value] : *headers) context.AddMetadata(name, value);
  }
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_nanos(options_.patience.count(), GPR_TIMESPAN)));
  grpc::ChannelInterface& channel = Channel();
  {
    const MutexLock lock(mutex_);
    if (cancelled_) return {.outcome = Outcome::kRetry, .reason = "fabricd is stopping"};
    call_ = &context;
  }
  const grpc::internal::RpcMethod method(path, grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall(&channel, method, &context, request, &response);
  {
    const MutexLock lock(mutex_);
    call_ = nullptr;
  }
  if (status.ok()) return {};
  const bool unreachable = status.error_code() == grpc::StatusCode::UNAVAILABLE;
  return AnswerOfFailure(status.error_code(),
                         unreachable ? Explain(status.error_message()) : status.error_message(),
                         status.error_details());
}

void GrpcCollector::Cancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->TryCancel();
}

// New TLS files have a new channel.
grpc::ChannelInterface& GrpcCollector::Channel() {
  const std::uint64_t version = options_.tls == nullptr ? 1 : options_.tls->version();
  if (version == tls_version_) return *channel_;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  if (options_.gzip) arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  channel_ = grpc::CreateCustomChannel(ToString(options_.endpoint),
                                       options_.tls == nullptr
                                           ? grpc::InsecureChannelCredentials()
                                           : tls::MakeChannelCredentials(options_.tls->material()),
                                       arguments);
  tls_version_ = version;
  return *channel_;
}

// gRPC hides why TLS fails.
std::string GrpcCollector::Explain(const std::string& message) const {
  if (options_.tls == nullptr) {
    if (tls::ExplainFailure(options_.endpoint, nullptr, kExplainPatience).ok()) return message;
    return Format(
        "expected a server without TLS at {}, saw TLS: set otlp-ca instead of otlp-tls: off",
        ToString(options_.endpoint));
  }
  const tls::TlsMaterial material = options_.tls->material();
  const Status tls = tls::ExplainFailure(options_.endpoint, &material, kExplainPatience);
  return tls.ok() ? message : tls.message();
}

}  // namespace fabric::otlp
