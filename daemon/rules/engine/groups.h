// Agreements and censuses over a fleet that changes: who has which value in which group. Part of
// the engine.
//
// Each member that takes part has a place in a camp: those of its group with its value. A change of
// a node moves its own members from camp to camp. Groups in which somebody moved, or differs and
// was looked at anew, are judged again; in a group of which all agree nothing else is done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/ledger.h"
#include "daemon/rules/engine/pool.h"
#include "daemon/rules/engine/roster.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

struct HashValue {
  std::size_t operator()(const Value& value) const;
};
struct HashGroup {
  std::size_t operator()(const Group& group) const;
};

class Groups {
 public:
  // Of all rules that have agreements or a census. Both are borrowed.
  Groups(const Roster& roster, Ledger& ledger);

  // Asks for the memory that Put() will need of the node: in a large fleet it is in no cache.
  void Fetch(std::uint32_t node) const;
  // The node has come or changed. What is judged without others, as by a profile, is added.
  void Put(std::uint32_t node, std::vector<v1::Finding>& found, std::uint64_t& passes);
  void Remove(std::uint32_t node);
  // What the changes since the last call make of the groups.
  void Judge();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kPassed = 1U << 31;

  using GroupFunction = std::optional<Group> (*)(const Member&);

  // Where a member is: in which camp, and which of its seats.
  struct Place {
    std::uint32_t camp = kNone;
    std::uint32_t seat = 0;  // With kPassed, of a census
  };
  struct Row {
    std::uint32_t ports = 0;
    std::vector<Place> places;  // Of the node, then of port after port; see Index()
  };
  // What one agreement or census looks at.
  struct Table {
    const Rule* rule = nullptr;
    const Agreement* agreement = nullptr;  // One of the two
    const Census* census = nullptr;
    bool of_nodes = false;
    std::uint32_t grouping = 0;         // Which of group_functions_
    std::uint32_t before_of_nodes = 0;  // Tables before it, of nodes and of ports
    std::uint32_t before_of_ports = 0;
    std::unordered_map<Group, std::uint32_t, HashGroup> groups;
    std::vector<std::uint32_t> last;  // Camp of the member before, by port: mostly the same
    Survey survey;                    // Of a census that is told of all groups
  };
  // What a function says of the group of a member: found out once for all tables that ask it.
  struct Asked {
    std::optional<Group> group = {};
    bool known = false;
    bool compared = false;  // With the camp that the member was in
    bool same = false;      // It was of this group
  };
  struct Camp {
    std::uint32_t group = kNone;
    std::uint32_t table = kNone;
    Group key;  // Of the group
    Value value;
    std::string text;  // That the value borrows
    std::vector<Ref> members;
    std::optional<Ref> first;  // By name; nothing: not known
  };
  struct State {
    std::uint32_t table = 0;
    Group key;
    std::string like;  // That the key borrows
    std::unordered_map<Value, std::uint32_t, HashValue> camps;
    std::uint64_t members = 0;
    std::uint32_t largest = kNone;  // A camp; see Majority()
    std::size_t most = 0;           // Members of any camp are not more than these
    // What was judged.
    bool judged = false;
    std::uint64_t passes = 0;
    std::map<Ref, Ids> noted;        // Members with findings
    Ids whole;                       // Findings of the group as such
    std::uint32_t majority = kNone;  // Camp
    std::string basis;
    std::optional<Ref> good;
    std::vector<Ref> shown;  // By findings of the group as such
    Survey survey;
    // What has happened since.
    bool waits = false;  // In waiting_
    bool moved = false;
    bool anew = false;  // In anew_
    std::vector<Ref> touched;
  };

  std::size_t Index(const Table& table, const Ref& ref) const;
  Place& PlaceOf(const Table& table, const Ref& ref);
  void PutMember(std::uint32_t table, const Ref& ref, const Member& member, Place& place,
                 Asked& asked, Verdicts& out);
  static bool StaysIn(const Camp& camp, Asked& asked, const Value& value);
  static std::optional<Value> ValueOf(const Table& table, const Member& member, Verdicts& out);
  std::uint32_t CampOf(std::uint32_t table, const Group& group, const Value& value);
  bool IsCamp(std::uint32_t camp, std::uint32_t table, const Group& group,
              const Value& value) const;
  std::uint32_t GroupOf(std::uint32_t table, const Group& group);
  void Join(std::uint32_t camp, const Ref& ref, Place& place);
  void Leave(const Ref& ref, Place& place);
  void Touch(std::uint32_t number, const Camp& camp, const Ref& ref);
  void Wait(State& group, std::uint32_t number);
  void Close(std::uint32_t group);
  Ref FirstOf(Camp& camp);

  void JudgeAgreement(State& group);
  void FindMajority(State& group);
  void NoteDissenters(State& group);
  void NoteDissenter(State& group, const Ref& ref, const Member* good, Ids ids);
  void NoteTie(State& group);
  std::vector<Side> SidesOf(State& group);
  void JudgeCensus(State& group, std::uint32_t number);
  void TakeSurvey(State& group, std::uint32_t number);
  void TellAllGroups(Table& table);
  void JudgeNoted(std::uint32_t number);
  void MarkAnew(std::uint32_t number);
  std::uint32_t Majority(State& group);
  void JudgeAnew();
  void JudgeAnewOn(std::uint32_t node);
  void JudgeMember(State& group, const Ref& ref, Place& place);
  Tally TallyOf(State& group, bool by_name);
  Tally::Camp ShownOf(Camp& camp, bool by_name);
  Place* PlaceIn(const State& group, const Ref& ref);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
  std::uint32_t tables_of_nodes_ = 0;
  std::uint32_t tables_of_ports_ = 0;
  std::vector<GroupFunction> group_functions_;  // Of all tables, each once
  std::vector<Asked> asked_;                    // While a node is put: by function, then by port
  std::vector<Row> rows_;                       // By number of node
  Pool<Camp> camps_;                            // Values borrow from them
  Pool<State> groups_;                          // Likewise
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> anew_;  // Of a census, of which all are to be judged again
};

}  // namespace fabric::rules
