// The controller as commands see it: service Fabric of fabric.proto, one call at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {

// A failed call has a message for people. UNAVAILABLE: "cannot reach the controller at H:P: why".
// What the controller itself answers comes through as it said it.
class Client {
 public:
  virtual ~Client() = default;
  virtual Result<v1::GetVersionResponse> GetVersion(const v1::GetVersionRequest& request) = 0;
  virtual Result<v1::ListNodesResponse> ListNodes(const v1::ListNodesRequest& request) = 0;
  virtual Result<v1::GetNodeResponse> GetNode(const v1::GetNodeRequest& request) = 0;
  virtual Result<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) = 0;
  virtual Result<v1::ListFindingsResponse> ListFindings(const v1::ListFindingsRequest& request) = 0;
  virtual Result<v1::GetFindingResponse> GetFinding(const v1::GetFindingRequest& request) = 0;
  virtual Result<v1::Finding> AcknowledgeFinding(const v1::AcknowledgeFindingRequest& request) = 0;
  virtual Result<v1::Silence> CreateSilence(const v1::CreateSilenceRequest& request) = 0;
  virtual Result<v1::ListSilencesResponse> ListSilences(const v1::ListSilencesRequest& request) = 0;
  virtual Result<v1::Silence> DeleteSilence(const v1::DeleteSilenceRequest& request) = 0;
  virtual Result<v1::ListRulesResponse> ListRules(const v1::ListRulesRequest& request) = 0;
  virtual Result<v1::ValidateResponse> Validate(const v1::ValidateRequest& request) = 0;
  virtual Result<v1::DiffNodeResponse> DiffNode(const v1::DiffNodeRequest& request) = 0;
  virtual Result<v1::InferProfileResponse> InferProfile(const v1::InferProfileRequest& request) = 0;
  virtual Result<v1::Campaign> StartCampaign(const v1::StartCampaignRequest& request) = 0;
  virtual Result<v1::Campaign> GetCampaign(const v1::GetCampaignRequest& request) = 0;
  virtual Result<v1::ListCampaignsResponse> ListCampaigns(
      const v1::ListCampaignsRequest& request) = 0;
  virtual Result<v1::Campaign> CancelCampaign(const v1::CancelCampaignRequest& request) = 0;
  virtual Result<v1::Certificate> StartCertificate(const v1::StartCertificateRequest& request) = 0;
  virtual Result<v1::GetCertificateResponse> GetCertificate(
      const v1::GetCertificateRequest& request) = 0;
  virtual Result<v1::MeshStatus> GetMesh(const v1::GetMeshRequest& request) = 0;

  // Returns OK when `on_event` returned false; otherwise only with the failure that ended the
  // stream. The deadline bounds the connecting, not the watching.
  virtual Status WatchEvents(const v1::WatchEventsRequest& request,
                             const std::function<bool(const v1::Event&)>& on_event) = 0;
};

struct ClientOptions {
  std::string controller;  // "HOST:PORT", "[::1]:9418"
  Duration timeout;        // Of one call, connecting included.
};

// Over gRPC. Connects with the first call.
std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options);

}  // namespace fabric::ctl
