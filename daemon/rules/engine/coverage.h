// Coverage of the verdicts: rules that judged, reasons of UNKNOWN, missing expectations. The engine
// updates it with each node, so that an answer judges nothing again.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

inline constexpr std::size_t kRulesMax = 512;
using RuleSet = std::bitset<kRulesMax>;  // By position in AllRules()
std::size_t NumberOf(const Rule& rule);  // Slow: once for each rule

// What nodes have that expectations can be about, and what a profile expects of them.
struct CoverageFacts {
  RuleSet judged;      // Rules with a verdict
  bool ports = false;  // Of the fabric, with a link: also iWARP, and cards of clouds
  bool roce = false;
  bool infiniband = false;
  bool gpus = false;
  bool rates = false;
  std::set<const fleet::Expectation*> expectations;
  std::set<int> expected;  // Fields of v1::Expectations, in addition
};

// Replaces the expectations, which belong to the engine, by their fields.
void ReadExpectations(CoverageFacts& facts);

// `findings`: FAIL and UNKNOWN. Their rules have judged, too. `nodes`: counts only these nodes in
// the reasons; empty: all.
v1::Coverage Summarize(CoverageFacts facts, const std::vector<v1::Finding>& findings,
                       const std::set<std::string>& nodes = {});

// What each node has, and which rules of one node pass there.
class CoverageIndex {
 public:
  // The node is new or has changed.
  void Put(std::uint32_t node, const fleet::NodeView& view, const RuleSet& passing);
  // The counters of the node have changed. After Put().
  void PutCounters(std::uint32_t node, const fleet::NodeView& view, const RuleSet& passing);
  void Remove(std::uint32_t node);

  CoverageFacts OfAll() const;
  void AddOf(std::uint32_t node, CoverageFacts& facts) const;

 private:
  enum Kind : std::uint8_t { kPorts, kRoce, kInfiniband, kGpus, kRates, kKinds };
  using Kinds = std::bitset<kKinds>;
  struct Row {
    RuleSet settings;
    RuleSet counters;
    Kinds kinds;
    std::vector<const fleet::Expectation*> expectations;  // Without neighbors that are equal
  };

  static void AddKinds(const Kinds& kinds, CoverageFacts& facts);
  void Forget(const Row& row);

  std::vector<Row> rows_;                               // By number of node
  std::array<std::uint32_t, kRulesMax> settings_ = {};  // Nodes by rule
  std::array<std::uint32_t, kRulesMax> counters_ = {};
  std::array<std::uint32_t, kKinds> kinds_ = {};
  std::map<const fleet::Expectation*, std::uint32_t> expectations_;
  std::vector<const fleet::Expectation*> scratch_;
};

}  // namespace fabric::rules
