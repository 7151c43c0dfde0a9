// Rule kind: the verdict on a member depends on a summary of its group. For rules that are more
// than equality: whether any port of the rail is active, which DSCPs the rail protects.
//
// Each member has a value. A summary is made of the values of a group. A member is judged by the
// summary and by itself, and again only when the summary changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/member.h"

namespace fabric::rules {

class Verdicts;

// Number of members of a group by value.
struct ValueCounts {
  struct Entry {
    Value value;
    std::uint64_t members = 0;
    Member any;  // One of the members; for `judge_group` the first by name
  };
  std::vector<Entry> values;  // Largest first, then by value
  std::uint64_t members = 0;

  // nullptr when the group is empty or several values are equally frequent.
  const Entry* Majority() const;
};

// The facts about a group that its members are judged by.
struct GroupSummary {
  std::vector<std::uint64_t> facts;  // What verdicts depend on
  // Shares that texts of findings show.
  struct Shown {
    std::uint64_t count = 0;
    std::uint64_t of = 0;
    // By ShareKey(): equal when the texts are equal.
    friend bool operator==(const Shown& a, const Shown& b);
  };
  std::vector<Shown> shown;
};
std::string ToText(const GroupSummary::Shown& shown);  // By Share()

// For rules that skip what an equality rule reports: a member that deviates from the majority.
GroupSummary MajorityOf(const ValueCounts& counts);
bool Deviates(const GroupSummary& majority, std::uint64_t value);

struct GroupRule {
  bool of_nodes = false;                                   // Members are nodes, not ports
  std::optional<Group> (*group)(const Member&) = ByRail;   // No value: the member takes no part
  std::optional<Value> (*value)(const Member&) = nullptr;  // No value: the member takes no part
  // For groups with many values: the counts have one entry. It is the value of more than half of
  // the members where there is one, otherwise any value; none if no value is known. Members that
  // are lost or whose value could not be read count, too.
  bool majority_only = false;
  // Members are judged by the summaries of all groups, joined in the order of the groups.
  bool of_all_groups = false;
  // Both or, for rules about groups as such, neither.
  GroupSummary (*summarize)(const ValueCounts&) = nullptr;
  void (*judge)(const Member&, const GroupSummary&, Verdicts&) = nullptr;
  // For rules about groups as such; otherwise nullptr. The group has members.
  void (*judge_group)(const ValueCounts&, Verdicts&) = nullptr;
};

}  // namespace fabric::rules
