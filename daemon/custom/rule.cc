#include "daemon/custom/rule.h"

#include <algorithm>

#include "base/grammar.h"
#include "base/text.h"
#include "daemon/profile/profile.h"
#include "proto/timestamps.h"

namespace fabric::custom {
namespace {

using expression::Bindings;
using expression::Call;
using expression::Explanation;
using expression::Function;
using expression::MessageType;
using expression::Truth;
using expression::Type;
using expression::Unknown;
using expression::Value;
using expression::Variable;

// Input of expressions, for one evaluation.
struct Facts {
  Facts(const v1::NodeSnapshot& snapshot, const Target& target, const fleet::CounterRates* known)
      : node(snapshot), device(target.device), port(target.port), rates(known) {
    for (const v1::NetInterface& candidate : node.net_interfaces())
      if (port != nullptr && port->has_netdev() && candidate.name() == port->netdev())
        netdev = &candidate;
    values = {Of(&node), Of(device), Of(port), Of(netdev)};
  }
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  static Value Of(const google::protobuf::Message* message) {
    return message == nullptr ? Value{Unknown{.absent = true}} : Value{message};
  }
  Bindings Bound() const { return {.values = values, .context = this}; }

  const v1::NodeSnapshot& node;
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
  const v1::NetInterface* netdev = nullptr;
  const fleet::CounterRates* rates = nullptr;
  std::array<Value, 4> values;  // In the order of the variables below
};

// By vendor-neutral name, else by the driver's name.
const v1::Counter* FindCounter(const Facts& facts, std::string_view name) {
  const v1::Counter* own_name = nullptr;
  for (const v1::CounterSet& set : facts.node.counters()) {
    const bool of_port = set.device() == facts.device->name() && set.port() == facts.port->number();
    const bool of_netdev =
        set.device().empty() && facts.port->has_netdev() && set.netdev() == facts.port->netdev();
    if (!of_port && !of_netdev) continue;
    for (const v1::Counter& counter : set.counters()) {
      if (counter.neutral() == name) return &counter;
      if (counter.name() == name && own_name == nullptr) own_name = &counter;
    }
  }
  return own_name;
}

Value CounterValue(const Call& call) {
  const auto& facts = *static_cast<const Facts*>(call.context);
  const v1::Counter* counter = FindCounter(facts, *call.arguments[0].As<std::string_view>());
  if (counter == nullptr) return {Unknown{.absent = true}};
  return expression::FromWide(static_cast<expression::Wide>(counter->value()));
}

// Of the last complete window, by vendor-neutral name.
std::optional<fleet::CounterIncrease> IncreaseOf(const Call& call) {
  const auto& facts = *static_cast<const Facts*>(call.context);
  const auto count = fleet::CountNamed(*call.arguments[0].As<std::string_view>());
  if (!count || facts.rates == nullptr) return std::nullopt;
  return facts.rates->IncreaseOf(fleet::CounterSetsOf(facts.node, *facts.device, *facts.port),
                                 *count);
}

Value RateValue(const Call& call) {
  const auto increase = IncreaseOf(call);
  return increase ? Value{increase->PerSecond()} : Value{Unknown{.absent = true}};
}

Value DeltaValue(const Call& call) {
  const auto increase = IncreaseOf(call);
  if (!increase) return {Unknown{.absent = true}};
  return expression::FromWide(static_cast<expression::Wide>(increase->delta));
}

void AddEvidence(v1::Finding& finding, const Rule& rule, const v1::NodeSnapshot& node,
                 std::string what, std::string seen) {
  v1::Evidence& evidence = *finding.add_evidence();
  evidence.set_what(std::move(what));
  evidence.set_expected(rule.expect);
  evidence.set_seen(std::move(seen));
  evidence.set_source("snapshot");
  evidence.set_basis(Format("rule of {}", rule.location));
  *evidence.mutable_read_at() = node.taken_at();
}

v1::Subject SubjectOf(const Rule& rule, const v1::NodeSnapshot& node, const Target& target) {
  v1::Subject subject;
  subject.set_scope(rule.scope);
  subject.set_node(node.node().name());
  if (target.device != nullptr) subject.set_device(target.device->name());
  if (target.port == nullptr) return subject;
  subject.set_port(target.port->number());
  subject.set_netdev(target.port->netdev());
  return subject;
}

void AddRemedies(const Rule& rule, const Bindings& bindings, v1::Finding& finding) {
  for (const Fix& fix : rule.fixes) {
    v1::Remedy& remedy = *finding.add_remedies();
    remedy.set_platform(fix.platform);
    remedy.set_command(fix.command.Render(bindings));
    remedy.set_interrupts_traffic(fix.interrupts_traffic);
    if (fix.note) remedy.set_note(fix.note->Render(bindings));
  }
}

// `asked`: the expression that is false or unknown.
v1::Finding FindingOf(const Rule& rule, const Facts& facts, const Target& target,
                      v1::Verdict verdict, const expression::Expression& asked) {
  const Bindings bindings = facts.Bound();
  const Explanation explanation = asked.Explain(bindings);
  v1::Finding finding;
  finding.set_rule(rule.id);
  finding.set_verdict(verdict);
  finding.set_severity(rule.severity);
  *finding.mutable_subject() = SubjectOf(rule, facts.node, target);
  if (verdict == v1::VERDICT_FAIL) {
    finding.set_title(rule.title_template->Render(bindings));
    if (rule.seen) {
      const Explanation seen = rule.seen->Explain(bindings);
      AddEvidence(finding, rule, facts.node, finding.title(), seen.known ? seen.text : "?");
    }
    AddRemedies(rule, bindings, finding);
  } else {
    const std::string_view what = &asked == &*rule.check ? "cannot be judged" : "may not apply";
    finding.set_title(Format("{} {}: {}", rule.id, what, explanation.text));
  }
  for (const expression::Read& read : explanation.reads)
    AddEvidence(finding, rule, facts.node, read.path, read.seen);
  if (finding.evidence().empty()) AddEvidence(finding, rule, facts.node, "check", explanation.text);
  return finding;
}

}  // namespace

const expression::Environment& EnvironmentOf(v1::Scope scope) {
  static const Variable kVariables[] = {
      {"node", MessageType(*v1::NodeSnapshot::descriptor())},
      {"device", MessageType(*v1::RdmaDevice::descriptor())},
      {"port", MessageType(*v1::Port::descriptor())},
      {"netdev", MessageType(*v1::NetInterface::descriptor())},
  };
  static constexpr Function kFunctions[] = {
      {.name = "counter",
       .parameters = {Function::Parameter::kText},
       .result = Type::Kind::kInt,
       .reads = true,
       .call = CounterValue},
      {.name = "rate",
       .parameters = {Function::Parameter::kText},
       .result = Type::Kind::kDouble,
       .reads = true,
       .call = RateValue},
      {.name = "delta",
       .parameters = {Function::Parameter::kText},
       .result = Type::Kind::kInt,
       .reads = true,
       .call = DeltaValue},
  };
  static const expression::Environment kPort{.variables = kVariables, .functions = kFunctions};
  static const expression::Environment kDevice{.variables = std::span(kVariables).first(2)};
  static const expression::Environment kNode{.variables = std::span(kVariables).first(1)};
  if (scope == v1::SCOPE_PORT) return kPort;
  return scope == v1::SCOPE_DEVICE ? kDevice : kNode;
}

std::vector<Target> Targets(v1::Scope scope, const v1::NodeSnapshot& node) {
  if (scope == v1::SCOPE_NODE) return {{}};
  std::vector<Target> targets;
  for (const v1::RdmaDevice& device : node.rdma_devices()) {
    if (scope == v1::SCOPE_DEVICE) targets.push_back({.device = &device});
    for (const v1::Port& port : device.ports())
      if (scope == v1::SCOPE_PORT) targets.push_back({.device = &device, .port = &port});
  }
  return targets;
}

std::string TargetName(const Target& target) {
  if (target.device == nullptr) return "node";
  if (target.port == nullptr) return target.device->name();
  return Format("{}/{}", target.device->name(), target.port->number());
}

bool IsFor(const Rule& rule, const v1::NodeSnapshot& node) {
  return rule.nodes.empty() ||
         std::any_of(rule.nodes.begin(), rule.nodes.end(), [&](const std::string& pattern) {
           return profile::MatchesPattern(pattern, node.node().name());
         });
}

namespace {

// A check that is false now, by what it was before.
Judgement JudgeFalse(const Rule& rule, const Facts& facts, const Target& target,
                     const std::string& subject, History* history) {
  const auto with = [&](v1::Verdict verdict) -> Judgement {
    return {verdict, FindingOf(rule, facts, target, verdict, *rule.check)};
  };
  if (rule.hold == Duration::zero()) return with(v1::VERDICT_FAIL);
  if (history != nullptr) {
    switch (history->OnFalse(subject, FromProto(facts.node.taken_at()), rule.hold)) {
      case History::Verdict::kFailed: return with(v1::VERDICT_FAIL);
      case History::Verdict::kHeld: return {.verdict = v1::VERDICT_PASS, .finding = {}};
      case History::Verdict::kTooShort: break;
    }
  }
  Judgement unknown = with(v1::VERDICT_UNKNOWN);
  unknown.finding->set_title(
      Format("{} cannot be judged: false for {}, expected a history of {}", rule.id,
             ToString(history != nullptr ? history->FalseFor(subject) : Duration::zero()),
             ToString(rule.hold)));
  return unknown;
}

}  // namespace

Judgement Judge(const Rule& rule, const v1::NodeSnapshot& node, const Target& target,
                const Past& past) {
  if (!IsFor(rule, node)) return {};
  const Facts facts(node, target, past.rates);
  const Bindings bindings = facts.Bound();
  History* const history = rule.hold > Duration::zero() ? past.history : nullptr;
  const std::string subject =
      history == nullptr ? std::string() : Format("{} {}", node.node().name(), TargetName(target));
  if (rule.when) {
    const Truth applies = rule.when->Test(bindings);
    if (applies != Truth::kTrue && history != nullptr) history->Forget(subject);
    if (applies == Truth::kFalse) return {};
    if (applies == Truth::kUnknown)
      return {v1::VERDICT_UNKNOWN, FindingOf(rule, facts, target, v1::VERDICT_UNKNOWN, *rule.when)};
  }
  switch (rule.check->Test(bindings)) {
    case Truth::kTrue:
      if (history != nullptr) history->OnTrue(subject, FromProto(node.taken_at()), rule.hold);
      return {.verdict = v1::VERDICT_PASS, .finding = {}};
    case Truth::kFalse: return JudgeFalse(rule, facts, target, subject, history);
    case Truth::kUnknown: break;
  }
  if (history != nullptr) history->Forget(subject);
  return {v1::VERDICT_UNKNOWN, FindingOf(rule, facts, target, v1::VERDICT_UNKNOWN, *rule.check)};
}

Evaluation Evaluate(const Rule& rule, const v1::NodeSnapshot& node, const Past& past) {
  Evaluation evaluation;
  for (const Target& target : Targets(rule.scope, node)) {
    Judgement judgement = Judge(rule, node, target, past);
    if (judgement.verdict == v1::VERDICT_PASS) ++evaluation.passes;
    if (judgement.finding) evaluation.findings.push_back(*std::move(judgement.finding));
  }
  return evaluation;
}

v1::RuleInfo Info(const Rule& rule) {
  v1::RuleInfo info;
  info.set_id(rule.id);
  info.set_title(rule.title);
  info.set_severity(rule.severity);
  info.set_scope(rule.scope);
  info.set_why(rule.why);
  info.set_source(rule.source.empty() ? rule.location : rule.source);
  return info;
}

}  // namespace fabric::custom
