// Table of the findings that hold now, with the changes since the last delta. Part of the engine.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Changes of the findings since the last delta.
struct Delta {
  v1::VerdictCounts counts;        // Of the whole fleet, now
  std::vector<v1::Finding> found;  // New, or changed in any field, read_at included; by id
  std::vector<std::string> gone;   // Ids of findings that no longer hold; sorted
};

using Ids = std::vector<std::string>;

// What one evaluation has put into the table, so that the next one can replace it.
struct Outcome {
  Ids ids;
  std::uint64_t passes = 0;
};

// Moves the verdicts of one rule to those of several.
void Append(Verdicts& from, Verdicts& to);

class FindingTable {
 public:
  // Puts the verdicts in place of those of the last evaluation. Moves the findings out.
  void Replace(Outcome& outcome, Verdicts& verdicts);
  void Replace(Ids& ids, std::vector<v1::Finding>& found);
  // Sets the number of passes.
  void CountPasses(std::uint64_t& passes, std::uint64_t now);
  // Removes what the last evaluation has put in.
  void Drop(Outcome& outcome);
  void Drop(Ids& ids);

  // Takes the changes up to now in parts: BeginTake(), then TakeSome() while taking(). A finding
  // that changes again meanwhile is taken as it is then, and once more the next time.
  void BeginTake() { to_take_.merge(std::exchange(changed_, {})); }
  bool taking() const { return !to_take_.empty(); }
  Delta TakeSome(std::size_t findings_max);

 private:
  struct Entry {
    v1::Finding finding;
    std::uint32_t holders = 0;  // Evaluations with this finding
  };
  void Add(v1::Finding finding);
  void Release(const std::string& id);
  v1::VerdictCounts Counts() const;

  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t passes_ = 0;
  std::uint64_t fails_ = 0;        // The other entries are unknown
  std::set<std::string> changed_;  // Ids
  std::set<std::string> to_take_;  // Ids
};

}  // namespace fabric::rules
