#include "daemon/rules/links/bonds.h"

#include <algorithm>
#include <string_view>

#include "daemon/rules/facts.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// "0000:3b:00" of "0000:3b:00.1": functions of one card differ in the last digit.
std::string_view CardOf(std::string_view address) {
  return address.substr(0, address.rfind('.'));
}

RdmaBond ToBond(const PortView& port, const v1::NetInterface& bond) {
  RdmaBond found{.bond = &bond, .members = {}, .port = &port};
  for (const std::string& name : bond.bond().members())
    if (const v1::NetInterface* member = FindNetdev(port.node->snapshot, name))
      found.members.push_back(member);
  return found;
}

}  // namespace

std::vector<RdmaBond> BondsOf(const fleet::NodeView& node) {
  std::vector<RdmaBond> bonds;
  for (const PortView& port : node.ports) {
    if (!port.rail) break;
    if (!port.port->has_lag()) {
      if (IsUp(port)) return {};
      continue;
    }
    const v1::NetInterface* const bond = FindNetdev(port.node->snapshot, port.port->lag().bond());
    const bool known = std::any_of(bonds.begin(), bonds.end(),
                                   [&](const RdmaBond& other) { return other.bond == bond; });
    if (bond != nullptr && !known) bonds.push_back(ToBond(port, *bond));
  }
  return bonds;
}

bool IsAggregate(const v1::NetInterface& bond) {
  return bond.bond().mode() == "802.3ad" || bond.bond().mode() == "balance-xor";
}

bool SpansCards(const RdmaBond& bond) {
  std::string_view card;
  for (const v1::NetInterface* member : bond.members) {
    if (!member->has_pci_address()) continue;
    if (!card.empty() && card != CardOf(member->pci_address())) return true;
    card = CardOf(member->pci_address());
  }
  return false;
}

}  // namespace fabric::rules
