// Handlers about campaigns, the mesh and certificates.
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/campaigns/campaign_start.h"
#include "daemon/control/certificates/certificate_start.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"

namespace fabric::control {
namespace {

Status StartCampaign(const StateTurns& turns, const v1::StartCampaignRequest& request,
                     v1::Campaign& campaign, Moment now) {
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(
      campaign,
      StartInTurns(turns, CampaignStart(request.spec(), {.author = request.author()}), now));
  return {};
}

Status GetCampaign(State& state, const v1::GetCampaignRequest& request, v1::Campaign& campaign,
                   Moment) {
  constexpr std::uint64_t kResultsMax = 10'000;  // As in fabric.proto
  constexpr std::size_t kBytesMax = 16 << 20;
  ASSIGN_OR_RETURN(campaign, state.campaigns.Get(request.id()));
  if (!request.include_results() || request.omit_results()) return {};
  ASSIGN_OR_RETURN(std::vector<store::ResultRow> rows,
                   state.campaigns.Results(request.id(), 0, kResultsMax + 1));
  std::size_t bytes = 0;
  for (store::ResultRow& row : rows) {
    bytes += row.result.ByteSizeLong();
    *campaign.add_results() = std::move(row.result);
  }
  if (rows.size() <= kResultsMax && bytes <= kBytesMax) return {};
  return {Code::kFailedPrecondition,
          Format("campaign {} has {} results: expected at most {} and {} MiB, use "
                 "ListCampaignResults",
                 campaign.id(), campaign.results_total(), kResultsMax, kBytesMax >> 20)};
}

Status ListCampaignResults(State& state, const v1::ListCampaignResultsRequest& request,
                           v1::ListCampaignResultsResponse& response, ListTurn& turn) {
  constexpr std::uint32_t kRowsOfTurn = 256;
  const auto after = ParseNumber<std::int64_t>(turn.after());
  ASSIGN_OR_RETURN(std::vector<store::ResultRow> rows,
                   state.campaigns.Results(request.id(), after.ok() ? *after : 0, kRowsOfTurn));
  auto row = rows.begin();
  for (; row != rows.end() && turn.HasRoom(); ++row)
    turn.Offer(Format("{}", row->sequence), std::move(row->result), *response.mutable_results());
  turn.End(row == rows.end() && rows.size() < kRowsOfTurn);
  return {};
}

Status ListCampaigns(State& state, const v1::ListCampaignsRequest&,
                     v1::ListCampaignsResponse& response, ListTurn& turn) {
  constexpr std::size_t kCampaignsOfTurn = 64;
  std::vector<v1::Campaign> campaigns = state.campaigns.List(turn.after(), kCampaignsOfTurn);
  auto at = campaigns.begin();
  for (; at != campaigns.end() && turn.HasRoom(); ++at) {
    const std::string id = at->id();
    turn.Offer(id, std::move(*at), *response.mutable_campaigns());
  }
  turn.End(at == campaigns.end() && campaigns.size() < kCampaignsOfTurn);
  return {};
}

Status CancelCampaign(State& state, const v1::CancelCampaignRequest& request,
                      v1::Campaign& campaign, Moment now) {
  ASSIGN_OR_RETURN(campaign, state.campaigns.Cancel(request.id(), now));
  return {};
}

Status RecheckFindings(State& state, const v1::RecheckFindingsRequest& request,
                       v1::Campaign& campaign, Moment now) {
  ASSIGN_OR_RETURN(campaign, state.rechecks.Request(request, now));
  return {};
}

// A page of the pairs of leaves, and everything else.
Status GetMesh(State& state, const v1::GetMeshRequest& request, v1::MeshStatus& status,
               Moment now) {
  ASSIGN_OR_RETURN(ListTurn turn, ListTurn::Start(request, *v1::MeshLeafPair::descriptor(), now));
  status = state.mesh.Status();
  const auto& pairs = state.mesh.leaf_pairs();
  const auto after = ParseNumber<std::size_t>(turn.after());
  std::size_t at = after.ok() ? *after : 0;
  for (; at < pairs.size() && turn.HasRoom(); ++at)
    turn.Offer(Format("{}", at + 1), pairs[at], *status.mutable_leaf_pairs());
  status.set_leaf_pairs_total(static_cast<std::uint32_t>(pairs.size()));
  turn.End(at >= pairs.size());
  turn.Finish(status);
  return {};
}

Status StartCertificate(const StateTurns& turns, const v1::StartCertificateRequest& request,
                        v1::Certificate& certificate, Moment now) {
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(certificate,
                   StartInTurns(turns, CertificateStart(request.request(), request.author()), now));
  return {};
}

Status GetCertificate(State& state, const v1::GetCertificateRequest& request,
                      v1::GetCertificateResponse& response, Moment) {
  ASSIGN_OR_RETURN(response, state.certificates.Get(request.id()));
  return {};
}

Status ListCertificates(State& state, const v1::ListCertificatesRequest&,
                        v1::ListCertificatesResponse& response, ListTurn& turn) {
  constexpr std::size_t kCertificatesOfTurn = 16;
  bool more = false;
  std::vector<v1::Certificate> list =
      state.certificates.List(turn.after(), kCertificatesOfTurn, more);
  auto at = list.begin();
  for (; at != list.end() && turn.HasRoom(); ++at) {
    const std::string id = at->id();
    turn.Offer(id, std::move(*at), *response.mutable_certificates());
  }
  turn.End(at == list.end() && !more);
  return {};
}

constexpr Handler kProbeHandlers[] = {
    kLong<&StartCampaign>,      kHandler<&GetCampaign>,    kList<&ListCampaignResults>,
    kList<&ListCampaigns>,      kHandler<&CancelCampaign>, kHandler<&GetMesh>,
    kLong<&StartCertificate>,   kHandler<&GetCertificate>, kList<&ListCertificates>,
    kHandler<&RecheckFindings>,
};

}  // namespace

std::span<const Handler> ProbeHandlers() {
  return kProbeHandlers;
}

}  // namespace fabric::control
