#include "daemon/rules/engine/equality_judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

// nullptr when several values are equally frequent. Silent members break a tie.
ValueGroup* MajorityOf(const PeerGroup& group) {
  ValueGroup* majority = nullptr;
  std::pair<std::size_t, std::size_t> most;
  for (const auto& [value, values] : group.values) {
    const std::pair count = {values->judged(), values->members.size()};
    if (count == most) majority = nullptr;
    if (count <= most) continue;
    majority = values.get();
    most = count;
  }
  return majority;
}

// The judged members, and the number of their values.
struct JudgedMembers {
  std::size_t members = 0;
  std::size_t values = 0;
};

JudgedMembers JudgedOf(const PeerGroup& group) {
  JudgedMembers judged;
  for (const auto& [value, values] : group.values) {
    judged.members += values->judged();
    judged.values += values->judged() > 0 ? 1 : 0;
  }
  return judged;
}

bool Contains(const std::vector<Ref>& refs, const Ref& ref) {
  return std::find(refs.begin(), refs.end(), ref) != refs.end();
}

// Names of the first kEvidenceMax nodes, and the number of all nodes.
void SummarizeNodes(const ValueGroup& values, const NodeIndex& nodes, ValueSummary& summary) {
  std::vector<std::uint32_t> numbers;
  for (const Ref& ref : values.members) numbers.push_back(ref.node);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  summary.all_nodes = numbers.size();
  const auto end =
      numbers.begin() + static_cast<std::ptrdiff_t>(std::min(kEvidenceMax, numbers.size()));
  std::partial_sort(numbers.begin(), end, numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes.Before({.node = a}, {.node = b});
  });
  for (auto at = numbers.begin(); at != end; ++at)
    summary.nodes.push_back(nodes.at(*at).node->name);
}

}  // namespace

void EqualityJudge::Judge(PeerGroup& group) {
  const ValueGroup* const before = group.majority;
  if (group.members_changed) group.majority = MajorityOf(group);
  const std::size_t most = group.majority != nullptr ? group.majority->judged() : 0;
  const bool needs_half = group.comparison->equality->needs_absolute_majority;
  const JudgedMembers judged = JudgedOf(group);
  if (judged.values <= 1 || (needs_half && 2 * most <= judged.members))
    return PassAll(group, judged.members);
  if (group.majority == nullptr) return ReportTie(group);
  if (before != group.majority) group.basis.clear();
  findings_.Drop(group.outcome.ids);
  findings_.CountPasses(group.outcome.passes, most);
  ReportDeviating(group);
}

void EqualityJudge::PassAll(PeerGroup& group, std::size_t members) {
  for (auto& [ref, ids] : group.member_findings) findings_.Drop(ids);
  group.member_findings.clear();
  group.basis.clear();
  findings_.Drop(group.outcome.ids);
  findings_.CountPasses(group.outcome.passes, members);
}

void EqualityJudge::ReportTie(PeerGroup& group) {
  for (auto& [ref, ids] : group.member_findings) findings_.Drop(ids);
  group.member_findings.clear();
  group.basis.clear();
  const bool changed =
      group.members_changed || std::ranges::any_of(group.touched, [&](const Ref& ref) {
        return Contains(group.shown, ref);
      });
  if (!changed) return;
  const Comparison& comparison = *group.comparison;
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  FailGroup(*comparison.equality, group.key, LargestValues(group), JudgedOf(group).values,
            group.members, MembersOf(group), out);
  findings_.Replace(group.outcome, out);
}

// The first kAffectedMax members that are judged.
std::vector<v1::Subject> EqualityJudge::MembersOf(const PeerGroup& group) const {
  std::vector<Ref> refs;
  for (const auto& [value, values] : group.values)
    std::ranges::copy_if(values->members, std::back_inserter(refs),
                         [&](const Ref& ref) { return !slots_.At(*group.comparison, ref).silent; });
  const auto end = refs.begin() + static_cast<std::ptrdiff_t>(std::min(kAffectedMax, refs.size()));
  std::partial_sort(refs.begin(), end, refs.end(),
                    [&](const Ref& a, const Ref& b) { return nodes_.Before(a, b); });
  std::vector<v1::Subject> subjects;
  for (auto at = refs.begin(); at != end; ++at) subjects.push_back(SubjectOf(nodes_.MemberOf(*at)));
  return subjects;
}

// Also sets the members that the finding shows.
std::vector<ValueSummary> EqualityJudge::LargestValues(PeerGroup& group) {
  std::vector<ValueGroup*> largest;
  for (const auto& [value, values] : group.values)
    if (values->judged() > 0) largest.push_back(values.get());
  std::sort(largest.begin(), largest.end(), [](const ValueGroup* a, const ValueGroup* b) {
    if (a->members.size() != b->members.size()) return a->members.size() > b->members.size();
    return a->value < b->value;
  });
  if (largest.size() > kListedMax) largest.resize(kListedMax);
  group.shown.clear();
  std::vector<ValueSummary> summaries;
  for (ValueGroup* const values : largest) {
    const Ref first = FirstOf(*values, nodes_, slots_);
    group.shown.push_back(first);
    ValueSummary& summary = summaries.emplace_back();
    summary.value = values->value;
    summary.first = nodes_.MemberOf(first);
    summary.members = values->members.size();
    SummarizeNodes(*values, nodes_, summary);
  }
  return summaries;
}

// All deviating members when the texts change; otherwise those that have changed themselves.
void EqualityJudge::ReportDeviating(PeerGroup& group) {
  const EqualityRule& equality = *group.comparison->equality;
  ValueGroup& majority = *group.majority;
  std::string basis = Basis(equality, group.key, majority.members.size(), group.members);
  std::optional<Ref> example;
  if (equality.more != nullptr || equality.show_difference != nullptr)
    example = FirstOf(majority, nodes_, slots_);
  const bool all = basis != group.basis || example != group.example ||
                   (example && Contains(group.touched, *example));
  group.basis = std::move(basis);
  group.example = example;
  if (!all) {
    for (const Ref& ref : group.touched) {
      const Slot* const slot = slots_.Find(group, ref);
      if (slot != nullptr && !slot->silent && slot->group != group.majority)
        ReportMember(group, ref);
    }
    return;
  }
  for (const auto& [value, values] : group.values) {
    if (values.get() == group.majority) continue;
    for (const Ref& ref : values->members)
      if (!slots_.At(*group.comparison, ref).silent) ReportMember(group, ref);
  }
  // Members that have joined the majority.
  for (auto found = group.member_findings.begin(); found != group.member_findings.end();) {
    const bool deviates = slots_.Find(group, found->first)->group != group.majority;
    if (!deviates) findings_.Drop(found->second);
    found = deviates ? std::next(found) : group.member_findings.erase(found);
  }
}

void EqualityJudge::ReportMember(PeerGroup& group, const Ref& ref) {
  const Comparison& comparison = *group.comparison;
  const Member example = group.example ? nodes_.MemberOf(*group.example) : Member();
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  FailMember(*comparison.equality, nodes_.MemberOf(ref), slots_.At(comparison, ref).group->value,
             group.majority->value, group.basis, group.example ? &example : nullptr, out);
  findings_.Replace(group.member_findings[ref], out.findings());
}

}  // namespace fabric::rules
