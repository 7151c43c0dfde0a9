// How Groups judges a group.
#include <algorithm>
#include <utility>

#include "daemon/rules/engine/groups.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {

Ref Groups::FirstOf(Camp& camp) {
  if (!camp.first)
    camp.first =
        *std::min_element(camp.members.begin(), camp.members.end(),
                          [&](const Ref& a, const Ref& b) { return roster_.Before(a, b); });
  return *camp.first;
}

// nullptr for one that has left since.
Groups::Place* Groups::PlaceIn(const State& group, const Ref& ref) {
  Row& row = rows_[ref.node];
  if (row.places.empty() || (ref.port != Ref::kWholeNode && ref.port >= row.ports)) return nullptr;
  Place& place = row.places[Index(tables_[group.table], ref)];
  return place.camp != kNone && &groups_[camps_[place.camp].group] == &group ? &place : nullptr;
}

// Sets `majority`; kNone when there is none.
void Groups::FindMajority(State& group) {
  std::size_t most = 0;
  for (const auto& [value, camp] : group.camps) {
    const std::size_t members = camps_[camp].members.size();
    if (members > most) group.majority = camp;
    if (members == most) group.majority = kNone;
    most = std::max(most, members);
  }
}

void Groups::JudgeAgreement(State& group) {
  const Agreement& agreement = *tables_[group.table].agreement;
  const std::uint32_t before = group.majority;
  if (group.moved) FindMajority(group);
  const bool has_majority = group.majority != kNone;
  const std::uint64_t most = has_majority ? camps_[group.majority].members.size() : 0;
  const bool nobody_to_blame =
      group.camps.size() == 1 || (agreement.needs_half && 2 * most <= group.members);
  if (nobody_to_blame || !has_majority) {
    for (auto& [ref, ids] : group.noted) ledger_.Drop(ids);
    group.noted.clear();
    group.basis.clear();
    ledger_.CountPasses(group.passes, nobody_to_blame ? group.members : 0);
    if (nobody_to_blame)
      ledger_.Drop(group.whole);
    else
      NoteTie(group);
    return;
  }
  ledger_.Drop(group.whole);
  if (before != group.majority) group.basis.clear();
  ledger_.CountPasses(group.passes, most);
  NoteDissenters(group);
}

// All of them when what is said of them changes; else those that were looked at anew.
void Groups::NoteDissenters(State& group) {
  const Agreement& agreement = *tables_[group.table].agreement;
  Camp& majority = camps_[group.majority];
  std::string basis = Basis(agreement, group.key, majority.members.size(), group.members);
  std::optional<Ref> good;
  if (agreement.more != nullptr || agreement.show_beside != nullptr) good = FirstOf(majority);
  const bool all =
      basis != group.basis || good != group.good ||
      (good && std::find(group.touched.begin(), group.touched.end(), *good) != group.touched.end());
  group.basis = std::move(basis);
  group.good = good;
  const Member beside = good ? roster_.MemberOf(*good) : Member();
  const Member* const shown = good ? &beside : nullptr;
  if (!all) {
    for (const Ref& ref : group.touched) {
      const Place* const place = PlaceIn(group, ref);
      if (place == nullptr || place->camp == group.majority) continue;
      const auto noted = group.noted.find(ref);
      NoteDissenter(group, ref, shown, noted == group.noted.end() ? Ids() : noted->second);
    }
    return;
  }
  std::map<Ref, Ids> before = std::exchange(group.noted, {});
  for (const auto& [value, camp] : group.camps) {
    if (camp == group.majority) continue;
    for (const Ref& ref : camps_[camp].members) {
      const auto noted = before.find(ref);
      NoteDissenter(group, ref, shown,
                    noted == before.end() ? Ids() : std::exchange(noted->second, {}));
    }
  }
  for (auto& [ref, ids] : before) ledger_.Drop(ids);
}

void Groups::NoteDissenter(State& group, const Ref& ref, const Member* good, Ids ids) {
  const Table& table = tables_[group.table];
  Verdicts out(table.rule->id, table.rule->severity);
  FailMember(*table.agreement, roster_.MemberOf(ref), camps_[PlaceOf(table, ref).camp].value,
             camps_[group.majority].value, group.basis, good, out);
  ledger_.Replace(ids, out.findings());
  group.noted[ref] = std::move(ids);
}

std::vector<Side> Groups::SidesOf(State& group) {
  std::vector<Camp*> camps;
  for (const auto& [value, camp] : group.camps) camps.push_back(&camps_[camp]);
  std::sort(camps.begin(), camps.end(), [](const Camp* a, const Camp* b) {
    if (a->members.size() != b->members.size()) return a->members.size() > b->members.size();
    return a->value < b->value;
  });
  if (camps.size() > kListedMax) camps.resize(kListedMax);
  std::vector<Side> sides;
  for (Camp* camp : camps) {
    std::vector<std::uint32_t> nodes;
    for (const Ref& ref : camp->members) nodes.push_back(ref.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const auto end =
        nodes.begin() + static_cast<std::ptrdiff_t>(std::min(kListedMax, nodes.size()));
    std::partial_sort(nodes.begin(), end, nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return roster_.Before({.node = a}, {.node = b});
    });
    Side& side = sides.emplace_back(Side{.value = camp->value,
                                         .first = roster_.MemberOf(FirstOf(*camp)),
                                         .members = camp->members.size(),
                                         .nodes = {},
                                         .all_nodes = nodes.size()});
    for (auto at = nodes.begin(); at != end; ++at) side.nodes.push_back(roster_.at(*at).node->name);
    group.shown.push_back(FirstOf(*camp));
  }
  return sides;
}

void Groups::NoteTie(State& group) {
  const auto is_shown = [&](const Ref& ref) {
    return std::find(group.shown.begin(), group.shown.end(), ref) != group.shown.end();
  };
  if (!group.moved && std::none_of(group.touched.begin(), group.touched.end(), is_shown)) return;
  group.shown.clear();
  const Table& table = tables_[group.table];
  Verdicts out(table.rule->id, table.rule->severity);
  const std::vector<Side> sides = SidesOf(group);
  FailGroup(*table.agreement, group.key, sides, group.camps.size(), group.members, out);
  ledger_.Replace(group.whole, out.findings());
}

// The camp with more than half of the members, else any. All are gone through only where one that
// is not known may have that many.
std::uint32_t Groups::Majority(State& group) {
  const auto members = [&](std::uint32_t camp) { return camps_[camp].members.size(); };
  const bool known = group.largest != kNone && (2 * members(group.largest) > group.members ||
                                                2 * group.most <= group.members);
  if (known) return group.largest;
  group.most = 0;
  for (const auto& [value, camp] : group.camps) {
    if (members(camp) <= group.most) continue;
    group.most = members(camp);
    group.largest = camp;
  }
  return group.largest;
}

Tally::Camp Groups::ShownOf(Camp& camp, bool by_name) {
  return {.value = camp.value,
          .members = camp.members.size(),
          .any = roster_.MemberOf(by_name ? FirstOf(camp) : camp.members.front())};
}

Tally Groups::TallyOf(State& group, bool by_name) {
  Tally tally{.camps = {}, .members = group.members};
  if (tables_[group.table].census->majority_only) {
    tally.camps.push_back(ShownOf(camps_[Majority(group)], by_name));
    return tally;
  }
  for (const auto& [value, number] : group.camps)
    tally.camps.push_back(ShownOf(camps_[number], by_name));
  std::sort(tally.camps.begin(), tally.camps.end(), [](const Tally::Camp& a, const Tally::Camp& b) {
    return a.members != b.members ? a.members > b.members : a.value < b.value;
  });
  return tally;
}

void Groups::JudgeCensus(State& group, std::uint32_t number) {
  const Table& table = tables_[group.table];
  const Census& census = *table.census;
  if (census.judge_group != nullptr) {
    Verdicts out(table.rule->id, table.rule->severity);
    census.judge_group(TallyOf(group, true), out);
    ledger_.CountPasses(group.passes, out.passes());
    ledger_.Replace(group.whole, out.findings());
    return;
  }
  if (!group.judged) MarkAnew(number);
  if (group.moved) TakeSurvey(group, number);
  if (group.anew) return;
  for (const Ref& ref : group.touched)
    if (Place* const place = PlaceIn(group, ref)) JudgeMember(group, ref, *place);
}

void Groups::MarkAnew(std::uint32_t number) {
  if (!std::exchange(groups_[number].anew, true)) anew_.push_back(number);
}

// Members whose findings show what is another number now.
void Groups::JudgeNoted(std::uint32_t number) {
  State& group = groups_[number];
  if (group.noted.empty()) return;
  for (const auto& [ref, ids] : group.noted) group.touched.push_back(ref);
  Wait(group, number);
}

void Groups::TakeSurvey(State& group, std::uint32_t number) {
  Table& table = tables_[group.table];
  const Survey before = std::exchange(group.survey, table.census->survey(TallyOf(group, false)));
  if (table.census->of_all_groups) return TellAllGroups(table);
  if (before.facts != group.survey.facts) MarkAnew(number);
  if (before.shown != group.survey.shown) JudgeNoted(number);
}

void Groups::TellAllGroups(Table& table) {
  std::vector<const State*> groups;
  for (const auto& [key, number] : table.groups) groups.push_back(&groups_[number]);
  std::sort(groups.begin(), groups.end(),
            [](const State* a, const State* b) { return a->key < b->key; });
  Survey all;
  for (const State* group : groups) {
    const Survey& one = group->survey;
    all.facts.insert(all.facts.end(), one.facts.begin(), one.facts.end());
    all.shown.insert(all.shown.end(), one.shown.begin(), one.shown.end());
  }
  const Survey before = std::exchange(table.survey, std::move(all));
  for (const auto& [key, number] : table.groups) {
    if (before.facts != table.survey.facts) MarkAnew(number);
    if (before.shown != table.survey.shown) JudgeNoted(number);
  }
}

// Where these are most of the fleet, node after node: what was read of a node for one group is
// still in the cache for the next.
void Groups::JudgeAnew() {
  std::size_t members = 0;
  for (const std::uint32_t number : anew_) members += groups_[number].members;
  if (members < rows_.size()) {
    for (const std::uint32_t number : anew_)
      for (const auto& [value, camp] : groups_[number].camps)
        for (const Ref& ref : camps_[camp].members)
          JudgeMember(groups_[number], ref, PlaceOf(tables_[groups_[number].table], ref));
  } else if (!anew_.empty()) {
    for (std::uint32_t node = 0; node < rows_.size(); ++node) JudgeAnewOn(node);
  }
  for (const std::uint32_t number : anew_) groups_[number].anew = false;
  anew_.clear();
}

void Groups::JudgeAnewOn(std::uint32_t node) {
  const Row& row = rows_[node];
  if (row.places.empty()) return;
  for (const Table& table : tables_) {
    if (table.census == nullptr) continue;
    const std::uint32_t members = table.of_nodes ? 1 : row.ports;
    for (std::uint32_t port = 0; port < members; ++port) {
      const Ref ref = {.node = node, .port = table.of_nodes ? Ref::kWholeNode : port};
      Place& place = PlaceOf(table, ref);
      if (place.camp == kNone) continue;
      State& group = groups_[camps_[place.camp].group];
      if (group.anew) JudgeMember(group, ref, place);
    }
  }
}

void Groups::JudgeMember(State& group, const Ref& ref, Place& place) {
  const Table& table = tables_[group.table];
  Verdicts out(table.rule->id, table.rule->severity);
  const Census& census = *table.census;
  census.judge(roster_.MemberOf(ref), census.of_all_groups ? table.survey : group.survey, out);
  const bool passed = (place.seat & kPassed) != 0;
  const bool passes = out.passes() > 0;
  if (passed != passes) {
    ledger_.CountPasses(group.passes, passes ? group.passes + 1 : group.passes - 1);
    place.seat ^= kPassed;
  }
  if (group.noted.empty() && out.findings().empty()) return;
  const auto noted = group.noted.find(ref);
  if (noted == group.noted.end() && out.findings().empty()) return;
  Ids& ids = noted == group.noted.end() ? group.noted[ref] : noted->second;
  ledger_.Replace(ids, out.findings());
  if (ids.empty()) group.noted.erase(ref);
}

}  // namespace fabric::rules
