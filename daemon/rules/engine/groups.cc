#include "daemon/rules/engine/groups.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/hash.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

std::size_t Mixed(std::size_t a, std::uint64_t b) {
  return (a ^ (b + kGoldenRatio + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdU;
}

}  // namespace

std::size_t HashValue::operator()(const Value& value) const {
  return Mixed(std::hash<std::string_view>()(value.text), value.number);
}

std::size_t HashGroup::operator()(const Group& group) const {
  const std::uint64_t rail = group.rail ? *group.rail + std::uint64_t{1} : 0;
  return Mixed(Mixed(std::hash<std::string_view>()(group.like), rail), group.part);
}

Groups::Groups(const Roster& roster, Ledger& ledger) : roster_(roster), ledger_(ledger) {
  const auto add = [&](Table table, GroupFunction group) {
    const auto known = std::find(group_functions_.begin(), group_functions_.end(), group);
    table.grouping = static_cast<std::uint32_t>(known - group_functions_.begin());
    if (known == group_functions_.end()) group_functions_.push_back(group);
    table.before_of_nodes = tables_of_nodes_;
    table.before_of_ports = tables_of_ports_;
    ++(table.of_nodes ? tables_of_nodes_ : tables_of_ports_);
    tables_.push_back(std::move(table));
  };
  for (const Rule* rule : AllRules()) {
    for (const Agreement& agreement : rule->agreements)
      add({.rule = rule, .agreement = &agreement, .of_nodes = agreement.of_nodes}, agreement.group);
    if (rule->census != nullptr)
      add({.rule = rule, .census = rule->census, .of_nodes = rule->census->of_nodes},
          rule->census->group);
  }
}

// Those of one port lie together: a link that goes down takes it out of all its camps, and in each
// another one, mostly the same port in all of them, gets its seat.
std::size_t Groups::Index(const Table& table, const Ref& ref) const {
  if (ref.port == Ref::kWholeNode) return table.before_of_nodes;
  return tables_of_nodes_ + std::size_t{ref.port} * tables_of_ports_ + table.before_of_ports;
}

Groups::Place& Groups::PlaceOf(const Table& table, const Ref& ref) {
  return rows_[ref.node].places[Index(table, ref)];
}

void Groups::Fetch(std::uint32_t node) const {
  constexpr std::size_t kInLine = 64 / sizeof(Place);
  if (rows_.size() <= node) return;
  const std::vector<Place>& places = rows_[node].places;
  for (std::size_t i = 0; i < places.size(); i += kInLine) __builtin_prefetch(&places[i], 1);
}

void Groups::Put(std::uint32_t node, std::vector<v1::Finding>& found, std::uint64_t& passes) {
  const fleet::NodeView& view = roster_.at(node);
  const auto ports = static_cast<std::uint32_t>(view.ports.size());
  if (rows_.size() <= node) rows_.resize(node + 1);
  if (rows_[node].ports != ports) Remove(node);
  Row& row = rows_[node];
  row.ports = ports;
  row.places.resize(tables_of_nodes_ + std::size_t{tables_of_ports_} * ports);
  asked_.assign(group_functions_.size() * (ports + 1), {});
  for (std::uint32_t number = 0; number < tables_.size(); ++number) {
    const Table& table = tables_[number];
    Verdicts out(table.rule->id, table.rule->severity);
    Asked* asked = &asked_[table.grouping * (ports + 1)];
    const auto put = [&](const Ref& ref, const Member& member, Asked& says) {
      PutMember(number, ref, member, row.places[Index(table, ref)], says, out);
    };
    if (table.of_nodes) put({.node = node}, {.node = &view}, asked[ports]);
    for (std::uint32_t port = 0; port < ports && !table.of_nodes; ++port)
      put({.node = node, .port = port}, {.node = &view, .port = &view.ports[port]}, *asked++);
    passes += out.passes();
    for (v1::Finding& finding : out.findings()) found.push_back(std::move(finding));
  }
}

// What the profile decides is judged at once, and so is what cannot be read; the rest depends on
// the others of the group.
inline std::optional<Value> Groups::ValueOf(const Table& table, const Member& member,
                                            Verdicts& out) {
  if (member.port != nullptr && member.port->expected().unused()) return {};
  if (table.census != nullptr) return table.census->value(member);
  const Agreement& agreement = *table.agreement;
  const std::optional<Value> seen = agreement.value(member);
  if (!seen) {
    if (agreement.needed != nullptr && agreement.needed(member))
      Unreadable(member, agreement.what, agreement.source(member), out, agreement.key);
    return {};
  }
  const fleet::Expectation& expectation = member.expectation();
  if (agreement.expected == nullptr || expectation.profile.empty()) return seen;
  const std::optional<Value> expected = agreement.expected(expectation.values);
  if (!expected) return seen;
  if (*expected == *seen)
    out.Pass();
  else
    FailMember(agreement, member, *seen, *expected, ProfileBasis(expectation), nullptr, out);
  return {};
}

// Before, the member was of one group in all tables that ask the same function.
inline bool Groups::StaysIn(const Camp& camp, Asked& asked, const Value& value) {
  if (!std::exchange(asked.compared, true)) asked.same = camp.key == *asked.group;
  return asked.same && camp.value == value;
}

// The member is looked at anew and stays where it is. Of one that agrees with most nothing is said,
// unless others are shown beside it.
inline void Groups::Touch(std::uint32_t number, const Camp& camp, const Ref& ref) {
  State& group = groups_[camp.group];
  const bool says_nothing =
      group.camps.size() == 1 || (group.judged && group.majority == number && group.good != ref);
  if (says_nothing && tables_[camp.table].census == nullptr) return;
  group.touched.push_back(ref);
  Wait(group, camp.group);
}

// Most stay where they are, and of those that come most are like the one before.
void Groups::PutMember(std::uint32_t number, const Ref& ref, const Member& member, Place& place,
                       Asked& asked, Verdicts& out) {
  Table& table = tables_[number];
  const std::optional<Value> value = ValueOf(table, member, out);
  if (value && !std::exchange(asked.known, true))
    asked.group = group_functions_[table.grouping](member);
  if (!value || !asked.group) {
    if (place.camp != kNone) Leave(ref, place);
    return;
  }
  if (place.camp != kNone) {
    const Camp& camp = camps_[place.camp];
    if (StaysIn(camp, asked, *value)) return Touch(place.camp, camp, ref);
  }
  const Group& group = *asked.group;
  const std::size_t column = table.of_nodes ? 0 : ref.port;
  if (table.last.size() <= column) table.last.resize(column + 1, kNone);
  std::uint32_t& camp = table.last[column];
  if (!IsCamp(camp, number, group, *value)) camp = CampOf(number, group, *value);
  if (place.camp != kNone) Leave(ref, place);
  Join(camp, ref, place);
}

bool Groups::IsCamp(std::uint32_t number, std::uint32_t table, const Group& group,
                    const Value& value) const {
  if (number == kNone) return false;
  const Camp& camp = camps_[number];
  return camp.table == table && camp.value == value && camp.key == group;
}

std::uint32_t Groups::CampOf(std::uint32_t table, const Group& group, const Value& value) {
  const std::uint32_t in = GroupOf(table, group);
  const auto known = groups_[in].camps.find(value);
  if (known != groups_[in].camps.end()) return known->second;
  const std::uint32_t number = camps_.Take();
  Camp& camp = camps_[number];
  camp.group = in;
  camp.table = table;
  camp.key = groups_[in].key;
  camp.text = value.text;
  camp.value = {.number = value.number, .text = camp.text};
  groups_[in].camps.emplace(camp.value, number);
  return number;
}

std::uint32_t Groups::GroupOf(std::uint32_t table, const Group& group) {
  const auto known = tables_[table].groups.find(group);
  if (known != tables_[table].groups.end()) return known->second;
  const std::uint32_t number = groups_.Take();
  State& state = groups_[number];
  state.table = table;
  state.like = group.like;
  state.key = group;
  state.key.like = state.like;
  tables_[table].groups.emplace(state.key, number);
  return number;
}

void Groups::Wait(State& group, std::uint32_t number) {
  if (std::exchange(group.waits, true)) return;
  waiting_.push_back(number);
}

void Groups::Join(std::uint32_t number, const Ref& ref, Place& place) {
  Camp& camp = camps_[number];
  State& group = groups_[camp.group];
  place = {.camp = number, .seat = static_cast<std::uint32_t>(camp.members.size())};
  camp.members.push_back(ref);
  if (camp.first && roster_.Before(ref, *camp.first)) camp.first = ref;
  ++group.members;
  group.most = std::max(group.most, camp.members.size());
  if (group.largest == kNone || camp.members.size() > camps_[group.largest].members.size())
    group.largest = number;
  group.moved = true;
  if (group.judged) group.touched.push_back(ref);
  Wait(group, camp.group);
}

void Groups::Leave(const Ref& ref, Place& place) {
  Camp& camp = camps_[place.camp];
  const std::uint32_t number = camp.group;
  State& group = groups_[number];
  if ((place.seat & kPassed) != 0) ledger_.CountPasses(group.passes, group.passes - 1);
  if (const auto noted = group.noted.find(ref); noted != group.noted.end()) {
    ledger_.Drop(noted->second);
    group.noted.erase(noted);
  }
  const std::uint32_t seat = place.seat & ~kPassed;
  const Ref last = camp.members.back();
  camp.members[seat] = last;
  Place& moved = PlaceOf(tables_[group.table], last);
  moved.seat = seat | (moved.seat & kPassed);
  camp.members.pop_back();
  if (camp.first == ref) camp.first.reset();
  --group.members;
  group.moved = true;
  Wait(group, number);
  if (camp.members.empty()) {
    if (group.majority == place.camp) group.majority = kNone;
    if (group.largest == place.camp) group.largest = kNone;
    group.camps.erase(camp.value);
    camps_.Free(place.camp);
  }
  if (group.camps.empty()) Close(number);
  place = {};
}

void Groups::Close(std::uint32_t number) {
  State& group = groups_[number];
  ledger_.CountPasses(group.passes, 0);
  ledger_.Drop(group.whole);
  Table& table = tables_[group.table];
  table.groups.erase(group.key);
  groups_.Free(number);
  if (table.census == nullptr || !table.census->of_all_groups || table.groups.empty()) return;
  const std::uint32_t other = table.groups.begin()->second;  // One looks for all.
  groups_[other].moved = true;
  Wait(groups_[other], other);
}

void Groups::Remove(std::uint32_t node) {
  if (rows_.size() <= node || rows_[node].places.empty()) return;
  Row& row = rows_[node];
  for (const Table& table : tables_) {
    const std::uint32_t members = table.of_nodes ? 1 : row.ports;
    for (std::uint32_t port = 0; port < members; ++port) {
      const Ref ref = {.node = node, .port = table.of_nodes ? Ref::kWholeNode : port};
      Place& place = row.places[Index(table, ref)];
      if (place.camp != kNone) Leave(ref, place);
    }
  }
  row = {};
}

void Groups::Judge() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    State& group = groups_[waiting_[i]];
    if (!std::exchange(group.waits, false)) continue;  // Closed, or opened anew and judged
    if (tables_[group.table].census != nullptr)
      JudgeCensus(group, waiting_[i]);
    else
      JudgeAgreement(group);
    group.judged = true;
    group.moved = false;
    group.touched.clear();
  }
  waiting_.clear();
  JudgeAnew();
}

}  // namespace fabric::rules
