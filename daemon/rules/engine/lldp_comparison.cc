#include "daemon/rules/engine/lldp_comparison.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

bool HasLink(const fleet::PortView& port) {
  return port.neighbor != nullptr && CarriesRoce(port);
}

// Of the names of all links, whether they are judged or not.
std::uint64_t DigestOfNames(const fleet::NodeView& node) {
  Digest digest;
  for (const fleet::PortView& port : node.ports) {
    if (!HasLink(port)) continue;
    const v1::LldpNeighbor& neighbor = *port.neighbor;
    digest.Add(port.device->name()).Add(port.port->number()).Add(port.port->netdev());
    digest.Add(port.rail->value()).Add(neighbor.chassis_id()).Add(neighbor.system_name());
    digest.Add(SwitchPort(neighbor));
  }
  return digest.value();
}

std::uint64_t DigestOf(std::uint64_t names, const LldpRule& rule, const fleet::NodeView& node) {
  Digest digest;
  digest.Add(names);
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail) break;
    if (rule.agreed != nullptr) digest.Add(rule.agreed(port).value_or(~0U));
    if (!HasLink(port)) continue;
    const auto verdict = rule.judge(port, *port.neighbor);
    if (!verdict) continue;
    digest.Add(port.rail->value()).Add(static_cast<std::uint64_t>(verdict->verdict));
    digest.Add(verdict->seen).Add(verdict->expected);
  }
  return digest.value();
}

}  // namespace

LldpComparison::LldpComparison(const NodeIndex& nodes, FindingTable& findings)
    : nodes_(nodes), findings_(findings) {
  for (const Rule* rule : AllRules())
    if (rule->lldp_rule != nullptr && rule->lldp_rule->judge != nullptr)
      tables_.push_back({.rule = rule, .number = NumberOf(*rule)});
}

std::uint32_t LldpComparison::NumberOfSwitch(const std::string& chassis) {
  if (const auto known = switches_.find(chassis); known != switches_.end()) return known->second;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(by_number_.size()));
    by_number_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  by_number_[number].chassis = chassis;
  switches_.emplace(chassis, number);
  unused_.push_back(number);
  return number;
}

void LldpComparison::FindSwitches(const fleet::NodeView& node) {
  switch_of_port_.clear();
  for (const fleet::PortView& port : node.ports)
    switch_of_port_.push_back(HasLink(port) ? NumberOfSwitch(port.neighbor->chassis_id()) : 0);
}

void LldpComparison::ForgetSwitches() {
  for (const std::uint32_t number : std::exchange(unused_, {})) {
    const auto known = switches_.find(by_number_[number].chassis);
    if (by_number_[number].links > 0 || known == switches_.end() || known->second != number)
      continue;
    switches_.erase(known);
    by_number_[number] = {};
    free_.push_back(number);
  }
}

LldpComparison::Row LldpComparison::RowOf(const Table& table, const fleet::NodeView& node) const {
  const LldpRule& rule = *table.rule->lldp_rule;
  Row row;
  for (const Link& link : LinksOf(rule, node)) {
    row.switches.push_back(
        switch_of_port_[static_cast<std::size_t>(link.port - node.ports.data())]);
    if (link.announced.verdict == v1::VERDICT_PASS)
      ++row.passes;
    else
      row.deviates = true;
  }
  for (const fleet::PortView& port : node.ports)
    if (port.rail && rule.agreed != nullptr) row.agreed.push_back(rule.agreed(port));
  return row;
}

void LldpComparison::Add(Table& table, const Row& row) {
  table.passes += row.passes;
  for (const std::uint32_t number : row.switches) {
    if (table.links.size() <= number) table.links.resize(number + 1);
    ++table.links[number];
    ++by_number_[number].links;
  }
  if (table.agreed.size() < row.agreed.size()) table.agreed.resize(row.agreed.size());
  for (std::size_t rail = 0; rail < row.agreed.size(); ++rail)
    if (row.agreed[rail]) ++table.agreed[rail][*row.agreed[rail]];
}

void LldpComparison::Subtract(Table& table, const Row& row) {
  table.passes -= row.passes;
  for (const std::uint32_t number : row.switches) {
    --table.links[number];
    if (--by_number_[number].links == 0) unused_.push_back(number);
  }
  for (std::size_t rail = 0; rail < row.agreed.size(); ++rail) {
    if (!row.agreed[rail]) continue;
    const auto count = table.agreed[rail].find(*row.agreed[rail]);
    if (--count->second == 0) table.agreed[rail].erase(count);
  }
}

void LldpComparison::Put(std::uint32_t node) {
  const fleet::NodeView& view = nodes_.at(node);
  const std::uint64_t names = DigestOfNames(view);
  switch_of_port_.clear();
  for (Table& table : tables_) {
    if (table.rows.size() <= node) table.rows.resize(node + 1);
    Row& row = table.rows[node];
    const std::uint64_t digest = DigestOf(names, *table.rule->lldp_rule, view);
    if (row.digest == digest) continue;
    if (switch_of_port_.empty()) FindSwitches(view);
    Subtract(table, row);
    row = RowOf(table, view);
    row.digest = digest;
    Add(table, row);
    if (row.deviates)
      table.deviating.insert(node);
    else
      table.deviating.erase(node);
    table.changed = true;
  }
  if (!unused_.empty()) ForgetSwitches();
}

void LldpComparison::Remove(std::uint32_t node) {
  for (Table& table : tables_) {
    if (table.rows.size() <= node) continue;
    Subtract(table, std::exchange(table.rows[node], {}));
    table.deviating.erase(node);
    table.changed = true;
  }
  if (!unused_.empty()) ForgetSwitches();
}

// Another rule reports such a host.
bool LldpComparison::DeviatesFromRail(const Table& table, const fleet::PortView& port) {
  if (table.rule->lldp_rule->agreed == nullptr || !port.rail) return false;
  const auto own = table.rule->lldp_rule->agreed(port);
  if (!own) return false;
  const std::map<std::uint64_t, std::uint64_t>& values = table.agreed[port.rail->value()];
  const std::uint64_t count = values.at(*own);
  return std::ranges::any_of(
      values, [&](const auto& value) { return value.first != *own && value.second >= count; });
}

Deviations LldpComparison::DeviationsOf(const Table& table) const {
  std::vector<std::uint32_t> nodes(table.deviating.begin(), table.deviating.end());
  std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes_.Before({.node = a}, {.node = b});
  });
  Deviations deviations;
  for (const std::uint32_t node : nodes) {
    std::size_t& of_node = deviations.of_node[nodes_.at(node).node->name];
    for (const Link& link : LinksOf(*table.rule->lldp_rule, nodes_.at(node))) {
      const std::string& chassis = link.neighbor->chassis_id();
      const auto of_switch =
          deviations.of_switch.try_emplace(chassis, table.links[switches_.at(chassis)]).first;
      ++of_node;
      if (link.announced.verdict == v1::VERDICT_PASS) continue;
      if (!DeviatesFromRail(table, *link.port)) {
        deviations.links.push_back(link);
        continue;
      }
      --of_switch->second;
      --of_node;
    }
  }
  return deviations;
}

void LldpComparison::AddPassing(RuleSet& rules) const {
  for (const Table& table : tables_)
    if (table.passes > 0) rules.set(table.number);
}

void LldpComparison::AddJudging(std::uint32_t node, RuleSet& rules) const {
  for (const Table& table : tables_)
    if (node < table.rows.size() && table.rows[node].passes > 0) rules.set(table.number);
}

void LldpComparison::Judge() {
  for (Table& table : tables_) {
    if (!std::exchange(table.changed, false)) continue;
    Verdicts out(table.rule->id, table.rule->severity);
    out.Pass(table.passes);
    if (!table.deviating.empty()) Report(*table.rule->lldp_rule, DeviationsOf(table), out);
    findings_.Replace(table.outcome, out);
  }
}

}  // namespace fabric::rules
