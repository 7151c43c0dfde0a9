#include "daemon/rules/causes/port_map.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

bool IsActive(const fleet::PortView& port) {
  return port.port->state() == v1::PORT_STATE_ACTIVE;
}

Scope NodeScope(const std::string& node) {
  return {.kind = v1::SCOPE_NODE, .node = node};
}
Scope RailScope(std::uint32_t rail) {
  return {.kind = v1::SCOPE_RAIL, .rail = rail};
}
Scope SwitchScope(const std::string& name) {
  return {.kind = v1::SCOPE_SWITCH, .switch_name = name};
}

}  // namespace

bool IsOfPort(const v1::Finding& finding) {
  return finding.subject().scope() == v1::SCOPE_PORT || finding.subject().scope() == v1::SCOPE_LINK;
}

std::size_t HashScope::operator()(const Scope& scope) const {
  Digest digest;
  if (!scope.node.empty()) digest.Add(scope.node);
  if (!scope.switch_name.empty()) digest.Add(scope.switch_name);
  return digest.Add(std::uint64_t{scope.rail} << 8 | static_cast<std::uint64_t>(scope.kind))
      .value();
}

PortMap::Ports PortMap::PortsOf(const fleet::NodeView& node) {
  Ports ports;
  ports.reserve(node.ports.size());
  for (const fleet::PortView& port : node.ports)
    if (port.rail)
      ports.push_back({.device = port.device->name(),
                       .number = port.port->number(),
                       .rail = port.rail->value(),
                       .switch_name = std::string(port.switch_name),
                       .card = std::string(CardOf(port.device->pci_address())),
                       .up = IsActive(port)});
  return ports;
}

// Copies nothing: most reports change no port.
bool PortMap::IsSame(const fleet::NodeView& node, const Ports& ports) {
  std::size_t next = 0;
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail) continue;
    if (next == ports.size()) return false;
    const Port& before = ports[next++];
    if (before.device != port.device->name() || before.number != port.port->number() ||
        before.rail != port.rail->value() || before.switch_name != port.switch_name ||
        before.card != CardOf(port.device->pci_address()) || before.up != IsActive(port))
      return false;
  }
  return next == ports.size();
}

Scopes PortMap::Put(const fleet::NodeView& node) {
  const std::string& name = node.node->name;
  const auto [known, added] = nodes_.try_emplace(name);
  if (!added && IsSame(node, known->second)) return {};
  const Ports before = std::exchange(known->second, PortsOf(node));
  return Replace(name, before, known->second);
}

Scopes PortMap::Remove(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return {};
  const Ports before = std::move(known->second);
  nodes_.erase(known);
  return Replace(node, before, {});
}

// Counts only the ports that have changed. The scope of the fleet also depends on the number of
// nodes, so the result always includes it.
Scopes PortMap::Replace(const std::string& node, const Ports& before, const Ports& now) {
  Scopes changed;
  PortCount all_gone;
  PortCount all_come;
  const auto count = [&](const Port& port, bool come) {
    const PortCount one = {.all = 1, .up = port.up ? 1U : 0U};
    PortCount& sum = come ? all_come : all_gone;
    sum.all += one.all;
    sum.up += one.up;
    Scopes scopes = {RailScope(port.rail)};
    if (!port.switch_name.empty()) scopes.push_back(SwitchScope(port.switch_name));
    for (Scope& scope : scopes) {
      Count(scope, come ? PortCount() : one, come ? one : PortCount());
      changed.push_back(std::move(scope));
    }
  };
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    if (i < before.size() && i < now.size() && before[i] == now[i]) continue;
    if (i < before.size()) count(before[i], false);
    if (i < now.size()) count(now[i], true);
  }
  for (Scope& scope : Scopes{NodeScope(node), Scope()}) {
    Count(scope, all_gone, all_come);
    changed.push_back(std::move(scope));
  }
  return changed;
}

void PortMap::Count(const Scope& scope, const PortCount& gone, const PortCount& come) {
  const auto [known, added] = counts_.try_emplace(scope);
  PortCount& count = known->second;
  count.all = count.all + come.all - gone.all;
  count.up = count.up + come.up - gone.up;
  const bool is_rail = scope.kind == v1::SCOPE_RAIL;
  if (added && is_rail) ++rails_;
  if (count.all > 0) return;
  counts_.erase(known);
  if (is_rail) --rails_;
}

PortCount PortMap::CountOf(const Scope& scope) const {
  const auto known = counts_.find(scope);
  return known == counts_.end() ? PortCount() : known->second;
}

Location PortMap::LocationOf(const v1::Finding& finding) const {
  const v1::Subject& subject = finding.subject();
  Location location{.node = subject.node(), .scopes = {}};
  if (!IsOfPort(finding)) {
    const bool lost = subject.scope() == v1::SCOPE_NODE && !nodes_.contains(subject.node());
    if (lost) return location;
    location.scopes = {Scope()};
    location.up = true;
    return location;
  }
  const auto node = nodes_.find(subject.node());
  if (node == nodes_.end()) return location;
  for (const Port& port : node->second) {
    if (port.device != subject.device() || port.number != subject.port()) continue;
    location.scopes = {Scope()};
    if (!port.switch_name.empty()) location.scopes.push_back(SwitchScope(port.switch_name));
    location.scopes.push_back(RailScope(port.rail));
    location.scopes.push_back(NodeScope(subject.node()));
    location.up = port.up;
  }
  return location;
}

Place PortMap::PlaceOf(const v1::Finding& finding) const {
  const v1::Subject& subject = finding.subject();
  const auto node = nodes_.find(subject.node());
  if (node == nodes_.end()) return {};
  for (const Port& port : node->second) {
    if (port.device != subject.device()) continue;
    if (subject.scope() == v1::SCOPE_DEVICE) return {.card = port.card};
    if (port.number == subject.port())
      return {.card = port.card, .rail = port.rail, .switch_name = port.switch_name};
  }
  return {};
}

}  // namespace fabric::rules
