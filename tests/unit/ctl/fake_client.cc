#include "tests/unit/ctl/fake_client.h"

#include "base/text.h"

namespace fabric::ctl {
namespace {

class FakeClient final : public Client {
 public:
  explicit FakeClient(FakeController& controller) : controller_(controller) {}

  Result<v1::GetVersionResponse> GetVersion(const v1::GetVersionRequest&) override {
    return Answer(controller_.version);
  }
  Result<v1::ListNodesResponse> ListNodes(const v1::ListNodesRequest&) override {
    return Answer(controller_.nodes);
  }
  Result<v1::GetNodeResponse> GetNode(const v1::GetNodeRequest& request) override {
    controller_.node_request = request;
    return Answer(controller_.node);
  }
  Result<v1::ListDevicesResponse> ListDevices(const v1::ListDevicesRequest& request) override {
    controller_.devices_request = request;
    return Answer(controller_.devices);
  }
  Result<v1::ListFindingsResponse> ListFindings(const v1::ListFindingsRequest& request) override {
    controller_.findings_request = request;
    return Answer(controller_.findings);
  }
  Result<v1::GetFindingResponse> GetFinding(const v1::GetFindingRequest& request) override {
    controller_.finding_request = request;
    return Answer(controller_.finding);
  }
  Result<v1::Finding> AcknowledgeFinding(const v1::AcknowledgeFindingRequest& request) override {
    controller_.acknowledge_request = request;
    return Answer(controller_.finding.finding());
  }
  Result<v1::Silence> CreateSilence(const v1::CreateSilenceRequest& request) override {
    controller_.silence_request = request;
    return Answer(controller_.silence);
  }
  Result<v1::ListSilencesResponse> ListSilences(const v1::ListSilencesRequest&) override {
    return Answer(controller_.silences);
  }
  Result<v1::Silence> DeleteSilence(const v1::DeleteSilenceRequest& request) override {
    controller_.end_request = request;
    return Answer(controller_.silence);
  }
  Result<v1::ListRulesResponse> ListRules(const v1::ListRulesRequest&) override {
    return Answer(controller_.rules);
  }
  Result<v1::ValidateResponse> Validate(const v1::ValidateRequest&) override {
    return Answer(controller_.validation);
  }
  Result<v1::DiffNodeResponse> DiffNode(const v1::DiffNodeRequest& request) override {
    controller_.diff_request = request;
    return Answer(controller_.diff);
  }
  Result<v1::InferProfileResponse> InferProfile(const v1::InferProfileRequest&) override {
    return Answer(controller_.inferred);
  }
  Result<v1::Campaign> StartCampaign(const v1::StartCampaignRequest& request) override {
    controller_.start_request = request;
    return NextCampaign();
  }
  Result<v1::Campaign> GetCampaign(const v1::GetCampaignRequest& request) override {
    controller_.campaign_requests.push_back(request);
    return NextCampaign();
  }
  Result<v1::ListCampaignsResponse> ListCampaigns(const v1::ListCampaignsRequest&) override {
    return Answer(controller_.campaigns);
  }
  Result<v1::Campaign> CancelCampaign(const v1::CancelCampaignRequest& request) override {
    controller_.cancel_request = request;
    return NextCampaign();
  }
  Result<v1::Certificate> StartCertificate(const v1::StartCertificateRequest& request) override {
    controller_.certificate_request = request;
    return Answer(controller_.certificate.front().certificate());
  }
  Result<v1::GetCertificateResponse> GetCertificate(const v1::GetCertificateRequest&) override {
    if (controller_.certificate.size() > 1)
      controller_.certificate.erase(controller_.certificate.begin());
    return Answer(controller_.certificate.front());
  }
  Result<v1::MeshStatus> GetMesh(const v1::GetMeshRequest&) override {
    return Answer(controller_.mesh);
  }
  Status WatchEvents(const v1::WatchEventsRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    controller_.watch_request = request;
    if (!controller_.failure.ok()) return controller_.failure;
    for (const v1::Event& event : controller_.events)
      if (!on_event(event)) return {};
    return controller_.stream_end;
  }

 private:
  template <class Response>
  Result<Response> Answer(const Response& response) const {
    if (!controller_.failure.ok()) return controller_.failure;
    return response;
  }
  Result<v1::Campaign> NextCampaign() {
    const std::size_t at = std::min(campaigns_given_++, controller_.campaign.size() - 1);
    return Answer(controller_.campaign[at]);
  }

  FakeController& controller_;
  std::size_t campaigns_given_ = 0;
};

class FakeConsole final : public Console {
 public:
  explicit FakeConsole(const FakeTerminal& terminal) : terminal_(terminal) {}

  bool Out(std::string_view text) override {
    said.out += text;
    return terminal_.writable;
  }
  void Err(std::string_view text) override { said.err += text; }
  bool Wait(Duration) override { return !terminal_.interrupted; }

  Said said;

 private:
  const FakeTerminal terminal_;
};

}  // namespace

Said RunWords(std::string_view words, FakeController& controller, const FakeTerminal& terminal) {
  FakeConsole console(terminal);
  const Environment environment{.controller = terminal.controller,
                                .user = terminal.user,
                                .colour = terminal.colour,
                                .progress = terminal.progress};
  const Connect connect = [&](const ClientOptions& options) {
    controller.options = options;
    return std::make_unique<FakeClient>(controller);
  };
  console.said.status = Run(Words(words), AllCommands(), environment, connect, console);
  return console.said;
}

}  // namespace fabric::ctl
