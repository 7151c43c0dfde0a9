// Handlers about campaigns, the mesh and certificates.
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/probe_check.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/plan/plan.h"
#include "proto/bounds.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

Result<CampaignInputs> PlanOver(const fleet::FleetView& fleet, const fleet::Sites& sites,
                                const v1::CampaignSpec& spec,
                                const std::set<std::string>& probed_lately) {
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(fleet, spec, probed_lately, sites));
  return CampaignInputs{.plan = std::move(plan),
                        .fabric = blame::FabricOf(fleet, sites, spec),
                        .expectations = Expectations(fleet, sites)};
}

// Plans for the connected nodes, and for the lost nodes that the spec names: their probes fail at
// once, with the reason. Other lost nodes are skipped.
Result<CampaignInputs> PlanFor(const State& state, const v1::CampaignSpec& spec,
                               const std::set<std::string>& probed_lately) {
  const fleet::Fleet& fleet = state.fleet;
  const profile::Profile& profile = state.options.profile;
  const std::set<std::string> named(spec.nodes().begin(), spec.nodes().end());
  std::vector<const fleet::NodeRecord*> lost;
  for (const auto& [name, record] : fleet.nodes())
    if (record.state != v1::NODE_STATE_CONNECTED && (named.empty() || named.contains(name)))
      lost.push_back(&record);
  if (named.empty() || lost.empty()) {
    ASSIGN_OR_RETURN(CampaignInputs planned,
                     PlanOver(fleet::FleetView(fleet, profile), state.sites, spec, probed_lately));
    for (const fleet::NodeRecord* record : lost)
      planned.plan.skipped.push_back(CoverageGapOf(record->name, v1::COVERAGE_GAP_REASON_NODE_LOST,
                                                   Format("lost: {}", record->lost_reason)));
    return planned;
  }
  std::vector<fleet::NodeRecord> records;
  for (const auto& [name, record] : fleet.nodes())
    if (record.state == v1::NODE_STATE_CONNECTED || named.contains(name)) records.push_back(record);
  return PlanOver(fleet::FleetView(records, profile), state.sites, spec, probed_lately);
}

// Removes duplicate names and rails.
void Normalize(v1::CampaignSpec& spec) {
  const std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  spec.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());
  spec.mutable_rails()->Assign(rails.begin(), rails.end());
}

// Agents refuse what exceeds their memory: better before the first probe.
Status CheckMemory(State& state, const v1::CampaignSpec& spec) {
  std::uint64_t needed = 0;
  for (const v1::ProbeSpec& probe : spec.probes()) needed = std::max(needed, MemoryOfEnd(probe));
  const std::set<std::string> named(spec.nodes().begin(), spec.nodes().end());
  for (const auto& [id, session] : state.sessions.all()) {
    if (!named.empty() && !named.contains(session.node.name())) continue;
    const std::uint64_t most = session.probe_memory_max.value_or(Limit("probe_memory_bytes"));
    if (needed > most)
      return {Code::kInvalidArgument,
              Format("probes: expected message_bytes and queue_pairs that need at most {} bytes of "
                     "memory, which the agent of {} can register, saw {}",
                     most, session.node.name(), needed)};
  }
  return {};
}

}  // namespace

Result<v1::Campaign> StartCampaignOf(State& state, v1::CampaignSpec spec,
                                     const CampaignOrigin& origin, Moment now) {
  Normalize(spec);
  RETURN_IF_ERROR(Check(spec.class_choice()).In("class_choice"));
  RETURN_IF_ERROR(Complete(spec));
  RETURN_IF_ERROR(state.campaigns.CheckRoom());
  for (const std::string& node : spec.nodes()) RETURN_IF_ERROR(CheckNode(state, node));
  if (!spec.hub().empty()) RETURN_IF_ERROR(CheckNode(state, spec.hub()));
  RETURN_IF_ERROR(CheckMemory(state, spec));
  std::vector<v1::TrafficClass> classes = state.job_classes.Of(spec.class_choice());
  SetClasses(classes, spec);
  ASSIGN_OR_RETURN(CampaignInputs inputs, PlanFor(state, spec, state.campaigns.ProbedLately(now)));
  inputs.classes = std::move(classes);
  inputs.explained = rules::ExplainedPorts(state.findings.Failing());
  inputs.pairs = state.located.Pairs();
  inputs.schedule = origin.schedule;
  inputs.rechecks = origin.rechecks;
  inputs.settle = !origin.rechecks.empty();
  if (spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST) {
    RETURN_IF_ERROR(CheckIncast(inputs.plan, spec, state.options.pairs_at_once_max));
    inputs.port_classes = ClassesOf(fleet::FleetView(state.fleet), spec.probes(0).traffic_class());
  }
  return state.campaigns.Start(spec, std::move(inputs), now);
}

namespace {

Status StartCampaign(State& state, const v1::StartCampaignRequest& request, v1::Campaign& campaign,
                     Moment now) {
  ASSIGN_OR_RETURN(campaign, StartCampaignOf(state, request.spec(), {}, now));
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

Status StartCertificate(State& state, const v1::StartCertificateRequest& request,
                        v1::Certificate& certificate, Moment now) {
  ASSIGN_OR_RETURN(certificate, state.certificates.Start(request.request(), now));
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
  std::vector<v1::Certificate> list = state.certificates.List(turn.after(), kCertificatesOfTurn);
  auto at = list.begin();
  for (; at != list.end() && turn.HasRoom(); ++at) {
    const std::string id = at->id();
    turn.Offer(id, std::move(*at), *response.mutable_certificates());
  }
  turn.End(at == list.end() && list.size() < kCertificatesOfTurn);
  return {};
}

constexpr Handler kProbeHandlers[] = {
    kHandler<&StartCampaign>,    kHandler<&GetCampaign>,    kList<&ListCampaignResults>,
    kList<&ListCampaigns>,       kHandler<&CancelCampaign>, kHandler<&GetMesh>,
    kHandler<&StartCertificate>, kHandler<&GetCertificate>, kList<&ListCertificates>,
    kHandler<&RecheckFindings>,
};

}  // namespace

std::span<const Handler> ProbeHandlers() {
  return kProbeHandlers;
}

}  // namespace fabric::control
