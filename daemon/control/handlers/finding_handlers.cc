// Handlers about rules, findings and silences.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/findings/affected_nodes.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/rules/rule.h"
#include "proto/affected.h"
#include "proto/names.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kResolvedMax = 1000;  // In a listing with resolved findings

// Most severe first, then by subject, so that the order is stable.
bool WorseFirst(const v1::Finding& a, const v1::Finding& b) {
  const auto key = [](const v1::Finding& finding) {
    return std::make_tuple(-static_cast<int>(finding.severity()), SubjectName(finding.subject()),
                           finding.rule(), finding.id());
  };
  return key(a) < key(b);
}

bool Matches(const v1::ListFindingsRequest& request, const v1::Finding& finding) {
  return (request.node().empty() || Affects(finding, request.node())) &&
         (request.rule().empty() || finding.rule() == request.rule()) &&
         finding.severity() >= request.min_severity() &&
         (request.include_unknown() || finding.verdict() == v1::VERDICT_FAIL);
}

Status ListFindings(State& state, const v1::ListFindingsRequest& request,
                    v1::ListFindingsResponse& response, Moment) {
  if (!request.node().empty()) RETURN_IF_ERROR(CheckNode(state, request.node()));
  if (!request.rule().empty()) RETURN_IF_ERROR(CheckRule(state, request.rule()));
  if (!v1::Severity_IsValid(request.min_severity()))
    return {Code::kInvalidArgument,
            Format("min_severity: expected 0 to {}, saw {}", static_cast<int>(v1::Severity_MAX),
                   static_cast<int>(request.min_severity()))};
  for (const auto& [id, finding] : state.findings.open())
    if (Matches(request, finding))
      *response.add_findings() = state.findings.WithExpiry(finding, state.fleet);
  std::sort(response.mutable_findings()->begin(), response.mutable_findings()->end(), WorseFirst);
  if (request.include_resolved()) {
    ASSIGN_OR_RETURN(const std::vector<v1::Finding> resolved,
                     state.outbox.store().ResolvedFindings(kResolvedMax));
    for (const v1::Finding& finding : resolved)
      if (Matches(request, finding)) *response.add_findings() = finding;
  }
  *response.mutable_counts() = state.findings.counts();
  return {};
}

Status GetFinding(State& state, const v1::GetFindingRequest& request,
                  v1::GetFindingResponse& response, Moment) {
  ASSIGN_OR_RETURN(v1::Finding finding, state.findings.Find(request.id()));
  ASSIGN_OR_RETURN(const std::vector<v1::FindingRecord> history,
                   state.outbox.store().FindingHistory(finding.id()));
  *response.mutable_finding() = state.findings.WithExpiry(std::move(finding), state.fleet);
  for (const v1::FindingRecord& record : history) *response.add_history() = record;
  return {};
}

Status AcknowledgeFinding(State& state, const v1::AcknowledgeFindingRequest& request,
                          v1::Finding& finding, Moment now) {
  ASSIGN_OR_RETURN(v1::Finding acknowledged, state.findings.Acknowledge(request, now));
  finding = state.findings.WithExpiry(std::move(acknowledged), state.fleet);
  return {};
}

Status CreateSilence(State& state, const v1::CreateSilenceRequest& request, v1::Silence& silence,
                     Moment now) {
  const v1::Silence& wanted = request.silence();
  if (!wanted.rule().empty()) RETURN_IF_ERROR(CheckRule(state, wanted.rule()));
  if (!wanted.node().empty()) RETURN_IF_ERROR(CheckNode(state, wanted.node()));
  ASSIGN_OR_RETURN(silence, state.findings.AddSilence(request, now));
  return {};
}

Status ListSilences(State& state, const v1::ListSilencesRequest&,
                    v1::ListSilencesResponse& response, Moment) {
  for (v1::Silence& silence : state.findings.silences().all())
    *response.add_silences() = std::move(silence);
  return {};
}

Status DeleteSilence(State& state, const v1::DeleteSilenceRequest& request, v1::Silence& silence,
                     Moment now) {
  ASSIGN_OR_RETURN(silence, state.findings.EndSilence(request, now));
  return {};
}

Status ListRules(State& state, const v1::ListRulesRequest&, v1::ListRulesResponse& response,
                 Moment) {
  for (const rules::Rule* rule : rules::AllRules()) *response.add_rules() = rules::Info(*rule);
  for (const v1::RuleInfo& info : state.options.custom_rules.infos) *response.add_rules() = info;
  std::sort(response.mutable_rules()->begin(), response.mutable_rules()->end(),
            [](const v1::RuleInfo& a, const v1::RuleInfo& b) { return a.id() < b.id(); });
  return {};
}

Status Validate(State& state, const v1::ValidateRequest&, v1::ValidateResponse& response,
                Moment now) {
  const rules::Evaluation evaluation =
      state.evaluator.EvaluateAll(state.fleet, state.findings, now);
  *response.mutable_counts() = evaluation.counts;
  *response.mutable_coverage() = evaluation.coverage;
  const auto& open = state.findings.open();
  for (const v1::Finding& finding : evaluation.findings) {
    const auto known = open.find(finding.id());
    *response.add_findings() = known == open.end() ? finding : known->second;
  }
  std::sort(response.mutable_findings()->begin(), response.mutable_findings()->end(), WorseFirst);
  for (const auto& [name, record] : state.fleet.nodes()) {
    if (record.known()) continue;
    v1::UnjudgedNode& node = *response.add_not_judged();
    node.set_name(name);
    node.set_reason(UnjudgedReason(record));
  }
  response.set_nodes(static_cast<std::uint32_t>(state.evaluator.nodes()));
  response.set_rules(static_cast<std::uint32_t>(rules::AllRules().size() +
                                                state.options.custom_rules.rules.size()));
  return {};
}

constexpr Handler kFindingHandlers[] = {
    kHandler<&ListFindings>,  kHandler<&GetFinding>,   kHandler<&AcknowledgeFinding>,
    kHandler<&CreateSilence>, kHandler<&ListSilences>, kHandler<&DeleteSilence>,
    kHandler<&ListRules>,     kHandler<&Validate>,
};

}  // namespace

std::span<const Handler> FindingHandlers() {
  return kFindingHandlers;
}

}  // namespace fabric::control
