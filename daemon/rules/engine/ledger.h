// The findings that hold now, and which of them are news. Part of the engine.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// What became of the findings since the last delta.
struct Delta {
  v1::VerdictCounts counts;        // Of the whole fleet, now
  std::vector<v1::Finding> found;  // New, or not as before in anything, read_at too; by id
  std::vector<std::string> gone;   // Ids of those that are found no more; sorted
};

using Ids = std::vector<std::string>;

class Ledger {
 public:
  // What somebody found takes the place of what he found before: `ids`, which become the new ones.
  void Replace(Ids& ids, std::vector<v1::Finding>& found);
  void Drop(Ids& ids);
  // `was` becomes `now`.
  void CountPasses(std::uint64_t& was, std::uint64_t now);

  Delta Take();

 private:
  struct Entry {
    v1::Finding finding;
    std::uint32_t holders = 0;
  };
  void Add(v1::Finding finding);
  void Release(const std::string& id);
  v1::VerdictCounts Counts() const;

  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t passes_ = 0;
  std::uint64_t fails_ = 0;  // The others are unknowns.
  std::set<std::string> news_;
};

}  // namespace fabric::rules
