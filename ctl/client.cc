#include "ctl/client.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "base/text.h"
#include "fabric/v1/fabric.grpc.pb.h"

namespace fabric::ctl {
namespace {

// A campaign of a thousand ports has about a million pair results.
constexpr int kMessageBytesMax = 512 << 20;

std::string TimeText(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? Format("{} s", ms / 1000) : Format("{} ms", ms);
}

// gRPC says "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: Failed to
// connect to remote host: Connection refused"; people need the end of it.
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
        stub_(v1::Fabric::NewStub(channel_)) {}

  Result<v1::GetVersionResponse> GetVersion(const v1::GetVersionRequest& request) override {
    return Call<v1::GetVersionResponse>(&v1::Fabric::Stub::GetVersion, request);
  }
  Result<v1::ListNodesResponse> ListNodes(const v1::ListNodesRequest& request) override {
    return Call<v1::ListNodesResponse>(&v1::Fabric::Stub::ListNodes, request);
  }
  Result<v1::GetNodeResponse> GetNode(const v1::GetNodeRequest& request) override {
    return Call<v1::GetNodeResponse>(&v1::Fabric::Stub::GetNode, request);
  }
  Result<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) override {
    return Call<v1::ListDevicesResponse>(&v1::Fabric::Stub::ListDevices, request);
  }
  Result<v1::ListFindingsResponse> ListFindings(const v1::ListFindingsRequest& request) override {
    return Call<v1::ListFindingsResponse>(&v1::Fabric::Stub::ListFindings, request);
  }
  Result<v1::GetFindingResponse> GetFinding(const v1::GetFindingRequest& request) override {
    return Call<v1::GetFindingResponse>(&v1::Fabric::Stub::GetFinding, request);
  }
  Result<v1::Finding> AcknowledgeFinding(const v1::AcknowledgeFindingRequest& request) override {
    return Call<v1::Finding>(&v1::Fabric::Stub::AcknowledgeFinding, request);
  }
  Result<v1::Silence> CreateSilence(const v1::CreateSilenceRequest& request) override {
    return Call<v1::Silence>(&v1::Fabric::Stub::CreateSilence, request);
  }
  Result<v1::ListSilencesResponse> ListSilences(const v1::ListSilencesRequest& request) override {
    return Call<v1::ListSilencesResponse>(&v1::Fabric::Stub::ListSilences, request);
  }
  Result<v1::Silence> DeleteSilence(const v1::DeleteSilenceRequest& request) override {
    return Call<v1::Silence>(&v1::Fabric::Stub::DeleteSilence, request);
  }
  Result<v1::ListRulesResponse> ListRules(const v1::ListRulesRequest& request) override {
    return Call<v1::ListRulesResponse>(&v1::Fabric::Stub::ListRules, request);
  }
  Result<v1::ValidateResponse> Validate(const v1::ValidateRequest& request) override {
    return Call<v1::ValidateResponse>(&v1::Fabric::Stub::Validate, request);
  }
  Result<v1::DiffNodeResponse> DiffNode(const v1::DiffNodeRequest& request) override {
    return Call<v1::DiffNodeResponse>(&v1::Fabric::Stub::DiffNode, request);
  }
  Result<v1::InferProfileResponse> InferProfile(const v1::InferProfileRequest& request) override {
    return Call<v1::InferProfileResponse>(&v1::Fabric::Stub::InferProfile, request);
  }
  Result<v1::Campaign> StartCampaign(const v1::StartCampaignRequest& request) override {
    return Call<v1::Campaign>(&v1::Fabric::Stub::StartCampaign, request);
  }
  Result<v1::Campaign> GetCampaign(const v1::GetCampaignRequest& request) override {
    return Call<v1::Campaign>(&v1::Fabric::Stub::GetCampaign, request);
  }
  Result<v1::ListCampaignsResponse> ListCampaigns(
      const v1::ListCampaignsRequest& request) override {
    return Call<v1::ListCampaignsResponse>(&v1::Fabric::Stub::ListCampaigns, request);
  }
  Result<v1::Campaign> CancelCampaign(const v1::CancelCampaignRequest& request) override {
    return Call<v1::Campaign>(&v1::Fabric::Stub::CancelCampaign, request);
  }
  Result<v1::Certificate> StartCertificate(const v1::StartCertificateRequest& request) override {
    return Call<v1::Certificate>(&v1::Fabric::Stub::StartCertificate, request);
  }
  Result<v1::GetCertificateResponse> GetCertificate(
      const v1::GetCertificateRequest& request) override {
    return Call<v1::GetCertificateResponse>(&v1::Fabric::Stub::GetCertificate, request);
  }
  Result<v1::MeshStatus> GetMesh(const v1::GetMeshRequest& request) override {
    return Call<v1::MeshStatus>(&v1::Fabric::Stub::GetMesh, request);
  }

  Status WatchEvents(const v1::WatchEventsRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    // A stream has no deadline of its own, so a cheap call finds out whether anybody is there.
    const auto version = GetVersion({});
    if (!version.ok()) return version.status();
    grpc::ClientContext context;
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
    // Its own complaints would stand between our lines; every failure is reported by status.
    gpr_set_log_function([](gpr_log_func_args*) {});
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
    // The controller is a machine of the cluster; a proxy for the web cannot lead there.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Finds out that the controller's machine is gone while a stream is silent.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    return grpc::CreateCustomChannel(controller, grpc::InsecureChannelCredentials(), arguments);
  }

  template <class Response, class Method, class Request>
  Result<Response> Call(Method method, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_nanos(options_.timeout.count(), GPR_TIMESPAN)));
    Response response;
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return Convert(status);
    return response;
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
      return {code, Format("what answers at {} is no fabricd, or an older one: {}",
                           options_.controller, status.error_message())};
    if (status.error_message().empty())
      return {code,
              Format("the controller at {} answered {}", options_.controller, CodeName(code))};
    return {code, status.error_message()};
  }

  const ClientOptions options_;
  const Channel channel_;
  const std::unique_ptr<v1::Fabric::Stub> stub_;
};

}  // namespace

std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options) {
  return std::make_unique<GrpcClient>(options);
}

}  // namespace fabric::ctl
