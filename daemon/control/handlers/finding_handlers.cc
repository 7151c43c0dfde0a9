// Handlers about rules, findings and silences.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/findings/affected_nodes.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/maintenance.h"
#include "daemon/control/rule_infos.h"
#include "daemon/rules/rule.h"
#include "proto/affected.h"
#include "proto/names.h"
#include "proto/timestamps.h"
#include "subnet/checks/check.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kResolvedMax = 1000;  // In a listing with resolved findings
constexpr int kFindingsOfAnswerMax = 10'000;  // Of Validate

// What a listing asks for.
class Wanted {
 public:
  explicit Wanted(const v1::ListFindingsRequest& request)
      : request_(request), nodes_(request.nodes().begin(), request.nodes().end()) {
    if (!request.node().empty()) nodes_.insert(request.node());
  }

  bool Matches(const v1::Finding& finding) const {
    return (nodes_.empty() || AffectsOneOf(finding, nodes_)) &&
           (request_.rule().empty() || finding.rule() == request_.rule()) &&
           finding.severity() >= request_.min_severity() &&
           (request_.include_unknown() || finding.verdict() == v1::VERDICT_FAIL);
  }

 private:
  const v1::ListFindingsRequest& request_;
  NodeSet nodes_;
};

// Orders resolved findings behind open ones, newest first.
std::string KeyOfResolved(const v1::Finding& finding) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  return Format("r{:020}\x1f{}", kLast - Nanoseconds(finding.resolved_at()), finding.id());
}

// Offers the open findings that follow. False if the turn ended before the last one.
bool OfferOpen(const State& state, const Wanted& wanted, ListTurn& turn,
               v1::ListFindingsResponse& response) {
  const auto& ordered = state.findings.ordered();
  auto at = ordered.upper_bound(turn.after());
  for (; at != ordered.end() && turn.HasRoom(); ++at) {
    const v1::Finding& finding = state.findings.open().at(at->second);
    if (wanted.Matches(finding))
      turn.Offer(at->first, state.findings.WithExpiry(finding, state.fleet),
                 *response.mutable_findings());
    else
      turn.Skip(at->first);
  }
  return at == ordered.end();
}

// The same for findings that were resolved lately.
bool OfferResolved(std::vector<v1::Finding> resolved, const Wanted& wanted, ListTurn& turn,
                   v1::ListFindingsResponse& response) {
  std::map<std::string, v1::Finding> ordered;
  for (v1::Finding& finding : resolved)
    if (wanted.Matches(finding)) ordered.emplace(KeyOfResolved(finding), std::move(finding));
  auto at = ordered.upper_bound(turn.after());
  for (; at != ordered.end() && turn.HasRoom(); ++at)
    turn.Offer(at->first, std::move(at->second), *response.mutable_findings());
  return at == ordered.end();
}

Status CheckListing(const State& state, const v1::ListFindingsRequest& request) {
  if (!request.node().empty()) RETURN_IF_ERROR(CheckNode(state, request.node()));
  for (const std::string& node : request.nodes()) RETURN_IF_ERROR(CheckNode(state, node));
  if (!request.rule().empty()) RETURN_IF_ERROR(CheckRule(state, request.rule()));
  if (v1::Severity_IsValid(request.min_severity())) return {};
  return {Code::kInvalidArgument,
          Format("min_severity: expected 0 to {}, saw {}", static_cast<int>(v1::Severity_MAX),
                 static_cast<int>(request.min_severity()))};
}

Status ListFindings(State& state, const v1::ListFindingsRequest& request,
                    v1::ListFindingsResponse& response, ListTurn& turn) {
  RETURN_IF_ERROR(CheckListing(state, request));
  const Wanted wanted(request);
  bool done = OfferOpen(state, wanted, turn, response);
  if (done && request.include_resolved()) {
    ASSIGN_OR_RETURN(std::vector<v1::Finding> resolved,
                     state.outbox.store().ResolvedFindings(kResolvedMax));
    done = OfferResolved(std::move(resolved), wanted, turn, response);
  }
  *response.mutable_counts() = state.findings.counts();
  turn.End(done);
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
  if (wanted.maintenance() &&
      (wanted.node().empty() || !wanted.rule().empty() || !wanted.finding().empty()))
    return {Code::kInvalidArgument,
            "silence.maintenance: expected a node without rule and finding"};
  ASSIGN_OR_RETURN(silence, state.findings.AddSilence(request, now));
  UpdateMaintenance(state);
  return {};
}

Status ListSilences(State& state, const v1::ListSilencesRequest&,
                    v1::ListSilencesResponse& response, ListTurn& turn) {
  const auto key_of = [](const v1::Silence& silence) {
    return Format("{:020}{}", Nanoseconds(silence.until()), silence.id());
  };
  OfferAll(state.findings.silences().all(), key_of, turn, *response.mutable_silences(), response);
  return {};
}

Status DeleteSilence(State& state, const v1::DeleteSilenceRequest& request, v1::Silence& silence,
                     Moment now) {
  ASSIGN_OR_RETURN(silence, state.findings.EndSilence(request, now));
  UpdateMaintenance(state);
  return {};
}

Status ListRules(State& state, const v1::ListRulesRequest&, v1::ListRulesResponse& response,
                 ListTurn& turn) {
  const auto key_of = [](const v1::RuleInfo& info) { return info.id(); };
  OfferAll(RuleInfos(state.options), key_of, turn, *response.mutable_rules(), response);
  return {};
}

// Without files of a subnet, its checks do not apply. The engine counts the reasons of UNKNOWN.
void AddSubnets(const v1::Coverage& more, v1::Coverage& coverage) {
  const auto checks = static_cast<std::uint32_t>(subnet::AllChecks().size());
  coverage.set_rules_judged(coverage.rules_judged() + more.rules_judged());
  coverage.set_rules_not_applicable(coverage.rules_not_applicable() + checks - more.rules_judged());
  coverage.mutable_judged()->MergeFrom(more.judged());
}

// All verdicts at one time. Ends in a turn of its own, as the view must.
class FleetVerdicts {
 public:
  explicit FleetVerdicts(const StateTurns& turns) : turns_(turns) {}
  ~FleetVerdicts() {
    turns_.In([&](State&) {
      view_.reset();
      return true;
    });
  }
  FleetVerdicts(const FleetVerdicts&) = delete;
  FleetVerdicts& operator=(const FleetVerdicts&) = delete;

  // Within a turn.
  void Read(State& state, v1::ValidateResponse& response, Moment now) {
    view_.emplace(state.evaluator.EvaluateAll(state.fleet, state.findings, now));
    if (const auto& subnets = state.evaluator.subnets()) subnets_ = subnets->coverage;
    for (const auto& [name, record] : state.fleet.nodes()) {
      if (record.known()) continue;
      v1::UnjudgedNode& node = *response.add_not_judged();
      node.set_name(name);
      node.set_reason(UnjudgedReason(record));
    }
    response.set_nodes(static_cast<std::uint32_t>(state.evaluator.nodes()));
    response.set_rules(static_cast<std::uint32_t>(RuleInfos(state.options).size()));
  }
  // Without the state.
  rules::Evaluation Copy() const {
    rules::Evaluation evaluation = rules::Copy(*view_);
    AddSubnets(subnets_, evaluation.coverage);
    return evaluation;
  }

 private:
  const StateTurns& turns_;
  std::optional<rules::EvaluationView> view_;
  v1::Coverage subnets_;
};

// As people know them: with acknowledgements and silences. A finding that is resolved meanwhile
// stays as it was judged.
void ShowAsKnown(const StateTurns& turns, std::vector<v1::Finding>& findings) {
  constexpr std::size_t kFindingsOfTurn = 256;
  for (std::size_t next = 0; next < findings.size();)
    turns.In([&](State& state) {
      const auto& open = state.findings.open();
      for (const std::size_t end = std::min(findings.size(), next + kFindingsOfTurn); next < end;
           ++next)
        if (const auto known = open.find(findings[next].id()); known != open.end())
          findings[next] = known->second;
      return true;
    });
}

Status Validate(const StateTurns& turns, const v1::ValidateRequest&, v1::ValidateResponse& response,
                Moment now) {
  // Agents report meanwhile: the last of these turns does what is left.
  constexpr int kTurnsMax = 10'000;
  for (int turn = 0; turn < kTurnsMax; ++turn)
    if (!turns.In([&](State& state) {
          return state.evaluator.Advance(state.fleet, state.findings, now);
        }))
      break;
  FleetVerdicts verdicts(turns);
  turns.In([&](State& state) {
    verdicts.Read(state, response, now);
    return true;
  });
  rules::Evaluation evaluation = verdicts.Copy();
  ShowAsKnown(turns, evaluation.findings);
  *response.mutable_counts() = evaluation.counts;
  *response.mutable_coverage() = std::move(evaluation.coverage);
  std::map<std::tuple<int, std::string, std::string_view, std::string_view>, v1::Finding*> ordered;
  for (v1::Finding& finding : evaluation.findings)
    ordered.emplace(
        std::tuple(-static_cast<int>(finding.severity()), SubjectName(finding.subject()),
                   std::string_view(finding.rule()), std::string_view(finding.id())),
        &finding);
  for (const auto& [key, finding] : ordered) {
    if (response.findings_size() == kFindingsOfAnswerMax) break;
    *response.add_findings() = std::move(*finding);
  }
  response.set_findings_omitted(static_cast<std::uint32_t>(ordered.size()) -
                                static_cast<std::uint32_t>(response.findings_size()));
  return {};
}

constexpr Handler kFindingHandlers[] = {
    kList<&ListFindings>,     kHandler<&GetFinding>, kHandler<&AcknowledgeFinding>,
    kHandler<&CreateSilence>, kList<&ListSilences>,  kHandler<&DeleteSilence>,
    kList<&ListRules>,        kLong<&Validate>,
};

}  // namespace

std::span<const Handler> FindingHandlers() {
  return kFindingHandlers;
}

}  // namespace fabric::control
