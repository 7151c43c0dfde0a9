#include "daemon/rules/engine/announcements.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

// What all links of the node are called, whether they are judged or not.
std::uint64_t DigestOfNames(const fleet::NodeView& node) {
  Digest digest;
  for (const fleet::PortView& port : node.ports) {
    if (port.neighbor == nullptr || !CarriesRoce(port)) continue;
    const v1::LldpNeighbor& neighbor = *port.neighbor;
    digest.Add(port.device->name()).Add(port.port->number()).Add(port.port->netdev());
    digest.Add(port.rail->value()).Add(neighbor.chassis_id()).Add(neighbor.system_name());
    digest.Add(SwitchPort(neighbor));
  }
  return digest.value();
}

std::uint64_t DigestOf(std::uint64_t names, const Announcement& announcement,
                       const fleet::NodeView& node) {
  Digest digest;
  digest.Add(names);
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail) break;
    if (announcement.agreed != nullptr) digest.Add(announcement.agreed(port).value_or(~0U));
    if (port.neighbor == nullptr || !CarriesRoce(port)) continue;
    const auto announced = announcement.judge(port, *port.neighbor);
    if (!announced) continue;
    digest.Add(port.rail->value()).Add(static_cast<std::uint64_t>(announced->verdict));
    digest.Add(announced->seen).Add(announced->expected);
  }
  return digest.value();
}

}  // namespace

Announcements::Announcements(const Roster& roster, Ledger& ledger)
    : roster_(roster), ledger_(ledger) {
  for (const Rule* rule : AllRules())
    if (rule->announcement != nullptr) tables_.push_back({.rule = rule});
}

// Once for all tables: names of switches are scattered over the memory.
void Announcements::FindSwitches(const fleet::NodeView& node) {
  heard_.clear();
  for (const fleet::PortView& port : node.ports) {
    const bool heard = port.neighbor != nullptr && CarriesRoce(port);
    const auto next = static_cast<std::uint32_t>(switches_.size());
    heard_.push_back(heard ? switches_.try_emplace(port.neighbor->chassis_id(), next).first->second
                           : 0);
  }
}

Announcements::Row Announcements::RowOf(const Table& table, const fleet::NodeView& node) const {
  const Announcement& announcement = *table.rule->announcement;
  Row row;
  for (const Link& link : LinksOf(announcement, node)) {
    row.switches.push_back(heard_[static_cast<std::size_t>(link.port - node.ports.data())]);
    if (link.announced.verdict == v1::VERDICT_PASS)
      ++row.passes;
    else
      row.deviates = true;
  }
  for (const fleet::PortView& port : node.ports)
    if (port.rail && announcement.agreed != nullptr)
      row.agreed.push_back(announcement.agreed(port));
  return row;
}

void Announcements::Count(Table& table, const Row& row, bool come) {
  const auto add = [&](std::uint64_t& count, std::uint64_t number) {
    count = come ? count + number : count - number;
  };
  add(table.passes, row.passes);
  for (const std::uint32_t number : row.switches) {
    if (table.links.size() <= number) table.links.resize(number + 1);
    add(table.links[number], 1);
  }
  if (table.agreed.size() < row.agreed.size()) table.agreed.resize(row.agreed.size());
  for (std::size_t rail = 0; rail < row.agreed.size(); ++rail) {
    if (!row.agreed[rail]) continue;
    const auto value = table.agreed[rail].try_emplace(*row.agreed[rail]).first;
    add(value->second, 1);
    if (value->second == 0) table.agreed[rail].erase(value);
  }
}

void Announcements::Put(std::uint32_t node) {
  const fleet::NodeView& view = roster_.at(node);
  const std::uint64_t names = DigestOfNames(view);
  heard_.clear();
  for (Table& table : tables_) {
    if (table.rows.size() <= node) table.rows.resize(node + 1);
    const std::uint64_t digest = DigestOf(names, *table.rule->announcement, view);
    if (table.rows[node].digest == digest) continue;
    if (heard_.empty()) FindSwitches(view);
    Count(table, table.rows[node], false);
    table.rows[node] = RowOf(table, view);
    table.rows[node].digest = digest;
    Count(table, table.rows[node], true);
    if (table.rows[node].deviates)
      table.deviating.insert(node);
    else
      table.deviating.erase(node);
    table.changed = true;
  }
}

void Announcements::Remove(std::uint32_t node) {
  for (Table& table : tables_) {
    if (table.rows.size() <= node) continue;
    Count(table, std::exchange(table.rows[node], {}), false);
    table.deviating.erase(node);
    table.changed = true;
  }
}

// A host in which its own rail disagrees is another rule's.
bool Announcements::IsOdd(const Table& table, const fleet::PortView& port) {
  if (table.rule->announcement->agreed == nullptr || !port.rail) return false;
  const auto own = table.rule->announcement->agreed(port);
  if (!own) return false;
  const std::map<std::uint64_t, std::uint64_t>& values = table.agreed[port.rail->value()];
  if (values.size() < 2) return false;
  const std::uint64_t count = values.at(*own);
  return std::any_of(values.begin(), values.end(), [&](const auto& value) {
    return value.first != *own && value.second >= count;
  });
}

void Announcements::Judge() {
  for (Table& table : tables_) {
    ledger_.CountPasses(table.told, table.passes);
    if (std::exchange(table.changed, false)) Judge(table);
  }
}

void Announcements::Judge(Table& table) {
  if (table.deviating.empty()) return ledger_.Drop(table.ids);
  std::vector<std::uint32_t> nodes(table.deviating.begin(), table.deviating.end());
  std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
    return roster_.Before({.node = a}, {.node = b});
  });
  Deviations deviations;
  for (const std::uint32_t node : nodes) {
    std::size_t& of_node = deviations.of_node[roster_.at(node).node->name];
    for (const Link& link : LinksOf(*table.rule->announcement, roster_.at(node))) {
      const std::string& chassis = link.neighbor->chassis_id();
      const auto of_switch =
          deviations.of_switch.try_emplace(chassis, table.links[switches_.at(chassis)]).first;
      ++of_node;
      if (link.announced.verdict == v1::VERDICT_PASS) continue;
      if (!IsOdd(table, *link.port)) {
        deviations.links.push_back(link);
        continue;
      }
      --of_switch->second;
      --of_node;
    }
  }
  Verdicts out(table.rule->id, table.rule->severity);
  Report(*table.rule->announcement, std::move(deviations), out);
  ledger_.Replace(table.ids, out.findings());
}

}  // namespace fabric::rules
