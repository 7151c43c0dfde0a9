#include "daemon/rules/engine/peer_comparison.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

// The value of a member that is not judged; `lost`: its node is lost.
std::optional<Value> SilentValueOf(const Comparison& comparison, const Member& member, bool lost) {
  if (const GroupRule* const rule = comparison.group_rule; rule != nullptr) {
    const bool votes = lost && rule->majority_only && !member.expectation().values.unused();
    return votes ? rule->value(member) : std::nullopt;
  }
  const EqualityRule& equality = *comparison.equality;
  if (!lost && (member.port == nullptr || member.port->up || !equality.kept_when_down)) return {};
  const fleet::Expectation& expectation = member.expectation();
  if (equality.expected != nullptr && equality.expected(expectation.values)) return {};
  if (member.port == nullptr) return equality.value(member);
  if (!member.port->rail || expectation.values.unused()) return {};
  if (member.port->up || !equality.kept_when_down) return equality.value(member);
  fleet::PortView up = *member.port;
  up.up = true;
  up.carries_roce = up.roce;
  return equality.value({.node = member.node, .port = &up});
}

// The member takes part, and its value could not be read. A profile decides without peers.
bool IsUnread(const Comparison& comparison, const Member& member, const MissingInputs& missing) {
  if (comparison.group_rule != nullptr)
    return comparison.group_rule->majority_only && missing.Lacks(*comparison.rule, member.port);
  const fleet::Expectation& expectation = member.expectation();
  const bool expects = comparison.equality->expected != nullptr && !expectation.profile.empty() &&
                       comparison.equality->expected(expectation.values);
  return !expects && missing.Lacks(*comparison.rule, member.port);
}

}  // namespace

PeerComparison::PeerComparison(const NodeIndex& nodes, FindingTable& findings)
    : nodes_(nodes),
      findings_(findings),
      equality_judge_(nodes, findings, slots_),
      group_rule_judge_(nodes, findings, slots_) {
  for (const Rule* rule : AllRules()) {
    for (const EqualityRule& equality : rule->equality_rules)
      Add({.rule = rule, .equality = &equality, .of_nodes = equality.of_nodes}, equality.group);
    if (rule->group_rule != nullptr)
      Add({.rule = rule, .group_rule = rule->group_rule, .of_nodes = rule->group_rule->of_nodes},
          rule->group_rule->group);
  }
  slots_.SetComparisons(of_nodes_.size(), of_ports_.size());
}

void PeerComparison::Add(Comparison comparison, GroupFunction group) {
  comparison.rule_number = NumberOf(*comparison.rule);
  const auto known = std::find(group_functions_.begin(), group_functions_.end(), group);
  comparison.group_function = static_cast<std::size_t>(known - group_functions_.begin());
  if (known == group_functions_.end()) group_functions_.push_back(group);
  std::vector<Comparison*>& of_kind = comparison.of_nodes ? of_nodes_ : of_ports_;
  comparison.number = of_kind.size();
  of_kind.push_back(&comparisons_.emplace_back(std::move(comparison)));
}

void PeerComparison::Put(std::uint32_t node, const MissingInputs& missing, Verdicts& out,
                         RuleSet& passing) {
  const ByProfile by_profile{.missing = missing, .verdicts = out, .passing = passing};
  PutNode(node, &by_profile);
}

void PeerComparison::PutSilent(std::uint32_t node) {
  PutNode(node, nullptr);
}

void PeerComparison::PutNode(std::uint32_t node, const ByProfile* out) {
  const auto ports = static_cast<std::uint32_t>(nodes_.at(node).ports.size());
  if (slots_.Has(node) && slots_.Ports(node) != ports) Remove(node);
  slots_.Add(node, ports);
  PutMember({.node = node}, of_nodes_, out);
  for (std::uint32_t port = 0; port < ports; ++port)
    PutMember({.node = node, .port = port}, of_ports_, out);
}

void PeerComparison::AddPassing(RuleSet& rules) const {
  for (const Comparison& comparison : comparisons_) {
    if (rules[comparison.rule_number]) continue;
    rules[comparison.rule_number] =
        std::any_of(comparison.groups.begin(), comparison.groups.end(),
                    [](const auto& group) { return group.second->outcome.passes > 0; });
  }
}

void PeerComparison::AddJudging(std::uint32_t node, RuleSet& rules) const {
  if (!slots_.Has(node)) return;
  const auto judges = [&](const Comparison& comparison, const Ref& ref) {
    const Slot& slot = slots_.At(comparison, ref);
    if (slot.group == nullptr || slot.silent) return false;
    if (comparison.equality != nullptr) return true;
    const bool of_member = comparison.group_rule->judge_group == nullptr;
    return of_member ? slot.passed : slot.group->peers->outcome.passes > 0;
  };
  for (const Comparison* const comparison : of_nodes_)
    if (judges(*comparison, {.node = node})) rules.set(comparison->rule_number);
  for (const Comparison* const comparison : of_ports_)
    for (std::uint32_t port = 0; port < slots_.Ports(node); ++port)
      if (judges(*comparison, {.node = node, .port = port})) rules.set(comparison->rule_number);
}

// Judges what does not depend on peers. Returns the value to compare with peers, if any.
std::optional<Value> PeerComparison::ValueOf(const Comparison& comparison, const Member& member,
                                             const ByProfile& by_profile) {
  if (member.port != nullptr && member.port->expected().unused()) return {};
  if (comparison.group_rule != nullptr) return comparison.group_rule->value(member);
  const EqualityRule& equality = *comparison.equality;
  const std::optional<Value> seen = equality.value(member);
  const fleet::Expectation& expectation = member.expectation();
  const bool expects = equality.expected != nullptr && !expectation.profile.empty();
  if (seen && !expects) return seen;
  if (!seen) return {};  // MissingInputs reports a value that could not be read.
  Verdicts out(comparison.rule->id, comparison.rule->severity);
  const std::optional<Value> expected = equality.expected(expectation.values);
  if (!expected) return seen;
  if (*expected == *seen) {
    out.Pass();
    by_profile.passing.set(comparison.rule_number);
  } else {
    FailMember(equality, member, *seen, *expected, ProfileBasis(expectation), nullptr, out);
  }
  Append(out, by_profile.verdicts);
  return {};
}

void PeerComparison::PutMember(const Ref& ref, std::vector<Comparison*>& comparisons,
                               const ByProfile* out) {
  const Member member = nodes_.MemberOf(ref);
  known_groups_.assign(group_functions_.size(), {});
  for (Comparison* const comparison : comparisons) {
    Slot& slot = slots_.At(*comparison, ref);
    std::optional<Value> value;
    if (out != nullptr) value = ValueOf(*comparison, member, *out);
    const bool silent = !value;
    if (silent) value = SilentValueOf(*comparison, member, out == nullptr);
    const bool unread = !value && out != nullptr && IsUnread(*comparison, member, out->missing);
    if ((!value && !unread) || !GroupOf(*comparison, member)) {
      if (slot.group != nullptr) Leave(ref, slot);
      continue;
    }
    const Group& key = *GroupOf(*comparison, member);
    const bool same =
        slot.group != nullptr && slot.group->unread == unread && slot.group->peers->key == key;
    if (unread) {
      if (same) continue;
      if (slot.group != nullptr) Leave(ref, slot);
      Join(UnreadIn(GroupIn(*comparison, key)), ref, true, slot);
      continue;
    }
    if (same && slot.silent == silent && slot.group->value == *value) {
      Touch(*slot.group, ref);
      continue;
    }
    if (slot.group != nullptr) Leave(ref, slot);
    Join(ValuesFor(*comparison, ref, key, *value), ref, silent, slot);
  }
}

const std::optional<Group>& PeerComparison::GroupOf(const Comparison& comparison,
                                                    const Member& member) {
  KnownGroup& known = known_groups_[comparison.group_function];
  if (!std::exchange(known.known, true))
    known.group = group_functions_[comparison.group_function](member);
  return known.group;
}

ValueGroup& PeerComparison::ValuesFor(Comparison& comparison, const Ref& ref, const Group& key,
                                      const Value& value) {
  const std::size_t index = comparison.of_nodes ? 0 : ref.port;
  if (comparison.last_joined.size() <= index) comparison.last_joined.resize(index + 1);
  ValueGroup*& last = comparison.last_joined[index];
  if (last == nullptr || last->value != value || last->peers->key != key)
    last = &ValuesIn(GroupIn(comparison, key), value);
  return *last;
}

PeerGroup& PeerComparison::GroupIn(Comparison& comparison, const Group& key) {
  if (const auto known = comparison.groups.find(key); known != comparison.groups.end())
    return *known->second;
  auto group = std::make_unique<PeerGroup>();
  group->comparison = &comparison;
  group->like = key.like;
  group->key = key;
  group->key.like = group->like;
  const Group own_key = group->key;
  return *comparison.groups.emplace(own_key, std::move(group)).first->second;
}

ValueGroup& PeerComparison::ValuesIn(PeerGroup& group, const Value& value) {
  if (const auto known = group.values.find(value); known != group.values.end())
    return *known->second;
  auto values = std::make_unique<ValueGroup>();
  values->peers = &group;
  values->text = value.text;
  values->value = {.number = value.number, .text = values->text};
  const Value own_value = values->value;
  return *group.values.emplace(own_value, std::move(values)).first->second;
}

ValueGroup& PeerComparison::UnreadIn(PeerGroup& group) {
  if (group.unread) return *group.unread;
  group.unread = std::make_unique<ValueGroup>();
  group.unread->peers = &group;
  group.unread->unread = true;
  return *group.unread;
}

void PeerComparison::Wait(PeerGroup& group) {
  if (!std::exchange(group.waiting, true)) waiting_.push_back(&group);
}

void PeerComparison::Join(ValueGroup& values, const Ref& ref, bool silent, Slot& slot) {
  PeerGroup& group = *values.peers;
  slot = {.group = &values,
          .index = static_cast<std::uint32_t>(values.members.size()),
          .silent = silent};
  values.members.push_back(ref);
  values.silent += silent ? 1 : 0;
  if (!silent && values.first && nodes_.Before(ref, *values.first)) values.first = ref;
  group.members_changed = true;
  Wait(group);
  if (values.unread) return;
  ++group.members;
  group.size_bound = std::max(group.size_bound, values.members.size());
  if (group.largest == nullptr || values.members.size() > group.largest->members.size())
    group.largest = &values;
  if (group.judged) group.touched.push_back(ref);
}

void PeerComparison::Leave(const Ref& ref, Slot& slot) {
  ValueGroup& values = *slot.group;
  PeerGroup& group = *values.peers;
  if (slot.passed) findings_.CountPasses(group.outcome.passes, group.outcome.passes - 1);
  if (const auto found = group.member_findings.find(ref); found != group.member_findings.end()) {
    findings_.Drop(found->second);
    group.member_findings.erase(found);
  }
  // The last member moves to the free position.
  const Ref last = values.members.back();
  values.members[slot.index] = last;
  slots_.At(*group.comparison, last).index = slot.index;
  values.members.pop_back();
  values.silent -= slot.silent ? 1 : 0;
  slot = {};
  if (values.first == ref) values.first.reset();
  group.members_changed = true;
  Wait(group);
  if (values.unread) return;
  --group.members;
  if (!values.members.empty()) return;
  if (group.majority == &values) group.majority = nullptr;
  if (group.largest == &values) group.largest = nullptr;
  group.comparison->last_joined.clear();
  group.values.erase(group.values.find(values.value));
}

// The member has changed and has the same value. This matters for a group rule, and when a finding
// is about the member or shows it.
void PeerComparison::Touch(ValueGroup& values, const Ref& ref) {
  PeerGroup& group = *values.peers;
  const bool not_shown = group.values.size() == 1 ||
                         (group.judged && group.majority == &values && group.example != ref);
  if (not_shown && group.comparison->equality != nullptr) return;
  group.touched.push_back(ref);
  Wait(group);
}

void PeerComparison::Remove(std::uint32_t node) {
  if (!slots_.Has(node)) return;
  const auto leave = [&](const Comparison& comparison, const Ref& ref) {
    Slot& slot = slots_.At(comparison, ref);
    if (slot.group != nullptr) Leave(ref, slot);
  };
  for (const Comparison* const comparison : of_nodes_) leave(*comparison, {.node = node});
  for (const Comparison* const comparison : of_ports_)
    for (std::uint32_t port = 0; port < slots_.Ports(node); ++port)
      leave(*comparison, {.node = node, .port = port});
  slots_.Remove(node);
}

void PeerComparison::CloseEmptyGroups() {
  const auto is_empty = [](const PeerGroup* group) { return group->all() == 0; };
  std::erase_if(queue_, is_empty);
  std::erase_if(waiting_, [&](PeerGroup* group) {
    if (!is_empty(group)) return false;
    findings_.Drop(group->outcome);
    Comparison& comparison = *group->comparison;
    comparison.summaries_changed = true;
    comparison.groups.erase(comparison.groups.find(group->key));
    return true;
  });
}

// First all groups: what is known of them decides about their members, also about those that were
// left to be judged before the group has changed.
bool PeerComparison::Judge(WorkLeft& work) {
  CloseEmptyGroups();
  while (!waiting_.empty()) {
    if (work.over()) return false;
    PeerGroup& group = *waiting_.back();
    waiting_.pop_back();
    work.Spend(8 + group.values.size() + group.members / 16 + group.member_findings.size());
    JudgeGroup(group);
  }
  for (Comparison& comparison : comparisons_)
    if (std::exchange(comparison.summaries_changed, false))
      group_rule_judge_.JoinSummaries(comparison, [this](PeerGroup& group) { Queue(group); });
  return JudgeMembers(work);
}

void PeerComparison::JudgeGroup(PeerGroup& group) {
  if (group.comparison->equality != nullptr)
    equality_judge_.Judge(group);
  else
    group_rule_judge_.Summarize(group);
  group.waiting = false;
  group.judged = true;
  group.members_changed = false;
  group.touched.clear();
  if (!group.to_judge.empty()) Queue(group);
}

void PeerComparison::Queue(PeerGroup& group) {
  if (!std::exchange(group.queued, true)) queue_.push_back(&group);
}

// One member of each group, then the next ones: mostly of one node, whose snapshot is in the cache.
bool PeerComparison::JudgeMembers(WorkLeft& work) {
  while (!queue_.empty()) {
    for (PeerGroup* const group : queue_) {
      if (group->to_judge.empty()) continue;
      if (work.over()) return false;
      const Ref ref = group->to_judge.back();
      group->to_judge.pop_back();
      work.Spend(group->comparison->equality != nullptr
                     ? equality_judge_.JudgeMember(*group, ref)
                     : group_rule_judge_.JudgeMember(*group, ref));
    }
    std::erase_if(queue_, [](PeerGroup* group) {
      if (!group->to_judge.empty()) return false;
      group->queued = false;
      group->to_judge.shrink_to_fit();
      return true;
    });
  }
  return true;
}

}  // namespace fabric::rules
