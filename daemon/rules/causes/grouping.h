// Which failures have one cause: the same wrong thing on all ports of a node, behind a switch, of a
// rail or of the fleet, or on all nodes or rails. A switch that has lost its settings is one
// finding, not one of each port behind it.
//
// "All" are those that are up; of those that are down, all when none is up. Of a node two are
// enough; of anything larger at least three nodes have to be concerned.
//
// What a finding of another rule explains (explains.h) has its cause there and takes no part.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/causes/explains.h"
#include "daemon/rules/engine/ledger.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// A value without threads. Grows with nodes, and with findings that are no passes. A finding that
// comes or goes costs the same however many others there are, but for those that have a cause in
// common with it.
class Grouping {
 public:
  // The node is there, or its ports have changed.
  void Put(const fleet::NodeView& node);
  void Remove(const std::string& node);

  // What the rules found. A common cause is a finding beside them, which `explains` them, as they
  // are `explained_by` it; the cause of findings of other rules is one of them.
  void Take(Delta delta);

  // What has changed since the last call, causes among it.
  Delta News();
  // All there is now. What News() gives is not touched by it.
  Evaluation All() const;

 private:
  struct Port {
    std::string device;
    std::uint32_t number = 0;
    std::uint32_t rail = 0;
    std::string switch_name;  // Empty: not known
    std::string card;         // The same
    bool up = false;
    friend bool operator==(const Port&, const Port&) = default;
  };
  using Ports = std::vector<Port>;

  // What may be concerned as a whole.
  struct Extent {
    v1::Scope scope = v1::SCOPE_FLEET;
    std::string node = {};
    std::uint32_t rail = 0;
    std::string switch_name = {};
    friend auto operator<=>(const Extent&, const Extent&) = default;
  };
  using Extents = std::vector<Extent>;
  struct HashExtent {
    std::size_t operator()(const Extent& extent) const;
  };

  // Of ports.
  struct Count {
    std::size_t all = 0;
    std::size_t up = 0;
  };
  // Of findings that are alike; those on the fleet, a switch or a rail by node too.
  struct Concerned {
    Count count;
    std::unordered_map<std::string, std::size_t> nodes = {};
  };
  // Where a finding is: all that contains it, the largest first.
  struct Seat {
    std::string node;
    Extents extents;
    bool up = false;
    std::optional<std::size_t> explained = {};  // The first of these of which all are concerned
  };
  // An extent of which all are concerned, and the finding that stands for them.
  struct Whole {
    bool holds = false;               // False until it is judged: no longer
    std::set<std::string> explained;  // Ids; those of larger wholes are theirs
    std::string cause;                // Id; empty: none yet
  };
  // Findings that are alike but for where they are.
  struct Bucket {
    v1::Scope scope = v1::SCOPE_UNSPECIFIED;        // Of all of them
    std::unordered_map<std::string, Seat> members;  // By id
    std::unordered_map<Extent, Concerned, HashExtent> concerned;
    std::unordered_map<Extent, Whole, HashExtent> wholes;
  };
  using Buckets = std::map<std::string, Bucket>;  // By what is alike
  using Alike = Buckets::value_type;
  struct Known {
    v1::Finding finding;
    Alike* bucket = nullptr;  // nullptr: in none
  };
  using KnownById = std::unordered_map<std::string, Known>;

  static Ports PortsOf(const fleet::NodeView& node);
  static bool IsAsBefore(const fleet::NodeView& node, const Ports& ports);
  static Extents ExtentsOf(const std::string& node, const Port& port);
  void CountPort(const Port& port, bool come, Count& all);
  void CountPorts(const std::string& node, const Ports& before, const Ports& now);
  void CountIn(const Extent& extent, const Count& ports, bool come);
  Seat SeatOf(const v1::Finding& finding) const;
  Place PlaceOf(const v1::Finding& finding) const;
  bool IsWhole(const Extent& extent, const Bucket& bucket) const;
  void Enter(const std::string& id, Known& known);
  void Leave(const std::string& id, Known& known);
  bool Refresh(const std::string& id, Known& known, v1::Finding& finding);
  void TakeGone(const std::string& id);
  void TakeFound(v1::Finding& finding);
  void Look(Alike& bucket, const Extents& extents);
  void LookAtMembers(Alike& bucket, const Extent& extent);
  void FindWhole(Alike& bucket, const std::string& id, Seat& seat);
  void TakeFromWhole(Alike& bucket, const std::string& id, Seat& seat);
  void LookAtMoved();
  void JudgeStale();
  void Judge(const Extent& extent, Whole& whole);
  void Explain(const std::string& id, const std::string& by);
  void JudgeCauses();

  v1::VerdictCounts counts_;
  KnownById findings_;          // By id, causes among them
  std::set<std::string> news_;  // Ids of those that came, went or changed
  std::unordered_map<std::string, Ports> nodes_;
  std::unordered_map<Extent, Count, HashExtent> extents_;
  std::size_t rails_ = 0;  // Of these
  // Extents in which something has come, gone or changed.
  std::unordered_set<Extent, HashExtent> moved_;
  std::set<std::string> moved_nodes_;  // The same of nodes
  Explains explains_;
  Buckets buckets_;
  std::unordered_set<Alike*> several_;  // Those with several members: only these may be whole
  std::set<std::pair<std::string, Extent>> stale_;  // Wholes that are to be judged anew
  std::set<std::string> loose_;                     // Ids that have left a whole
  // Of findings that have a seat, by node.
  std::unordered_map<std::string, std::set<std::string>> ids_on_;
};

}  // namespace fabric::rules
