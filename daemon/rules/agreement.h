// Rules of the kind "like ports (or nodes) have the same value". What a profile expects is
// expected; without one what most of the like have. When the largest camps are equally large,
// the group is reported as one that disagrees, and nobody is blamed.
#pragma once

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

struct Agreement {
  std::string_view what;                                  // "netdev MTU"
  std::string_view key = {};                              // Where a rule has several
  bool of_nodes = false;                                  // Else of ports
  std::optional<Group> (*group)(const Member&) = ByRail;  // Nothing: not compared with anybody
  // Nothing: takes no part; UNKNOWN when `needed` says so.
  std::optional<Value> (*value)(const Member&) = nullptr;
  bool (*needed)(const Member&) = nullptr;
  // What a profile says; nullptr: profiles say nothing of it.
  std::optional<Value> (*expected)(const v1::Expectations&) = nullptr;
  std::string (*show)(const Value&) = ShowNumber;
  // Instead of `show`, for values that are digests: what of the member is not as on the other.
  std::string (*show_beside)(const Member&, const Member& other) = nullptr;
  std::string (*source)(const Member&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const Member&, const Value& expected) = nullptr;
  // More evidence on one that deviates beside one that is as expected; may be nullptr.
  void (*more)(const Member&, const Member& good, std::vector<v1::Evidence>&) = nullptr;
  // Somebody is blamed only when more than half agree; else all pass.
  bool needs_half = false;
};

// What the engine finds: one finding for each member that deviates, one of the rail (or the fleet)
// without a majority.

// Members with one value.
struct Side {
  Value value;
  Member first;  // By name of node, then by order of ports
  std::uint64_t members = 0;
  std::vector<std::string> nodes;  // Names of the first ones
  std::uint64_t all_nodes = 0;
};

class Verdicts;

// Which share has the value: "15 of 16 nodes on rail 3".
std::string Basis(const Agreement& agreement, const Group& group, std::uint64_t count,
                  std::uint64_t of);
// `good`: one that is as expected; nullptr when a profile says what is.
void FailMember(const Agreement& agreement, const Member& member, const Value& seen,
                const Value& expected, const std::string& basis, const Member* good, Verdicts& out);
// `sides`: at least two, largest first, then by value.
void FailGroup(const Agreement& agreement, const Group& group, const std::vector<Side>& sides,
               std::uint64_t values, std::uint64_t members, Verdicts& out);

}  // namespace fabric::rules
