#include "subnet/checks/check.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

std::string FindingIdOf(std::string_view rule, const v1::Subject& subject, std::string_view key) {
  std::uint64_t hash = Fnv(rule);
  for (const std::string_view part :
       {std::string_view(subject.node()), std::string_view(subject.device()),
        std::string_view(subject.switch_name()), std::string_view(subject.switch_port()), key})
    hash = Fnv(part, FnvStep(hash, 0x100));
  return Format("{:016x}", FnvStep(hash, subject.port()));
}

std::string SourceNames(const Subnet& subnet) {
  std::vector<std::string> names;
  for (const Source& source : subnet.sources()) names.push_back(source.file);
  return Join(names, ", ");
}

std::uint32_t Clamped(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 0xffffffff));
}

// A name such as mlx5_2, which tools accept as -C.
bool IsDeviceName(std::string_view device) {
  return device.find('_') != std::string_view::npos && device.find(' ') == std::string_view::npos;
}

}  // namespace

void Verdicts::Begin(const Check& check) {
  check_ = &check;
  judged_.push_back({.id = check.id});
}

void Verdicts::Pass(std::uint64_t count) {
  pass_ += count;
  judged_.back().verdicts += count;
}

void Verdicts::Fail(Failure failure) {
  ++fail_;
  ++judged_.back().verdicts;
  if (++judged_.back().findings > kFindingsMax) {
    ++omitted_;
    return;
  }
  v1::Finding& finding = findings_.emplace_back();
  finding.set_id(FindingIdOf(check_->id, failure.subject, failure.key));
  finding.set_rule(std::string(check_->id));
  finding.set_verdict(v1::VERDICT_FAIL);
  finding.set_severity(check_->severity);
  finding.set_title(std::move(failure.title));
  v1::Evidence& evidence = *finding.add_evidence();
  evidence.set_what(std::move(failure.what));
  evidence.set_expected(std::move(failure.expected));
  evidence.set_seen(std::move(failure.seen));
  evidence.set_basis(std::move(failure.basis));
  evidence.set_source(source_);
  for (v1::Remedy& remedy : failure.remedies) *finding.add_remedies() = std::move(remedy);
  if (failure.affected.empty()) *finding.add_affected() = failure.subject;
  for (v1::Subject& subject : failure.affected) *finding.add_affected() = std::move(subject);
  *finding.mutable_subject() = std::move(failure.subject);
}

void Verdicts::Unknown(std::string reason) {
  ++unknown_;
  ++judged_.back().verdicts;
  unknowns_.emplace_back(reason, check_->id);
  v1::Finding& finding = findings_.emplace_back();
  *finding.mutable_subject() = WholeSubnet();
  finding.set_id(FindingIdOf(check_->id, finding.subject(), reason));
  finding.set_rule(std::string(check_->id));
  finding.set_verdict(v1::VERDICT_UNKNOWN);
  finding.set_severity(check_->severity);
  finding.set_title(std::move(reason));
}

v1::Coverage Verdicts::CoverageOf(std::size_t checks) const {
  v1::Coverage coverage;
  for (const Judged& judged : judged_)
    if (judged.verdicts > 0) coverage.add_judged(std::string(judged.id));
  std::sort(coverage.mutable_judged()->begin(), coverage.mutable_judged()->end());
  const auto judged = static_cast<std::uint32_t>(coverage.judged_size());
  coverage.set_rules_judged(judged);
  coverage.set_rules_not_applicable(static_cast<std::uint32_t>(checks) - judged);
  std::map<std::string, std::set<std::string>> by_reason;
  for (const auto& [reason, id] : unknowns_) by_reason[reason].insert(id);
  for (const auto& [reason, ids] : by_reason) {
    v1::UnreadReason& unread = *coverage.add_unread();
    unread.set_reason(reason);
    unread.set_verdicts(static_cast<std::uint32_t>(ids.size()));
    for (const std::string& id : ids) unread.add_rules(id);
  }
  return coverage;
}

Result<double> ParseOversubscription(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !(value > 0) || value > 1000)
    return Status(Code::kInvalidArgument,
                  Format("expected a number from 0 to 1000, saw {}", Quoted(text)));
  return value;
}

Evaluation Evaluate(const Subnet& subnet, const Plan* plan, const Expectations& expected) {
  const Graph graph(subnet);
  const Levels levels = LevelsOf(graph);
  std::optional<RouteReport> routes;
  std::optional<CreditLoops> credit_loops;
  const std::size_t mixed = subnet.CountMixed();
  if (subnet.HasRoutes() && mixed == 0) {
    routes = AnalyseRoutes(graph);
    credit_loops = FindCreditLoops(graph, *routes);
  }
  const CheckInput input{.graph = graph,
                         .levels = levels,
                         .routes = routes ? &*routes : nullptr,
                         .credit_loops = credit_loops ? &*credit_loops : nullptr,
                         .plan = plan,
                         .expected = expected};
  Verdicts verdicts(SourceNames(subnet));
  for (const Check* const check : AllChecks()) {
    verdicts.Begin(*check);
    if (subnet.reading() && !subnet.reading()->changed.empty())
      verdicts.Unknown(Format("the subnet changed while it was read ({}); read it again",
                              subnet.reading()->changed));
    else if (mixed > 0)
      verdicts.Unknown(
          Format("the files have {} subnets, which use the same LIDs and have no cable "
                 "between them; check each of them by itself",
                 mixed));
    else
      check->judge(input, verdicts);
  }
  Evaluation evaluation;
  evaluation.counts.set_pass(Clamped(verdicts.passed()));
  evaluation.counts.set_fail(Clamped(verdicts.failed()));
  evaluation.counts.set_unknown(Clamped(verdicts.unknown()));
  evaluation.coverage = verdicts.CoverageOf(AllChecks().size());
  evaluation.omitted = verdicts.omitted();
  evaluation.findings = verdicts.TakeFindings();
  return evaluation;
}

namespace {

void Combine(const v1::Coverage& one, std::set<std::string>& judged,
             std::map<std::string, v1::UnreadReason>& unread) {
  judged.insert(one.judged().begin(), one.judged().end());
  for (const v1::UnreadReason& each : one.unread()) {
    v1::UnreadReason& sum = unread[each.reason()];
    sum.set_reason(each.reason());
    sum.set_verdicts(sum.verdicts() + each.verdicts());
    std::set<std::string> rules(sum.rules().begin(), sum.rules().end());
    rules.insert(each.rules().begin(), each.rules().end());
    sum.mutable_rules()->Assign(rules.begin(), rules.end());
  }
}

}  // namespace

Evaluation Combine(const std::vector<std::pair<std::string, const Evaluation*>>& subnets) {
  Evaluation all;
  std::set<std::string> judged;
  std::map<std::string, v1::UnreadReason> unread;
  for (const auto& [name, one] : subnets) {
    all.counts.set_pass(all.counts.pass() + one->counts.pass());
    all.counts.set_fail(all.counts.fail() + one->counts.fail());
    all.counts.set_unknown(all.counts.unknown() + one->counts.unknown());
    all.omitted += one->omitted;
    for (v1::Finding finding : one->findings) {
      finding.set_id(Format("{:016x}", Fnv(finding.id(), Fnv(name))));
      all.findings.push_back(std::move(finding));
    }
    Combine(one->coverage, judged, unread);
  }
  all.coverage.mutable_judged()->Assign(judged.begin(), judged.end());
  all.coverage.set_rules_judged(Clamped(judged.size()));
  all.coverage.set_rules_not_applicable(Clamped(AllChecks().size() - judged.size()));
  for (auto& [reason, each] : unread) *all.coverage.add_unread() = std::move(each);
  return all;
}

v1::RuleInfo Info(const Check& check) {
  v1::RuleInfo info;
  info.set_id(std::string(check.id));
  info.set_title(std::string(check.title));
  info.set_severity(check.severity);
  info.set_scope(v1::SCOPE_FLEET);
  info.set_why(std::string(check.why));
  info.set_family("subnet");
  info.set_needs("files of the InfiniBand subnet");
  return info;
}

v1::Subject SubjectOf(const Subnet& subnet, End end) {
  const Node& node = subnet.node(end.node);
  if (const Port* const port = subnet.FindPort(end);
      IsAggregationNode(node) && port != nullptr && port->Peer().present() &&
      subnet.node(port->peer).type == NodeType::kSwitch)
    return SubjectOf(subnet, port->Peer());
  v1::Subject subject;
  if (node.type == NodeType::kSwitch) {
    subject.set_scope(v1::SCOPE_SWITCH);
    subject.set_switch_name(NameOf(node));
    if (end.port != 0) subject.set_switch_port(std::to_string(end.port));
    return subject;
  }
  subject.set_scope(v1::SCOPE_PORT);
  if (node.description.empty() || HasGenericDescription(node)) {
    subject.set_node(NameOf(node));
  } else {
    subject.set_node(std::string(HostOf(node)));
    subject.set_device(std::string(DeviceOf(node)));
    if (node.shares_name)
      subject.set_device(std::string(Trim(subject.device() + " " + GuidText(node.guid))));
  }
  subject.set_port(end.port);
  return subject;
}

v1::Subject SubjectOf(const Subnet& subnet, const Cable& cable) {
  const bool from_switch = subnet.node(cable.from.node).type == NodeType::kSwitch;
  const End end = from_switch ? cable.from : cable.to;
  const End far = from_switch ? cable.to : cable.from;
  v1::Subject subject = SubjectOf(subnet, far);
  const v1::Subject at_switch = SubjectOf(subnet, end);
  if (subnet.node(far.node).type == NodeType::kSwitch || subject.switch_name().empty()) {
    subject.set_switch_name(at_switch.switch_name());
    subject.set_switch_port(at_switch.switch_port());
  }
  subject.set_scope(v1::SCOPE_LINK);
  return subject;
}

v1::Subject WholeSubnet() {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  return subject;
}

v1::Remedy Advice(std::string note) {
  v1::Remedy remedy;
  remedy.set_platform("any");
  remedy.set_note(std::move(note));
  return remedy;
}

std::vector<v1::Remedy> CableRemedies(const Subnet& subnet, const Cable& cable, std::string note) {
  std::vector<v1::Remedy> remedies = {Advice(std::move(note))};
  for (const End end : {cable.from, cable.to}) {
    const Node& node = subnet.node(end.node);
    if (node.type != NodeType::kAdapter || HasGenericDescription(node) ||
        !IsDeviceName(DeviceOf(node)))
      continue;
    v1::Remedy& remedy = remedies.emplace_back();
    remedy.set_platform("any");
    remedy.set_command(Format("iblinkinfo -C {} -P {} -D 0", DeviceOf(node), end.port));
    remedy.set_affects(v1::REMEDY_REACH_NOTHING);
    remedy.set_host(std::string(HostOf(node)));
  }
  return remedies;
}

}  // namespace fabric::subnet
