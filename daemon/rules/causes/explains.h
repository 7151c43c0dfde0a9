// Which finding is the cause of another rule's: a host that pauses its switch, of its peers that
// are paused; a PCIe link that fell back, of the host that pauses. What explains what:
// explanations.h. Part of the grouping, which says what failures of one rule have in common.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/rules/causes/explanations.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Of the port or device that a finding is about, as far as it is known.
struct Place {
  std::string card = {};  // "0000:3b:00", whatever the number of its functions
  std::optional<std::uint32_t> rail = {};
  std::string switch_name = {};
  friend bool operator==(const Place&, const Place&) = default;
};

// A value without threads. The outcome depends on what is found alone, not on its order. A finding
// that comes or goes costs what is found on its node or, of those that pause, behind its switch;
// where no switch is known, on its rail, which is looked at while it may be one switch.
class Explains {
 public:
  Explains();

  // There, changed, or somewhere else.
  void Found(const v1::Finding& finding, Place place);
  void Gone(const std::string& id);
  // Those about the node, which may have moved.
  std::vector<std::string> On(const std::string& node) const;
  bool KnowsOf(const std::string& node) const { return on_.contains(node); }

  // After these: ids of the findings that have another cause now, or one or none for once.
  std::set<std::string> Judge();
  bool HasCause(const std::string& id) const;

  // What the grouping made of a finding: the one that stands for it; empty: none.
  void Grouped(const std::string& id, const std::string& by);
  // After these and Judge(): ids of the findings that Mark() treats differently now. Some may be
  // gone.
  std::set<std::string> Settle();
  // Says of a finding what explains it, the last in the chain, and what it explains itself. One
  // that explains a worse one is as severe as that.
  void Mark(v1::Finding& finding) const;

 private:
  // What a rule has to do with the table.
  struct Role {
    bool is_cause = false;
    std::vector<const Explanation*> of_effect;  // In the order of the table
    bool of_node = false;                       // A cause of a row with Where::kNode
    bool is_peer = false;                       // The same with Where::kPeer
    bool has_peer = false;                      // An effect of such a row
  };
  // Where findings meet.
  struct Spot {
    enum Kind { kPort, kCard, kNode, kSwitch, kOnSwitch, kOnSwitchAndRail, kOnRail } kind;
    std::string where = {};  // Node or switch
    std::string what = {};   // Device or card
    std::uint32_t number = 0;
    bool IsOfPeers() const;
    friend auto operator<=>(const Spot&, const Spot&) = default;
  };
  using Spots = std::vector<Spot>;
  struct HashSpot {
    std::size_t operator()(const Spot& spot) const;
  };
  struct Here {
    std::set<std::string> causes;  // Ids
    std::set<std::string> effects;
  };
  struct Known {
    const Role* role = nullptr;
    std::string rule;
    std::string node;
    std::string counter;  // The first evidence's
    v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
    Spots as_cause;
    Spots as_effect;
    std::string cause = {};  // Id
    std::string group = {};  // Id of what stands for it
    std::string root = {};   // What Mark() names
    std::set<std::string> effects = {};

    bool SameAs(const Known& other) const;
  };

  Known Read(const v1::Finding& finding, const Role& role, const Place& place) const;
  void Enter(const std::string& id, const Known& known);
  void Leave(const std::string& id, const Known& known);
  void CountNode(const Known& known, bool come);
  void Touch(const Spot& spot);
  void TouchWhenTooMany(const Spot& spot);
  std::string CauseOf(const std::string& id, const Known& effect) const;
  std::string First(const Explanation& row, const Spot& spot, const std::string& not_id) const;
  std::string TheOnly(const Explanation& row, const Spot& spot, const std::string& not_id) const;
  std::string Peer(const Explanation& row, const std::string& id, const Known& effect) const;
  bool IsAlone(const std::string& id) const;
  std::string RootOf(const std::string& id) const;

  std::map<std::string_view, Role> roles_;        // By rule; of the table's alone
  std::unordered_map<std::string, Known> known_;  // By id
  std::unordered_map<Spot, Here, HashSpot> spots_;
  std::unordered_map<std::string, std::set<std::string>> on_;  // Ids by node
  // How many findings of a rule a node has; of causes of nodes as a whole.
  std::map<std::string, std::map<std::string, std::size_t>> nodes_with_;
  std::set<std::string> stale_;  // Effects that are to be judged anew
  std::set<std::string> moved_;  // Whose root may be another now
  std::set<std::string> news_;   // For Settle(), beside these
  std::unordered_map<std::string, std::set<std::string>> explained_;  // By root
};

}  // namespace fabric::rules
