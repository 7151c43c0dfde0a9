#include "ctl/client.h"

#include <google/protobuf/descriptor.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "base/text.h"
#include "fabric/v1/fabric.grpc.pb.h"

namespace fabric::ctl {
namespace {

// Lists come in pages of 4 MiB. The largest answer is that of a node with a large snapshot.
constexpr int kMessageBytesMax = 64 << 20;

std::string TimeText(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? Format("{} s", ms / 1000) : Format("{} ms", ms);
}

// The last part of a gRPC message such as "failed to connect to all addresses; last error: UNKNOWN:
// ipv4:127.0.0.1:9: Failed to connect to remote host: Connection refused".
std::string Cause(const std::string& message) {
  const std::size_t colon = message.rfind(": ");
  std::string cause = colon == std::string::npos ? message : message.substr(colon + 2);
  if (cause.size() > 1 && std::islower(static_cast<unsigned char>(cause[1])) != 0)
    cause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(cause[0])));
  return cause.empty() ? "no reason given" : cause;
}

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const ClientOptions& options)
      : options_(options),
        channel_(MakeChannel(options.controller)),
        generic_(channel_),
        stub_(v1::Fabric::NewStub(channel_)) {}

  Status WatchEvents(const v1::WatchEventsRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    // A stream has no deadline of its own, so a cheap call checks the connection first.
    RETURN_IF_ERROR(Call<v1::GetVersionResponse>(v1::GetVersionRequest()).status());
    grpc::ClientContext context;
    Authorize(context);
    const auto reader = stub_->WatchEvents(&context, request);
    v1::Event event;
    while (reader->Read(&event)) {
      if (on_event(event)) continue;
      context.TryCancel();
      (void)reader->Finish();
      return {};
    }
    const grpc::Status status = reader->Finish();
    if (status.ok())
      return {Code::kUnavailable,
              Format("the controller at {} ended the stream of events", options_.controller)};
    return Convert(status);
  }

 private:
  using Channel = decltype(grpc::CreateChannel({}, nullptr));  // gRPC's own counted pointer.

  static Channel MakeChannel(const std::string& controller) {
    // Every failure is reported by status; gRPC's own log lines would only disturb the output.
    gpr_set_log_function([](gpr_log_func_args*) {});
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
    // The controller is a machine of the cluster, which a web proxy cannot reach.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Detects a lost controller while the stream is idle.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    return grpc::CreateCustomChannel(controller, grpc::InsecureChannelCredentials(), arguments);
  }

  Status CallMethod(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    grpc::ClientContext context;
    Authorize(context);
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_nanos(options_.timeout.count(), GPR_TIMESPAN)));
    const grpc::Slice text(request.SerializeAsString());
    const grpc::ByteBuffer message(&text, 1);
    grpc::ByteBuffer answer;
    grpc::Status status;
    grpc::CompletionQueue done;
    const auto call = generic_.PrepareUnaryCall(
        &context, Format("/{}/{}", method.service()->full_name(), method.name()), message, &done);
    call->StartCall();
    call->Finish(&answer, &status, this);
    void* tag = nullptr;
    bool ok = false;
    done.Next(&tag, &ok);
    if (!status.ok()) return Convert(status);
    grpc::ProtoBufferReader reader(&answer);
    if (!response.ParseFromZeroCopyStream(&reader))
      return {Code::kInternal,
              Format("the controller at {} sent a malformed answer", options_.controller)};
    return {};
  }

 private:
  void Authorize(grpc::ClientContext& context) const {
    if (!options_.token.empty()) context.AddMetadata("authorization", "Bearer " + options_.token);
  }

  Status Convert(const grpc::Status& status) const {
    const auto code = static_cast<Code>(status.error_code());
    if (code == Code::kUnavailable)
      return {code, Format("cannot reach the controller at {}: {}", options_.controller,
                           Cause(status.error_message()))};
    if (code == Code::kDeadlineExceeded)
      return {code, Format("cannot reach the controller at {}: no answer within {}",
                           options_.controller, TimeText(options_.timeout))};
    if (code == Code::kUnimplemented)
      return {code, Format("the server at {} is not a compatible fabricd: {}", options_.controller,
                           status.error_message())};
    if (status.error_message().empty())
      return {code,
              Format("the controller at {} answered {}", options_.controller, CodeName(code))};
    return {code, status.error_message()};
  }

  const ClientOptions options_;
  const Channel channel_;
  grpc::GenericStub generic_;
  const std::unique_ptr<v1::Fabric::Stub> stub_;  // For the stream of events
};

}  // namespace

std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options) {
  return std::make_unique<GrpcClient>(options);
}

}  // namespace fabric::ctl
