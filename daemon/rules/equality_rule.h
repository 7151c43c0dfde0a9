// Rule kind: comparable ports, or nodes, have the same value.
//
// The expected value is that of the profile; without one, that of more than half of the members.
// Without such a majority, one finding reports the disagreement and names no culprit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rules/member.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

std::string ShowNumber(const Value& value);
std::string ShowText(const Value& value);
std::string ShowPriorities(const Value& value);  // Of a mask: "3,4", "none"
std::string ShowOnOff(const Value& value);

struct EqualityRule {
  std::string_view what;                                  // "netdev MTU"
  std::string_view key = {};                              // Distinguishes several of one rule
  bool of_nodes = false;                                  // Members are nodes, not ports
  std::optional<Group> (*group)(const Member&) = ByRail;  // No value: compared with no one
  // No value: the member does not take part.
  std::optional<Value> (*value)(const Member&) = nullptr;
  // The value that a profile expects; nullptr: a profile cannot set it.
  std::optional<Value> (*expected)(const v1::Expectations&) = nullptr;
  // A setting that a port keeps while it is down: it counts for the majority, so that a link that
  // comes or goes does not change who is expected to have what. The port itself is not judged.
  bool kept_when_down = false;
  std::string (*show)(const Value&) = ShowNumber;
  // Instead of `show`, for values that are digests: the part of the member that differs from
  // `other`.
  std::string (*show_difference)(const Member&, const Member& other) = nullptr;
  std::string (*source)(const Member&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const Member&, const Value& expected) = nullptr;
  // Adds evidence on a member that deviates from `good`; may be nullptr.
  void (*more)(const Member&, const Member& good, std::vector<v1::Evidence>&) = nullptr;
  // Instead of a failure: why the two members cannot be compared completely, when they have equal
  // values as far as they can. Empty when they differ; may be nullptr.
  // With `more`. Members that cannot be compared with the majority are compared with each other.
  std::string (*incomparable)(const Member&, const Member& other) = nullptr;
  // Members fail only when more than half of the group has one value; otherwise all pass.
  bool needs_absolute_majority = false;
};

// The members of a group that have one value, as a finding shows them.
struct ValueSummary {
  Value value;
  Member first;  // By name of node, then by order of ports
  std::uint64_t members = 0;
  std::vector<std::string> nodes;  // Names of the first kEvidenceMax nodes
  std::uint64_t all_nodes = 0;
};

class Verdicts;

// The share of the group that has the value: "15 of 16 nodes on rail 3".
std::string Basis(const EqualityRule& equality, const Group& group, std::uint64_t count,
                  std::uint64_t of);
// Adds the finding of a member that deviates: UNKNOWN when it is incomparable. `good`: a member
// with the expected value; nullptr when a profile expects it.
void FailMember(const EqualityRule& equality, const Member& member, const Value& seen,
                const Value& expected, const std::string& basis, const Member* good, Verdicts& out);
// Adds the finding of a group without a majority. `sides`: at least two, largest first, then by
// value. `values`: number of different values. `members`: all of the group; `affected` has the
// first ones.
void FailGroup(const EqualityRule& equality, const Group& group,
               const std::vector<ValueSummary>& sides, std::uint64_t values, std::uint64_t members,
               std::vector<v1::Subject> affected, Verdicts& out);

}  // namespace fabric::rules
