#include "daemon/rules/engine/missing_inputs.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/facts.h"
#include "proto/gaps.h"

namespace fabric::rules {
namespace {

// The driver or the kernel has no such value, or it has no meaning in this state.
bool SaysThatThereIsNone(const v1::Gap& gap) {
  return gap.code() == v1::GAP_CODE_NOT_FOUND || gap.code() == v1::GAP_CODE_UNIMPLEMENTED ||
         gap.code() == v1::GAP_CODE_FAILED_PRECONDITION;
}

// The inspector, or the whole inspection, did not run.
bool IsOfWholeInspector(const v1::Gap& gap, const FieldInfo& info) {
  return gap.path().empty() && gap.subject().empty() &&
         (gap.inspector().empty() || gap.inspector() == InputName(info.input));
}

// The gap that explains the missing field; one that says that it could not be read before others.
const v1::Gap* GapOf(const Member& member, const FieldInfo& info) {
  const std::string source = info.source(member);
  const v1::Gap* found = nullptr;
  for (const v1::Gap& gap : member.snapshot().gaps()) {
    if (!Covers(gap, source) && !IsOfWholeInspector(gap, info)) continue;
    if (!SaysThatThereIsNone(gap)) return &gap;
    if (found == nullptr) found = &gap;
  }
  return found;
}

bool IsExpected(const v1::Expectations& expected, int number) {
  const auto* const field = v1::Expectations::descriptor()->FindFieldByNumber(number);
  const auto* const reflection = v1::Expectations::GetReflection();
  return field->is_repeated() ? reflection->FieldSize(expected, field) > 0
                              : reflection->HasField(expected, field);
}

bool IsUnknown(const Read& read, const FieldInfo& info, const v1::Gap* gap) {
  if (read.always || read.profile != 0 || info.absence == Absence::kUnknown) return true;
  if (gap == nullptr) return info.absence == Absence::kGapOrSilent;
  return !SaysThatThereIsNone(*gap);
}

bool IsSame(const v1::Subject& a, const v1::Subject& b) {
  return a.node() == b.node() && a.device() == b.device() &&
         (a.port() == b.port() || a.port() == 0 || b.port() == 0);
}

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
    (IsOfNode(uses.field) ? of_nodes_ : of_ports_).push_back(std::move(uses));
  }
}

void MissingInputs::Find(const fleet::NodeView& node) {
  missing_.clear();
  if (node.ports.empty()) return;
  FindIn(of_nodes_, {.node = &node});
  for (const fleet::PortView& port : node.ports)
    if (TakesPart(port)) FindIn(of_ports_, {.node = &node, .port = &port});
}

void MissingInputs::FindIn(const std::vector<Uses>& fields, const Member& member) {
  for (const Uses& each : fields) {
    const FieldInfo& info = InfoOf(each.field);
    if (info.present(member)) continue;
    const v1::Gap* gap = nullptr;
    bool searched = false;
    for (const auto& [rule, read] : each.uses) {
      if (read->profile != 0 && !IsExpected(member.expectation().values, read->profile)) continue;
      if (read->applies != nullptr && !read->applies(member)) continue;
      if (!searched) gap = GapOf(member, info);
      searched = true;
      if (!IsUnknown(*read, info, gap)) continue;
      missing_.push_back({.rule = rule, .member = member, .info = &info, .gap = gap});
    }
  }
}

bool MissingInputs::LacksNodeField(const Rule& rule) const {
  return std::any_of(missing_.begin(), missing_.end(), [&](const Missing& each) {
    return each.rule == &rule && each.member.port == nullptr;
  });
}

bool MissingInputs::IsSameCause(const Missing& a, const Missing& b) {
  return a.rule == b.rule && a.info == b.info && a.gap == b.gap;
}

bool MissingInputs::IsOfSeveralPorts(const Missing& missing) const {
  return missing.gap != nullptr && std::ranges::count_if(missing_, [&](const Missing& other) {
                                     return IsSameCause(missing, other);
                                   }) > 1;
}

void MissingInputs::Report(Verdicts& all) const {
  for (const Missing& each : missing_) {
    const v1::Subject subject =
        IsOfSeveralPorts(each) ? SubjectOf(*each.member.node) : SubjectOf(each.member);
    const auto& found = all.findings();
    if (std::any_of(found.begin(), found.end(), [&](const v1::Finding& finding) {
          return finding.rule() == each.rule->id &&
                 (IsSame(finding.subject(), subject) ||
                  IsSame(finding.subject(), SubjectOf(each.member)));
        }))
      continue;
    Verdicts out(each.rule->id, each.rule->severity);
    const std::string reason =
        each.gap != nullptr ? each.gap->reason() : "not reported by the agent";
    out.Unknown(subject, Format("{} could not be read: {}", each.info->what, reason),
                {ToEvidence(*each.member.node->node, {.what = std::string(each.info->what),
                                                      .expected = "a value",
                                                      .seen = "not readable: " + reason,
                                                      .source = each.info->source(each.member),
                                                      .basis = "rule"})});
    Append(out, all);
  }
}

}  // namespace fabric::rules
