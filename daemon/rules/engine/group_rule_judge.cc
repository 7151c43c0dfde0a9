#include "daemon/rules/engine/group_rule_judge.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/work.h"
#include "daemon/rules/group_rule.h"

namespace fabric::rules {
namespace {

// Returns the value group with more than half of the members, otherwise any. Searches all value
// groups only when one with that many members may be unknown: there can be thousands.
ValueGroup& LargestOf(PeerGroup& group) {
  const bool known =
      group.largest != nullptr &&
      (2 * group.largest->members.size() > group.members || 2 * group.size_bound <= group.members);
  if (known) return *group.largest;
  group.size_bound = 0;
  for (const auto& [value, values] : group.values) {
    if (values->members.size() <= group.size_bound) continue;
    group.size_bound = values->members.size();
    group.largest = values.get();
  }
  return *group.largest;
}

}  // namespace

void GroupRuleJudge::Summarize(PeerGroup& group) {
  Comparison& comparison = *group.comparison;
  const GroupRule& rule = *comparison.group_rule;
  if (rule.judge_group != nullptr) return JudgeGroup(group);
  if (group.judged)
    group.to_judge.insert(group.to_judge.end(), group.touched.begin(), group.touched.end());
  else
    ScheduleAll(group);
  if (!group.members_changed) return;
  const GroupSummary before = std::exchange(group.summary, rule.summarize(CountsOf(group, false)));
  if (rule.of_all_groups)
    comparison.summaries_changed = true;
  else
    ScheduleChange(group, before, group.summary);
}

void GroupRuleJudge::JoinSummaries(Comparison& comparison,
                                   const std::function<void(PeerGroup&)>& changed) {
  if (comparison.group_rule == nullptr || !comparison.group_rule->of_all_groups) return;
  std::vector<PeerGroup*> groups;
  for (const auto& [key, group] : comparison.groups) groups.push_back(group.get());
  std::sort(groups.begin(), groups.end(),
            [](const PeerGroup* a, const PeerGroup* b) { return a->key < b->key; });
  GroupSummary joined;
  for (const PeerGroup* const group : groups) {
    const GroupSummary& one = group->summary;
    joined.facts.insert(joined.facts.end(), one.facts.begin(), one.facts.end());
    joined.shown.insert(joined.shown.end(), one.shown.begin(), one.shown.end());
  }
  const GroupSummary before = std::exchange(comparison.joined_summary, std::move(joined));
  for (PeerGroup* const group : groups) {
    ScheduleChange(*group, before, comparison.joined_summary);
    if (!group->to_judge.empty()) changed(*group);
  }
}

void GroupRuleJudge::ScheduleChange(PeerGroup& group, const GroupSummary& before,
                                    const GroupSummary& after) {
  if (before.facts != after.facts) return ScheduleAll(group);
  if (before.shown == after.shown) return;
  for (const auto& [ref, ids] : group.member_findings) group.to_judge.push_back(ref);
}

void GroupRuleJudge::ScheduleAll(PeerGroup& group) {
  group.to_judge.clear();
  for (const auto& [value, values] : group.values)
    group.to_judge.insert(group.to_judge.end(), values->members.begin(), values->members.end());
}

std::uint64_t GroupRuleJudge::JudgeMember(PeerGroup& group, const Ref& ref) {
  Slot* const slot = slots_.Find(group, ref);
  if (slot == nullptr || slot->silent) return 1;
  const Comparison& comparison = *group.comparison;
  const GroupRule& rule = *comparison.group_rule;
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  rule.judge(nodes_.MemberOf(ref), rule.of_all_groups ? comparison.joined_summary : group.summary,
             out);
  const bool passes = out.passes() > 0;
  if (slot->passed != passes)
    findings_.CountPasses(group.outcome.passes,
                          passes ? group.outcome.passes + 1 : group.outcome.passes - 1);
  slot->passed = passes;
  const auto known = group.member_findings.find(ref);
  if (known == group.member_findings.end() && out.findings().empty()) return 1;
  Ids& ids = group.member_findings[ref];
  findings_.Replace(ids, out.findings());
  if (ids.empty()) group.member_findings.erase(ref);
  return kWorkOfFinding;
}

void GroupRuleJudge::JudgeGroup(PeerGroup& group) {
  const Comparison& comparison = *group.comparison;
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  comparison.group_rule->judge_group(CountsOf(group, true), out);
  findings_.Replace(group.outcome, out);
}

ValueCounts GroupRuleJudge::CountsOf(PeerGroup& group, bool by_name) {
  ValueCounts counts{.values = {}, .members = group.all()};
  if (group.values.empty()) return counts;
  const auto add = [&](ValueGroup& values) {
    const Ref any = by_name ? FirstOf(values, nodes_, slots_) : values.members.front();
    counts.values.push_back(
        {.value = values.value, .members = values.members.size(), .any = nodes_.MemberOf(any)});
  };
  if (group.comparison->group_rule->majority_only) {
    add(LargestOf(group));
    return counts;
  }
  for (const auto& [value, values] : group.values) add(*values);
  std::sort(counts.values.begin(), counts.values.end(),
            [](const ValueCounts::Entry& a, const ValueCounts::Entry& b) {
              return a.members != b.members ? a.members > b.members : a.value < b.value;
            });
  return counts;
}

}  // namespace fabric::rules
