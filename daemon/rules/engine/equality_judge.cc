#include "daemon/rules/engine/equality_judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/rules/engine/work.h"
#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

// The value of most judged members, if more than half of all members have it: silent members break
// a tie, and unread values count against it, because they could be those of another value. nullptr
// otherwise. Members that cannot be compared with each other do not count against a
// value, so that with them the most frequent value is enough.
ValueGroup* MajorityOf(const PeerGroup& group) {
  const bool needs_half = group.comparison->equality->incomparable == nullptr;
  ValueGroup* majority = nullptr;
  std::pair<std::size_t, std::size_t> most;
  for (const auto& [value, values] : group.values) {
    const std::pair count = {values->judged(), values->members.size()};
    if (count == most) majority = nullptr;
    if (count <= most) continue;
    majority = values.get();
    most = count;
  }
  if (majority != nullptr && needs_half && 2 * majority->members.size() <= group.all())
    return nullptr;
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

// Values that are compared with each other: the cost is the square.
constexpr std::size_t kConflictsMax = 32;

// Sorted: most members first, then by value.
void SortBySize(std::vector<ValueGroup*>& groups) {
  std::sort(groups.begin(), groups.end(), [](const ValueGroup* a, const ValueGroup* b) {
    if (a->members.size() != b->members.size()) return a->members.size() > b->members.size();
    return a->value < b->value;
  });
}

}  // namespace

void EqualityJudge::Judge(PeerGroup& group) {
  const ValueGroup* const before = group.majority;
  if (group.members_changed) group.majority = MajorityOf(group);
  const std::size_t most = group.majority != nullptr ? group.majority->judged() : 0;
  const bool needs_half = group.comparison->equality->needs_absolute_majority;
  const JudgedMembers judged = JudgedOf(group);
  const std::size_t unread = group.all() - group.members;
  if (judged.values <= 1 || (needs_half && 2 * most <= judged.members + unread))
    return PassAll(group, judged.members);
  if (group.majority == nullptr) return ReportTie(group);
  if (before != group.majority) group.basis.clear();
  findings_.CountPasses(group.outcome.passes, most);
  FindConflicts(group);
  ReportConflicts(group);
  ReportDeviating(group);
}

// Values that cannot be compared with that of the majority can still differ from each other.
void EqualityJudge::FindConflicts(PeerGroup& group) {
  group.conflicts.clear();
  const EqualityRule& equality = *group.comparison->equality;
  if (equality.incomparable == nullptr) return;
  const auto first_of = [&](ValueGroup& values) {
    return nodes_.MemberOf(FirstOf(values, nodes_, slots_));
  };
  const Member good = first_of(*group.majority);
  std::vector<ValueGroup*> open;
  for (const auto& [value, values] : group.values)
    if (values.get() != group.majority && values->judged() > 0 &&
        !equality.incomparable(first_of(*values), good).empty())
      open.push_back(values.get());
  SortBySize(open);
  if (open.size() > kConflictsMax) open.resize(kConflictsMax);
  for (ValueGroup* const values : open) {
    const auto rival = std::ranges::find_if(open, [&](ValueGroup* other) {
      return other != values && equality.incomparable(first_of(*values), first_of(*other)).empty();
    });
    if (rival != open.end() && (*rival)->members.size() >= values->members.size())
      group.conflicts[values] = *rival;
  }
}

// Equally frequent values: one finding without a culprit.
void EqualityJudge::ReportConflicts(PeerGroup& group) {
  std::vector<ValueGroup*> tied;
  std::size_t members = 0;
  for (const auto& [values, rival] : group.conflicts) {
    if (values->members.size() != rival->members.size()) continue;
    tied.push_back(values);
    members += values->members.size();
  }
  if (tied.size() < 2) return findings_.Drop(group.outcome.ids);
  SortBySize(tied);
  const std::vector<v1::Subject> affected = MembersOf(*group.comparison, tied);
  const std::size_t values = tied.size();
  const Comparison& comparison = *group.comparison;
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  FailGroup(*comparison.equality, group.key, Summaries(group, std::move(tied)), values, members,
            affected, out);
  findings_.Replace(group.outcome.ids, out.findings());
}

void EqualityJudge::PassAll(PeerGroup& group, std::size_t members) {
  group.to_judge.clear();
  for (auto& [ref, ids] : group.member_findings) findings_.Drop(ids);
  group.member_findings.clear();
  group.basis.clear();
  findings_.Drop(group.outcome.ids);
  findings_.CountPasses(group.outcome.passes, members);
}

void EqualityJudge::ReportTie(PeerGroup& group) {
  group.to_judge.clear();
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
            group.all(), MembersOf(comparison, AllValues(group)), out);
  findings_.Replace(group.outcome, out);
}

// The first kAffectedMax members that are judged.
std::vector<v1::Subject> EqualityJudge::MembersOf(const Comparison& comparison,
                                                  const std::vector<ValueGroup*>& groups) const {
  std::vector<Ref> refs;
  for (const ValueGroup* const values : groups)
    std::ranges::copy_if(values->members, std::back_inserter(refs),
                         [&](const Ref& ref) { return !slots_.At(comparison, ref).silent; });
  const auto end = refs.begin() + static_cast<std::ptrdiff_t>(std::min(kAffectedMax, refs.size()));
  std::partial_sort(refs.begin(), end, refs.end(),
                    [&](const Ref& a, const Ref& b) { return nodes_.Before(a, b); });
  std::vector<v1::Subject> subjects;
  for (auto at = refs.begin(); at != end; ++at) subjects.push_back(SubjectOf(nodes_.MemberOf(*at)));
  return subjects;
}

std::vector<ValueGroup*> EqualityJudge::AllValues(const PeerGroup& group) {
  std::vector<ValueGroup*> all;
  for (const auto& [value, values] : group.values) all.push_back(values.get());
  return all;
}

std::vector<ValueSummary> EqualityJudge::LargestValues(PeerGroup& group) {
  std::vector<ValueGroup*> largest = AllValues(group);
  std::erase_if(largest, [](const ValueGroup* values) { return values->judged() == 0; });
  SortBySize(largest);
  return Summaries(group, std::move(largest));
}

// Of the first ones. Also sets the members that the finding shows.
std::vector<ValueSummary> EqualityJudge::Summaries(PeerGroup& group,
                                                   std::vector<ValueGroup*> largest) {
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
  std::string basis = Basis(equality, group.key, majority.members.size(), group.all());
  std::optional<Ref> example;
  if (equality.more != nullptr || equality.show_difference != nullptr)
    example = FirstOf(majority, nodes_, slots_);
  // Conflicts depend on all values.
  const bool all = basis != group.basis || example != group.example ||
                   equality.incomparable != nullptr ||
                   (example && Contains(group.touched, *example));
  group.basis = std::move(basis);
  group.example = example;
  if (!all) {
    group.to_judge.insert(group.to_judge.end(), group.touched.begin(), group.touched.end());
    return;
  }
  group.to_judge.clear();
  for (const auto& [value, values] : group.values)
    if (values.get() != group.majority && !IsTied(group, values.get()))
      group.to_judge.insert(group.to_judge.end(), values->members.begin(), values->members.end());
  // Members that have joined the majority, or whose group has the finding.
  for (auto found = group.member_findings.begin(); found != group.member_findings.end();) {
    ValueGroup* const now = slots_.Find(group, found->first)->group;
    const bool deviates = now != group.majority && !IsTied(group, now);
    if (!deviates) findings_.Drop(found->second);
    found = deviates ? std::next(found) : group.member_findings.erase(found);
  }
}

bool EqualityJudge::IsTied(const PeerGroup& group, ValueGroup* values) {
  const auto found = group.conflicts.find(values);
  return found != group.conflicts.end() &&
         found->second->members.size() == found->first->members.size();
}

std::uint64_t EqualityJudge::JudgeMember(PeerGroup& group, const Ref& ref) {
  const Slot* const slot = slots_.Find(group, ref);
  if (slot == nullptr || slot->silent || slot->group == group.majority ||
      IsTied(group, slot->group))
    return 1;
  ReportMember(group, ref);
  return kWorkOfFinding;
}

void EqualityJudge::ReportMember(PeerGroup& group, const Ref& ref) {
  const Comparison& comparison = *group.comparison;
  const EqualityRule& equality = *comparison.equality;
  ValueGroup* const own = slots_.At(comparison, ref).group;
  Member example = group.example ? nodes_.MemberOf(*group.example) : Member();
  ValueGroup* expected = group.majority;
  std::string basis = group.basis;
  if (const auto found = group.conflicts.find(own); found != group.conflicts.end()) {
    expected = found->second;
    example = nodes_.MemberOf(FirstOf(*expected, nodes_, slots_));
    const std::size_t count = expected->members.size();
    basis = Basis(equality, group.key, count, count + own->members.size()) + " with both values";
  }
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  FailMember(equality, nodes_.MemberOf(ref), own->value, expected->value, basis,
             group.example ? &example : nullptr, out);
  findings_.Replace(group.member_findings[ref], out.findings());
}

}  // namespace fabric::rules
