// Rules by which what is right for one depends on what the others have, and that are more than
// agreement: is anybody on this rail active, which DSCPs does the rail protect.
//
// Each member of a group says what it has; a survey sums up the group; a member is judged by the
// survey and by itself. Others are judged again only when the survey is another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/member.h"

namespace fabric::rules {

class Verdicts;

// How many of a group have what.
struct Tally {
  struct Camp {
    Value value;
    std::uint64_t members = 0;
    Member any;  // One of them; the first by name for `judge_group`
  };
  std::vector<Camp> camps;  // Largest first, then by value
  std::uint64_t members = 0;

  // nullptr: nobody, or no camp is the largest.
  const Camp* Majority() const;
};

// What members are told of their group. Compared to find out who has to be judged again.
struct Survey {
  std::vector<std::uint64_t> facts;  // What verdicts depend on
  // What texts of findings show.
  struct Shown {
    std::uint64_t count = 0;
    std::uint64_t of = 0;
    // By ShareKey(): two that read alike are the same.
    friend bool operator==(const Shown& a, const Shown& b);
  };
  std::vector<Shown> shown;
};
std::string ToText(const Survey::Shown& shown);  // By Share()

// For rules that leave alone what a rule of agreement reports: one whose value is not the
// majority's.
Survey MajorityOf(const Tally& tally);
bool Deviates(const Survey& majority, std::uint64_t value);

struct Census {
  bool of_nodes = false;                                   // Else of ports
  std::optional<Group> (*group)(const Member&) = ByRail;   // Nothing: takes no part
  std::optional<Value> (*value)(const Member&) = nullptr;  // Nothing: takes no part
  // For groups of many camps: the tally has one camp alone. It is the one with more than half of
  // the members where there is such a one, else any.
  bool majority_only = false;
  // Members are told of all groups: one survey after the other, in the order of the groups.
  bool of_all_groups = false;
  // Both or, for rules about groups as such, neither.
  Survey (*survey)(const Tally&) = nullptr;
  void (*judge)(const Member&, const Survey&, Verdicts&) = nullptr;
  // Of groups that have members; else nullptr.
  void (*judge_group)(const Tally&, Verdicts&) = nullptr;
};

}  // namespace fabric::rules
