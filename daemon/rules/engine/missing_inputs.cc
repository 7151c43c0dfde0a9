#include "daemon/rules/engine/missing_inputs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

constexpr std::string_view kNotReported = "not reported by the agent";

bool IsExpected(const fleet::Expectation& expectation, int number) {
  if (expectation.profile.empty()) return false;
  const v1::Expectations& expected = expectation.values;
  const auto* const field = v1::Expectations::descriptor()->FindFieldByNumber(number);
  const auto* const reflection = v1::Expectations::GetReflection();
  return field->is_repeated() ? reflection->FieldSize(expected, field) > 0
                              : reflection->HasField(expected, field);
}

bool IsAlwaysUnknown(const Read& read, const FieldInfo& info) {
  return read.always || read.profile != 0 || info.absence == Absence::kUnknown;
}

// UNKNOWN only with a gap that says that the value could not be read.
bool IsOptional(const Read& read, const FieldInfo& info) {
  return info.absence == Absence::kOptional && !IsAlwaysUnknown(read, info);
}

bool IsUnknown(const Read& read, const FieldInfo& info, const v1::Gap* gap) {
  if (IsAlwaysUnknown(read, info)) return true;
  if (gap == nullptr) return info.absence == Absence::kGapOrSilent;
  return !SaysThatThereIsNone(*gap);
}

// Members that have findings of a rule.
class MembersWithFindings {
 public:
  explicit MembersWithFindings(const std::vector<v1::Finding>& findings) {
    for (const v1::Finding& finding : findings) Add(finding.rule(), finding.subject());
  }
  void Add(std::string_view rule, const v1::Subject& subject) {
    members_.emplace(rule, subject.device(), subject.port());
  }
  // Port 0 of a subject means all ports of its device.
  bool Has(std::string_view rule, const v1::Subject& subject) const {
    const auto first = members_.lower_bound({std::string(rule), subject.device(), 0});
    if (first == members_.end()) return false;
    const auto& [known_rule, device, port] = *first;
    if (known_rule != rule || device != subject.device()) return false;
    return port == 0 || subject.port() == 0 ||
           members_.contains({std::string(rule), subject.device(), subject.port()});
  }

 private:
  std::set<std::tuple<std::string, std::string, std::uint32_t>> members_;
};

bool TakesPart(const fleet::PortView& port) {
  return port.rail && port.up && !port.expected().unused();
}

}  // namespace

MissingInputs::MissingInputs(std::span<const Rule* const> rules) {
  for (std::size_t number = 0; number < kFields; ++number) {
    Uses uses{.field = static_cast<Field>(number), .uses = {}};
    for (const Rule* const rule : rules)
      for (const Read& read : rule->reads)
        if (read.field == uses.field) uses.uses.push_back({.rule = rule, .read = &read});
    if (uses.uses.empty()) continue;
    uses.only_optional = std::ranges::all_of(
        uses.uses, [&](const Use& use) { return IsOptional(*use.read, InfoOf(uses.field)); });
    (IsOfNode(uses.field) ? of_nodes_ : of_ports_).push_back(std::move(uses));
  }
}

void MissingInputs::Find(const fleet::NodeView& node) {
  missing_.clear();
  lacking_.clear();
  gaps_.Index(node.node->snapshot);
  FindIn(of_nodes_, {.node = &node});
  for (const Missing& each : missing_) lacking_.push_back(each.rule);
  for (const fleet::PortView& port : node.ports)
    if (TakesPart(port)) FindIn(of_ports_, {.node = &node, .port = &port});
}

void MissingInputs::FindIn(const std::vector<Uses>& fields, const Member& member) {
  for (const Uses& each : fields) {
    if (each.only_optional && !gaps_.HasUnread()) continue;
    const FieldInfo& info = InfoOf(each.field);
    if (info.present(member)) continue;
    std::optional<const v1::Gap*> gap;
    const Rule* last = nullptr;  // A rule may read a field twice, for different members.
    for (const auto& [rule, read] : each.uses) {
      if (rule == last) continue;
      if (read->profile != 0 && !IsExpected(member.expectation(), read->profile)) continue;
      if (!gaps_.HasUnread() && IsOptional(*read, info)) continue;
      if (read->applies != nullptr && !read->applies(member)) continue;
      if (!gap) gap = gaps_.empty() ? nullptr : gaps_.Find(info.source(member), info.input);
      if (!IsUnknown(*read, info, *gap)) continue;
      last = rule;
      missing_.push_back({.rule = rule, .member = member, .info = &info, .gap = *gap});
    }
  }
}

bool MissingInputs::LacksNodeField(const Rule& rule) const {
  return std::ranges::find(lacking_, &rule) != lacking_.end();
}

bool MissingInputs::Lacks(const Rule& rule, const fleet::PortView* port) const {
  return std::ranges::any_of(missing_, [&](const Missing& each) {
    return each.rule == &rule && (each.member.port == nullptr || each.member.port == port);
  });
}

// Equal for ports that lack a field for the same reason, in one gap or in one for each of them.
MissingInputs::Cause MissingInputs::CauseOf(const Missing& missing) {
  return {missing.rule, missing.info,
          missing.gap != nullptr ? std::string_view(missing.gap->reason()) : kNotReported};
}

void MissingInputs::Report(Verdicts& all) const {
  if (missing_.empty()) return;
  std::map<Cause, std::vector<const Missing*>> by_cause;
  for (const Missing& each : missing_) by_cause[CauseOf(each)].push_back(&each);
  MembersWithFindings known(all.findings());
  for (const Missing& each : missing_) {
    const std::vector<const Missing*>& same = by_cause.at(CauseOf(each));
    const v1::Subject own = SubjectOf(each.member);
    const v1::Subject subject = same.size() > 1 ? SubjectOf(*each.member.node) : own;
    if (known.Has(each.rule->id, subject) || known.Has(each.rule->id, own)) continue;
    known.Add(each.rule->id, subject);
    ReportUnknown(same, subject, all);
  }
}

void MissingInputs::ReportUnknown(const std::vector<const Missing*>& same, v1::Subject subject,
                                  Verdicts& all) {
  const auto& [rule, info, reason] = CauseOf(*same.front());
  std::vector<v1::Evidence> evidence;
  std::vector<v1::Subject> affected;
  for (const Missing* const each : same) {
    affected.push_back(SubjectOf(each->member));
    if (evidence.size() == kEvidenceMax) continue;
    evidence.push_back(
        ToEvidence(*each->member.node->node, {.what = std::string(info->what),
                                              .expected = "a value",
                                              .seen = Format("not readable: {}", reason),
                                              .source = info->source(each->member),
                                              .basis = "rule",
                                              .unread = true}));
  }
  Verdicts out(rule->id, rule->severity);
  out.Unknown(std::move(subject), Format("{} could not be read: {}", info->what, reason),
              std::move(evidence));
  out.SetAffected(std::move(affected));
  Append(out, all);
}

}  // namespace fabric::rules
