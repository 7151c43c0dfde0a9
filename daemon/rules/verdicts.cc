#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// 64-bit FNV-1a. Stored ids depend on it: it must be the same on all machines and in all versions.
class Fingerprint {
 public:
  Fingerprint& Add(std::string_view part) {
    hash_ = FnvStep(Fnv(part, hash_), 0);
    return *this;
  }
  Fingerprint& Add(std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) hash_ = FnvStep(hash_, number >> shift & 0xff);
    return *this;
  }
  std::string Hex() const { return Format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = kFnvOffset;
};

// Ignores netdev and rail of a port: they can change while the finding stays the same.
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

void SetAffected(v1::Finding& finding, std::vector<v1::Subject> subjects, std::size_t total) {
  total = std::max(total, subjects.size());
  if (subjects.size() > kAffectedMax) subjects.resize(kAffectedMax);
  finding.mutable_affected()->Assign(std::make_move_iterator(subjects.begin()),
                                     std::make_move_iterator(subjects.end()));
  const bool cut = total > static_cast<std::size_t>(finding.affected_size());
  finding.set_affected_total(cut ? static_cast<std::uint32_t>(total) : 0);
}

void Verdicts::SetAffected(std::vector<v1::Subject> subjects, std::size_t total) {
  rules::SetAffected(findings_.back(), std::move(subjects), total);
}

void Verdicts::Add(v1::Finding finding, std::string_view key) {
  if (finding.affected().empty() && !finding.subject().node().empty())
    *finding.add_affected() = finding.subject();
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
  for (v1::Remedy& remedy : remedies) {
    SetHost(finding.subject().node(), remedy);
    *finding.add_remedies() = std::move(remedy);
  }
}

void Verdicts::Unknown(v1::Subject subject, std::string title, std::vector<v1::Evidence> evidence,
                       std::string_view key) {
  Build(std::move(subject), std::move(title), std::move(evidence), key)
      .set_verdict(v1::VERDICT_UNKNOWN);
}

std::string NeedsText(const Rule& rule) {
  std::string text;
  for (const Input input : rule.needs)
    text += Format("{}{}", text.empty() ? "" : ", ", InputName(input));
  if (rule.access == Access::kSysAdmin) text += " (CAP_SYS_ADMIN)";
  if (rule.access == Access::kJobNamespace) text += " (--netns)";
  if (rule.access == Access::kJobEnvironment) text += " (CAP_SYS_PTRACE)";
  return text;
}

std::vector<std::string> ProfileFields(const Rule& rule) {
  std::vector<std::string> names;
  for (const int number : rule.profile)
    names.emplace_back(v1::Expectations::descriptor()->FindFieldByNumber(number)->name());
  return names;
}

v1::RuleInfo Info(const Rule& rule) {
  v1::RuleInfo info;
  info.set_id(std::string(rule.id));
  info.set_title(std::string(rule.title));
  info.set_severity(rule.severity);
  info.set_scope(rule.scope);
  info.set_why(std::string(rule.why));
  info.set_source(std::string(rule.source));
  info.set_family(std::string(FolderOf(rule)));
  info.set_needs(NeedsText(rule));
  for (const std::string& field : ProfileFields(rule)) info.add_profile_values(field);
  info.set_fix(std::string(rule.fix));
  return info;
}

}  // namespace fabric::rules
