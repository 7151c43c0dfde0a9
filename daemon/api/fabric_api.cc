#include "daemon/api/fabric_api.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <type_traits>

#include "base/text.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;

template <auto kMethod, class Request, class Response>
Status Forward(control::Controller& controller, [[maybe_unused]] Moment now, const Message& request,
               Message& response) {
  assert(request.GetDescriptor() == Request::descriptor());
  assert(response.GetDescriptor() == Response::descriptor());
  const auto& typed = static_cast<const Request&>(request);
  auto& answer = static_cast<Response&>(response);
  if constexpr (std::is_invocable_v<decltype(kMethod), control::Controller&, const Request&,
                                    Response&, Moment>)
    return (controller.*kMethod)(typed, answer, now);
  else
    return (controller.*kMethod)(typed, answer);
}

using control::Controller;

constexpr Handler kHandlers[] = {
    {"GetVersion",
     &Forward<&Controller::GetVersion, v1::GetVersionRequest, v1::GetVersionResponse>},
    {"ListNodes", &Forward<&Controller::ListNodes, v1::ListNodesRequest, v1::ListNodesResponse>},
    {"GetNode", &Forward<&Controller::GetNode, v1::GetNodeRequest, v1::GetNodeResponse>},
    {"ListDevices",
     &Forward<&Controller::ListDevices, v1::ListDevicesRequest, v1::ListDevicesResponse>},
    {"ListFindings",
     &Forward<&Controller::ListFindings, v1::ListFindingsRequest, v1::ListFindingsResponse>},
    {"GetFinding",
     &Forward<&Controller::GetFinding, v1::GetFindingRequest, v1::GetFindingResponse>},
    {"AcknowledgeFinding",
     &Forward<&Controller::AcknowledgeFinding, v1::AcknowledgeFindingRequest, v1::Finding>},
    {"CreateSilence", &Forward<&Controller::CreateSilence, v1::CreateSilenceRequest, v1::Silence>},
    {"ListSilences",
     &Forward<&Controller::ListSilences, v1::ListSilencesRequest, v1::ListSilencesResponse>},
    {"DeleteSilence", &Forward<&Controller::DeleteSilence, v1::DeleteSilenceRequest, v1::Silence>},
    {"ListRules", &Forward<&Controller::ListRules, v1::ListRulesRequest, v1::ListRulesResponse>},
    {"Validate", &Forward<&Controller::Validate, v1::ValidateRequest, v1::ValidateResponse>},
    {"DiffNode", &Forward<&Controller::DiffNode, v1::DiffNodeRequest, v1::DiffNodeResponse>},
    {"InferProfile",
     &Forward<&Controller::InferProfile, v1::InferProfileRequest, v1::InferProfileResponse>},
    {"StartCampaign", &Forward<&Controller::StartCampaign, v1::StartCampaignRequest, v1::Campaign>},
    {"GetCampaign", &Forward<&Controller::GetCampaign, v1::GetCampaignRequest, v1::Campaign>},
    {"ListCampaigns",
     &Forward<&Controller::ListCampaigns, v1::ListCampaignsRequest, v1::ListCampaignsResponse>},
    {"GetMesh", &Forward<&Controller::GetMesh, v1::GetMeshRequest, v1::MeshStatus>},
    {"CancelCampaign",
     &Forward<&Controller::CancelCampaign, v1::CancelCampaignRequest, v1::Campaign>},
    {"StartCertificate",
     &Forward<&Controller::StartCertificate, v1::StartCertificateRequest, v1::Certificate>},
    {"GetCertificate",
     &Forward<&Controller::GetCertificate, v1::GetCertificateRequest, v1::GetCertificateResponse>},
};

}  // namespace

std::span<const Handler> Handlers() {
  return kHandlers;
}

Api::Api(control::Controller& controller, const Clock& clock, CallMetrics& metrics)
    : controller_(controller), clock_(clock), metrics_(metrics) {}

Status Api::Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                 const Message& request, Message& response) {
  const Moment begin = clock_.Now();
  const auto* const handler =
      std::find_if(std::begin(kHandlers), std::end(kHandlers),
                   [&](const Handler& h) { return h.method == method.name(); });
  Status status;
  if (handler == std::end(kHandlers))
    status = {Code::kUnimplemented, Format("{} has no handler", method.full_name())};
  else
    status = handler->call(controller_, begin, request, response);
  metrics_.Count(
      {.method = method.name(), .transport = std::string(context.transport), .code = status.code()},
      clock_.Now().steady - begin.steady);
  return status;
}

}  // namespace fabric::api
