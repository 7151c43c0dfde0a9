#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// 64-bit FNV-1a: the same on every machine and in every version, which is what a stored id needs.
class Fingerprint {
 public:
  Fingerprint& Add(std::string_view part) {
    for (const char c : part) Byte(static_cast<unsigned char>(c));
    Byte(0);
    return *this;
  }
  Fingerprint& Add(std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) Byte(static_cast<unsigned char>(number >> shift));
    return *this;
  }
  std::string Hex() const { return Format("{:016x}", hash_); }

 private:
  void Byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

// Of a port only what names it: netdev and rail may change while the finding stays the same.
std::string Id(std::string_view rule, const v1::Subject& subject, std::string_view key) {
  const bool is_rail = subject.scope() == v1::SCOPE_RAIL;
  return Fingerprint()
      .Add(rule)
      .Add(static_cast<std::uint32_t>(subject.scope()))
      .Add(subject.node())
      .Add(subject.device())
      .Add(subject.port())
      .Add(subject.device().empty() ? subject.netdev() : std::string())
      .Add(is_rail ? subject.rail() : 0U)
      .Add(key)
      .Hex();
}

}  // namespace

void Verdicts::Add(v1::Finding finding, std::string_view key) {
  finding.set_id(Id(rule_, finding.subject(), key));
  finding.set_rule(std::string(rule_));
  finding.set_severity(severity_);
  findings_.push_back(std::move(finding));
}

v1::Finding& Verdicts::Build(v1::Subject subject, std::string title,
                             std::vector<v1::Evidence> evidence, std::string_view key) {
  v1::Finding finding;
  *finding.mutable_subject() = std::move(subject);
  finding.set_title(std::move(title));
  for (v1::Evidence& item : evidence) *finding.add_evidence() = std::move(item);
  Add(std::move(finding), key);
  return findings_.back();
}

void Verdicts::Fail(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
                    std::vector<v1::Remedy> remedies, std::string_view key) {
  v1::Finding& finding = Build(std::move(subject), std::move(title), std::move(evidence), key);
  finding.set_verdict(v1::VERDICT_FAIL);
  for (v1::Remedy& remedy : remedies) *finding.add_remedies() = std::move(remedy);
}

void Verdicts::Unknown(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
                       std::string_view key) {
  Build(std::move(subject), std::move(title), std::move(evidence), key)
      .set_verdict(v1::VERDICT_UNKNOWN);
}

namespace {

void Collect(Verdicts& verdicts, Evaluation& out) {
  out.counts.set_pass(out.counts.pass() + verdicts.passes());
  for (v1::Finding& finding : verdicts.findings()) {
    if (finding.verdict() == v1::VERDICT_FAIL)
      out.counts.set_fail(out.counts.fail() + 1);
    else
      out.counts.set_unknown(out.counts.unknown() + 1);
    out.findings.push_back(std::move(finding));
  }
}

void Run(const Rule& rule, const fleet::FleetView& fleet, Evaluation& out) {
  Verdicts verdicts(rule.id, rule.severity);
  for (const Agreement& agreement : rule.agreements) Judge(agreement, fleet, verdicts);
  if (rule.evaluate_fleet != nullptr) rule.evaluate_fleet(fleet, verdicts);
  if (rule.evaluate_node != nullptr)
    for (const fleet::NodeView& node : fleet.nodes()) rule.evaluate_node(node, verdicts);
  Collect(verdicts, out);
}

void Run(const NodeRule& rule, const fleet::FleetView& fleet, Evaluation& out) {
  Verdicts verdicts(rule.id, rule.severity);
  for (const fleet::NodeView& node : fleet.nodes()) rule.evaluate(node, verdicts);
  Collect(verdicts, out);
}

}  // namespace

Evaluation Evaluate(const fleet::FleetView& fleet, std::span<const NodeRule> own) {
  Evaluation evaluation;
  for (const Rule* rule : AllRules()) Run(*rule, fleet, evaluation);
  for (const NodeRule& rule : own) Run(rule, fleet, evaluation);
  std::sort(evaluation.findings.begin(), evaluation.findings.end(),
            [](const v1::Finding& a, const v1::Finding& b) { return a.id() < b.id(); });
  return evaluation;
}

v1::RuleInfo Info(const Rule& rule) {
  v1::RuleInfo info;
  info.set_id(std::string(rule.id));
  info.set_title(std::string(rule.title));
  info.set_severity(rule.severity);
  info.set_scope(rule.scope);
  info.set_why(std::string(rule.why));
  info.set_source(std::string(rule.source));
  info.set_family(std::string(rule.family));
  info.set_needs(std::string(rule.needs));
  if (!rule.profile.empty())
    for (const std::string_view field : Split(rule.profile, ' '))
      info.add_profile_values(std::string(field));
  info.set_fix(std::string(rule.fix));
  return info;
}

}  // namespace fabric::rules
