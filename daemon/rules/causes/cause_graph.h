// Graph of causes between findings of different rules: a host that pauses its switch explains its
// paused peers; a PCIe link with missing lanes explains the host that pauses. The rows are in
// cause_rules.h. Used by the finding aggregator.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/rules/causes/cause_rules.h"
#include "daemon/rules/causes/port_map.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Not thread-safe. The result depends only on the findings, not on their order. A change of a
// finding costs one step for each finding on its node or, for pauses, behind its switch. Without a
// known switch, pauses meet on the rail, unless the rail has more ports than one switch.
class CauseGraph {
 public:
  CauseGraph();

  // The finding is new, has changed, or is in another place.
  void Found(const v1::Finding& finding, Place place);
  void Gone(const std::string& id);
  // Ids of the findings about the node. Their places may have changed.
  std::vector<std::string> On(const std::string& node) const;
  bool KnowsOf(const std::string& node) const { return ids_by_node_.contains(node); }

  // Applies these changes. Returns the ids of findings that have gained, changed or lost a cause.
  std::set<std::string> Judge() { return JudgeSome(changed_effects_.size()); }
  // The same in parts, until all are judged().
  std::set<std::string> JudgeSome(std::size_t most);
  bool judged() const { return changed_effects_.empty(); }
  bool HasCause(const std::string& id) const;

  // Sets the aggregate that includes a finding; empty: none.
  void Grouped(const std::string& id, const std::string& aggregate);
  // Call after Grouped() and Judge(). Returns the ids of findings for which Mark() has another
  // result now. Some may be gone.
  std::set<std::string> Settle();
  // The same in parts, until all are settled(). Without a limit for the findings that came or went.
  std::set<std::string> SettleSome(std::size_t most);
  bool settled() const { return changed_roots_.empty(); }
  // Sets `explained_by`, the first cause of the chain, and `explains`. A finding that explains a
  // more severe one gets its severity.
  void Mark(v1::Finding& finding) const { MarksOf(finding.id()).Set(finding); }
  // The same for a copy that is made later.
  struct Marks {
    void Set(v1::Finding& finding) const;

    std::string explained_by = {};  // Empty: stays
    std::vector<std::string> explains = {};
    v1::Severity severity_min = v1::SEVERITY_UNSPECIFIED;
  };
  Marks MarksOf(const std::string& id) const;

 private:
  // Role of a rule in the table of cause rules.
  struct RuleRole {
    bool is_cause = false;
    std::vector<const CauseRule*> of_effect;  // Rows with the rule as an effect, in order
    bool of_node = false;                     // Cause in a row with Where::kNode
    bool is_peer = false;                     // Cause in a row with Where::kPeer
    bool has_peer = false;                    // Effect in such a row
  };
  // Point where causes and effects meet.
  struct Point {
    enum Kind { kPort, kCard, kNode, kSwitch, kOnSwitch, kOnSwitchAndRail, kOnRail } kind;
    std::string where = {};  // Node or switch
    std::string what = {};   // Device or card
    std::uint32_t number = 0;
    bool IsOfPeers() const;
    friend auto operator<=>(const Point&, const Point&) = default;
  };
  using Points = std::vector<Point>;
  struct HashPoint {
    std::size_t operator()(const Point& point) const;
  };
  // Ids of findings at a point.
  struct Meeting {
    std::set<std::string> causes;
    std::set<std::string> effects;
  };
  struct Entry {
    const RuleRole* role = nullptr;
    std::string rule;
    std::string node;
    std::string counter;  // Of the first evidence
    v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
    Points as_cause;
    Points as_effect;
    std::string cause = {};      // Id
    std::string aggregate = {};  // Id
    std::string root = {};       // Id of the first cause, or its aggregate: what Mark() sets
    std::set<std::string> effects = {};

    bool SameAs(const Entry& other) const;
  };

  Entry Read(const v1::Finding& finding, const RuleRole& role, const Place& place) const;
  void Enter(const std::string& id, const Entry& entry);
  void Leave(const std::string& id, const Entry& entry);
  void CountNode(const Entry& entry, bool come);
  void Touch(const Point& point);
  void TouchAtLimit(const Point& point);
  std::string CauseOf(const std::string& id, const Entry& effect) const;
  std::string FirstCause(const CauseRule& row, const Point& point, const std::string& not_id) const;
  std::string OnlyCause(const CauseRule& row, const Point& point, const std::string& not_id) const;
  std::string PeerCause(const CauseRule& row, const std::string& id, const Entry& effect) const;
  bool IsOnlyNode(const std::string& id) const;
  std::string RootOf(const std::string& id) const;

  std::map<std::string_view, RuleRole> roles_;      // By rule
  std::unordered_map<std::string, Entry> entries_;  // By id
  std::unordered_map<Point, Meeting, HashPoint> points_;
  std::unordered_map<std::string, std::set<std::string>> ids_by_node_;
  std::unordered_map<std::string, std::set<std::string>> effects_by_root_;
  // Number of findings by rule and node; only of rules with RuleRole::of_node.
  std::map<std::string, std::map<std::string, std::size_t>> nodes_by_rule_;

  std::set<std::string> changed_effects_;  // Whose cause Judge() has to find
  std::set<std::string> changed_roots_;    // Whose root Settle() has to find
  std::set<std::string> changed_;          // For Settle()
};

}  // namespace fabric::rules
