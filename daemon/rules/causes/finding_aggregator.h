// Aggregation of findings with a common cause: the same failure on all ports of a node, behind a
// switch, of a rail or of the fleet, or on all nodes or rails. A switch that has lost its settings
// is one finding, not one for each port behind it.
//
// "All" are the ports that are up; where none is up, all ports. A node needs at least two affected
// ports, anything larger at least three affected nodes.
//
// A finding that another rule's finding explains (cause_graph.h) is not aggregated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/causes/cause_graph.h"
#include "daemon/rules/causes/port_map.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/work.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

class FindingAggregator;

// All findings at one time, without copies: to copy thousands takes long. Other threads may read it
// while the aggregator changes; it must end where the aggregator is used, and before it.
class FindingsView {
 public:
  FindingsView(FindingsView&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), seen_(std::move(other.seen_)) {}
  FindingsView& operator=(FindingsView&&) = delete;
  ~FindingsView();

  // Copies, sorted by id.
  std::vector<v1::Finding> Copy() const;
  // Copies of the findings about these nodes, without aggregates and causes.
  std::vector<v1::Finding> About(const std::set<std::string>& nodes) const;

 private:
  friend class FindingAggregator;
  struct Seen {
    const v1::Finding* finding;
    CauseGraph::Marks marks;
  };
  explicit FindingsView(FindingAggregator& of) : of_(&of) {}

  FindingAggregator* of_;
  std::vector<Seen> seen_;
};

// Not thread-safe. Memory grows with nodes and findings. A change of a finding costs the same in
// any fleet, except for the findings that have a cause in common with it.
class FindingAggregator {
 public:
  // The node is new, or its ports have changed.
  void Put(const fleet::NodeView& node);
  void Remove(const std::string& node);

  // Changes of the rules' findings. An aggregate is an additional finding: it `explains` its
  // members, and they are `explained_by` it. The cause of findings of other rules is one of the
  // rules' findings.
  void Take(Delta delta);
  // The same in parts: TakeSome(), then Settle() until it returns true. Nodes may be removed
  // meanwhile; those that come or change must wait, and so must the next TakeSome().
  void TakeSome(Delta delta);
  bool Settle(WorkLeft& work);
  bool settling() const { return step_ != Step::kNone; }

  // Changes since the last call, aggregates included. In parts: CollectNews() until it returns
  // true, then News().
  Delta News();
  bool CollectNews(WorkLeft& work);
  // All findings. Does not affect News().
  Evaluation All();
  // The same in two steps, of which only the first needs the aggregator.
  FindingsView View();
  bool viewed() const { return views_ > 0; }
  const v1::VerdictCounts& counts() const { return counts_; }
  // Findings about these nodes, without aggregates and causes.
  std::vector<v1::Finding> About(const std::set<std::string>& nodes) const;

 private:
  // Similar findings in one scope.
  struct Affected {
    PortCount count;
    std::unordered_map<std::string, std::size_t> nodes = {};  // Findings by node; not of a node
  };
  // Stands for the similar findings of a scope when all of the scope is affected.
  struct Aggregate {
    bool complete = false;          // All of the scope is affected
    std::set<std::string> members;  // Ids, without those in an aggregate of a larger scope
    std::string finding;            // Id; empty until it is built
  };
  struct Member {
    Location location;
    std::optional<std::size_t> aggregate = {};  // Index in Location::scopes
  };
  // Findings that differ only in their location.
  struct Similar {
    v1::Scope subject = v1::SCOPE_UNSPECIFIED;        // Scope of their subjects
    std::unordered_map<std::string, Member> members;  // By id
    std::unordered_map<Scope, Affected, HashScope> affected;
    std::unordered_map<Scope, Aggregate, HashScope> aggregates;
  };
  using SimilarByKey = std::map<std::string, Similar>;  // By SimilarityKey()
  using KeyedSimilar = SimilarByKey::value_type;
  struct Entry {
    std::unique_ptr<v1::Finding> finding = nullptr;  // A view may read it: see Changeable()
    KeyedSimilar* similar = nullptr;                 // nullptr: not aggregated
  };

  friend class FindingsView;
  v1::Finding& Changeable(Entry& entry);
  void Replace(Entry& entry, std::unique_ptr<v1::Finding> finding);
  void EndView();
  void TakeGone(const std::string& id);
  void TakeFound(v1::Finding& finding);
  void Enter(const std::string& id, Entry& entry);
  void Leave(const std::string& id, Entry& entry);
  bool UpdateInPlace(const std::string& id, Entry& entry, v1::Finding& finding);

  void NoteChange(const std::string& node, const Scopes& changed);
  bool IsComplete(const Scope& scope, const Similar& similar) const;
  void UpdateAggregate(KeyedSimilar& similar, const Scope& scope);
  void AssignMembersOn(const std::string& node, KeyedSimilar& similar);
  void AssignMember(KeyedSimilar& similar, const std::string& id, Member& member);
  void ReleaseMember(KeyedSimilar& similar, const std::string& id, Member& member);

  // What Settle() does, in this order.
  enum class Step : std::uint8_t {
    kNone,
    kLocations,  // Of findings on nodes whose ports have changed
    kScopes,     // Which of them are affected as a whole
    kCauses,
    kMembers,  // Aggregates of all members
    kErase,    // Aggregates that have changed
    kBuild,
    kReleased,
    kRoots,
  };
  void BeginSettling();
  bool UpdateLocations(WorkLeft& work);
  void UpdateLocationsOn(const std::string& node);
  bool UpdateScopes(WorkLeft& work);
  bool ApplyCauses(WorkLeft& work);
  bool AssignMembers(WorkLeft& work);
  bool EraseAggregates(WorkLeft& work);
  bool BuildAggregates(WorkLeft& work);
  bool Release(WorkLeft& work);
  bool FindRoots(WorkLeft& work);
  void Build(const Scope& scope, Aggregate& aggregate);
  void SetExplainedBy(const std::string& id, const std::string& by);

  PortMap ports_;
  v1::VerdictCounts counts_;
  std::unordered_map<std::string, Entry> findings_;  // By id, with the aggregates
  std::set<std::string> changed_;                    // Ids, for News()
  Delta news_;                                       // That are collected
  CauseGraph causes_;
  SimilarByKey similar_;
  std::unordered_set<KeyedSimilar*> repeated_;                          // With at least two members
  std::unordered_map<std::string, std::set<std::string>> ids_by_node_;  // Of members

  std::size_t views_ = 0;
  std::vector<std::unique_ptr<v1::Finding>> replaced_;  // That views may read

  // Changes that Settle() has to process.
  std::unordered_set<Scope, HashScope> changed_scopes_;         // By ports
  std::set<std::string> changed_nodes_;                         // Likewise
  std::set<std::string> changed_similar_;                       // Their members have to be assigned
  std::set<std::pair<std::string, Scope>> changed_aggregates_;  // By SimilarityKey()
  std::set<std::string> released_;                              // Ids that have left an aggregate
  Step step_ = Step::kNone;
  Scopes scopes_;                         // In kScopes
  std::vector<KeyedSimilar*> to_update_;  // Likewise
  std::size_t next_scope_ = 0;            // Likewise, of the last one of these
  std::optional<decltype(Similar::members)::iterator> next_member_;  // In kMembers
  std::vector<std::pair<std::string, Scope>> to_build_;              // In kBuild, from the last
};

}  // namespace fabric::rules
