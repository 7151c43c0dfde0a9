// The query functions of Controller: one for each rpc of service Fabric.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/campaigns/probe_check.h"
#include "daemon/control/controller.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/mesh/mesh.h"
#include "daemon/control/outbox.h"
#include "daemon/control/sessions.h"
#include "daemon/control/summaries.h"
#include "daemon/plan/plan.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kResolvedMax = 1000;  // Of a listing with history

// Worst first; then by what they are about, so that the order is the same each time.
bool WorseFirst(const v1::Finding& a, const v1::Finding& b) {
  const auto key = [](const v1::Finding& finding) {
    return std::make_tuple(-static_cast<int>(finding.severity()), SubjectName(finding.subject()),
                           finding.rule(), finding.id());
  };
  return key(a) < key(b);
}

bool Wanted(const v1::ListFindingsRequest& request, const v1::Finding& finding) {
  return (request.node().empty() || finding.subject().node() == request.node()) &&
         (request.rule().empty() || finding.rule() == request.rule()) &&
         finding.severity() >= request.min_severity() &&
         (request.include_unknown() || finding.verdict() == v1::VERDICT_FAIL);
}

struct Planned {
  plan::Plan plan;
  blame::Fabric fabric;  // Of the same nodes
};

Result<Planned> PlanOver(const fleet::FleetView& fleet, const fleet::Sites& sites,
                         const v1::CampaignSpec& spec, const std::set<std::string>& probed_lately) {
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(fleet, spec, probed_lately, sites));
  return Planned{.plan = std::move(plan), .fabric = blame::FabricOf(fleet, sites)};
}

// Plans for the connected nodes, and for lost ones that are asked for by name: those fail at once,
// which is what their asker wants to see. Lost nodes that nobody named are skipped.
Result<Planned> PlanFor(const fleet::Fleet& fleet, const fleet::Sites& sites,
                        const v1::CampaignSpec& spec, const std::set<std::string>& probed_lately) {
  const std::set<std::string> named(spec.nodes().begin(), spec.nodes().end());
  std::vector<const fleet::NodeRecord*> lost;
  for (const auto& [name, record] : fleet.nodes())
    if (record.state != v1::NODE_STATE_CONNECTED && (named.empty() || named.contains(name)))
      lost.push_back(&record);
  if (named.empty() || lost.empty()) {
    ASSIGN_OR_RETURN(Planned planned,
                     PlanOver(fleet::FleetView(fleet), sites, spec, probed_lately));
    for (const fleet::NodeRecord* record : lost)
      planned.plan.skipped.push_back(Format("{}: lost: {}", record->name, record->lost_reason));
    return planned;
  }
  std::vector<fleet::NodeRecord> records;
  for (const auto& [name, record] : fleet.nodes())
    if (record.state == v1::NODE_STATE_CONNECTED || named.contains(name)) records.push_back(record);
  return PlanOver(fleet::FleetView(records), sites, spec, probed_lately);
}

}  // namespace

Status Controller::CheckNode(const std::string& name) const {
  if (fleet_.Find(name) != nullptr) return {};
  std::vector<std::string> known;
  for (const auto& [other, record] : fleet_.nodes()) known.push_back(other);
  return NoSuch("node", name, known);
}

Status Controller::CheckRule(const std::string& id) const {
  std::vector<std::string> known;
  for (const v1::RuleInfo& info : options_.custom_rules.infos) {
    if (info.id() == id) return {};
    known.push_back(info.id());
  }
  for (const rules::Rule* rule : rules::AllRules()) {
    if (rule->id == id) return {};
    known.emplace_back(rule->id);
  }
  return NoSuch("rule", id, known);
}

Status Controller::GetVersion(const v1::GetVersionRequest&, v1::GetVersionResponse& response) {
  response.set_version(std::string(kVersion));
  *response.mutable_started_at() = ToProto(started_.wall);
  return {};
}

Status Controller::ListNodes(const v1::ListNodesRequest&, v1::ListNodesResponse& response) {
  const MutexLock lock(mutex_);
  for (const auto& [name, record] : fleet_.nodes())
    *response.add_nodes() = Summarize(record, findings_->FailingOn(name));
  return {};
}

Status Controller::GetNode(const v1::GetNodeRequest& request, v1::GetNodeResponse& response) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckNode(request.name()));
  const fleet::NodeRecord& record = *fleet_.Find(request.name());
  *response.mutable_summary() = Summarize(record, findings_->FailingOn(record.name));
  *response.mutable_snapshot() = record.snapshot;
  return {};
}

Status Controller::ListDevices(const v1::ListDevicesRequest& request,
                               v1::ListDevicesResponse& response) {
  const MutexLock lock(mutex_);
  if (!request.node().empty()) {
    RETURN_IF_ERROR(CheckNode(request.node()));
    const fleet::NodeRecord& record = *fleet_.Find(request.node());
    if (record.state != v1::NODE_STATE_CONNECTED)
      return {Code::kFailedPrecondition,
              Format("node {} is lost: {}: its devices are not known now", record.name,
                     record.lost_reason)};
  }
  const fleet::FleetView view(fleet_);
  for (const fleet::NodeView& node : view.nodes())
    if (request.node().empty() || node.node->name == request.node())
      for (const fleet::PortView& port : node.ports) *response.add_devices() = Summarize(port);
  return {};
}

Status Controller::ListFindings(const v1::ListFindingsRequest& request,
                                v1::ListFindingsResponse& response) {
  const MutexLock lock(mutex_);
  if (!request.node().empty()) RETURN_IF_ERROR(CheckNode(request.node()));
  if (!request.rule().empty()) RETURN_IF_ERROR(CheckRule(request.rule()));
  if (!v1::Severity_IsValid(request.min_severity()))
    return {Code::kInvalidArgument,
            Format("min_severity: expected 0 to {}, saw {}", static_cast<int>(v1::Severity_MAX),
                   static_cast<int>(request.min_severity()))};
  for (const auto& [id, finding] : findings_->open())
    if (Wanted(request, finding)) *response.add_findings() = Shown(finding);
  std::sort(response.mutable_findings()->begin(), response.mutable_findings()->end(), WorseFirst);
  if (request.include_resolved()) {
    ASSIGN_OR_RETURN(const std::vector<v1::Finding> resolved,
                     outbox_->store().ResolvedFindings(kResolvedMax));
    for (const v1::Finding& finding : resolved)
      if (Wanted(request, finding)) *response.add_findings() = finding;
  }
  *response.mutable_counts() = findings_->counts();
  return {};
}

Status Controller::ListRules(const v1::ListRulesRequest&, v1::ListRulesResponse& response) {
  for (const rules::Rule* rule : rules::AllRules()) *response.add_rules() = rules::Info(*rule);
  for (const v1::RuleInfo& info : options_.custom_rules.infos) *response.add_rules() = info;
  std::sort(response.mutable_rules()->begin(), response.mutable_rules()->end(),
            [](const v1::RuleInfo& a, const v1::RuleInfo& b) { return a.id() < b.id(); });
  return {};
}

Status Controller::Validate(const v1::ValidateRequest&, v1::ValidateResponse& response,
                            Moment now) {
  const MutexLock lock(mutex_);
  // While nodes are awaited after a restart the answer is true and yet no ground for resolving.
  if (Settled(now))
    EvaluateRules(now);
  else
    UpdateEngine();
  const rules::Evaluation evaluation = engine_.All();
  *response.mutable_counts() = evaluation.counts;
  for (const v1::Finding& finding : evaluation.findings) {
    const auto known = findings_->open().find(finding.id());
    *response.add_findings() = known == findings_->open().end() ? finding : known->second;
  }
  std::sort(response.mutable_findings()->begin(), response.mutable_findings()->end(), WorseFirst);
  response.set_nodes(static_cast<std::uint32_t>(engine_.nodes()));
  response.set_rules(
      static_cast<std::uint32_t>(rules::AllRules().size() + options_.custom_rules.rules.size()));
  return {};
}

Status Controller::StartCampaign(const v1::StartCampaignRequest& request, v1::Campaign& campaign,
                                 Moment now) {
  const MutexLock lock(mutex_);
  v1::CampaignSpec spec = request.spec();
  RETURN_IF_ERROR(Complete(spec));
  for (const std::string& node : spec.nodes()) RETURN_IF_ERROR(CheckNode(node));
  if (!spec.hub().empty()) RETURN_IF_ERROR(CheckNode(spec.hub()));
  ASSIGN_OR_RETURN(Planned planned, PlanFor(fleet_, sites_, spec, campaigns_->ProbedLately(now)));
  PortClasses classes;
  if (spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST) {
    RETURN_IF_ERROR(CheckIncast(planned.plan, spec, options_.pairs_at_once_max));
    classes = ClassesOf(fleet::FleetView(fleet_), spec.probes(0).traffic_class());
  }
  campaign = campaigns_->Start(spec, std::move(planned.plan), std::move(planned.fabric), now,
                               std::move(classes));
  return {};
}

Status Controller::GetCampaign(const v1::GetCampaignRequest& request, v1::Campaign& campaign) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(campaign, campaigns_->Get(request.id(), !request.omit_results()));
  return {};
}

Status Controller::ListCampaigns(const v1::ListCampaignsRequest&,
                                 v1::ListCampaignsResponse& response) {
  const MutexLock lock(mutex_);
  for (v1::Campaign& campaign : campaigns_->List()) *response.add_campaigns() = std::move(campaign);
  return {};
}

Status Controller::GetMesh(const v1::GetMeshRequest&, v1::MeshStatus& status) {
  const MutexLock lock(mutex_);
  status = mesh_->Status();
  return {};
}

Status Controller::CancelCampaign(const v1::CancelCampaignRequest& request, v1::Campaign& campaign,
                                  Moment now) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(campaign, campaigns_->Cancel(request.id(), now));
  return {};
}

}  // namespace fabric::control
