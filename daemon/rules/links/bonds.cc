#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// A bond that carries RDMA of the fabric.
struct RdmaBond {
  const v1::NetInterface* bond = nullptr;
  std::vector<const v1::NetInterface*> members;
  const PortView* port = nullptr;  // The first port over it

  const std::string& name() const { return bond->name(); }
  // Made to add up bandwidth, not for failover.
  bool IsAggregate() const {
    return bond->bond().mode() == "802.3ad" || bond->bond().mode() == "balance-xor";
  }
  // The members are on different cards, by their PCI addresses. False if these are unknown.
  bool SpansCards() const {
    std::string_view card;
    for (const v1::NetInterface* member : members) {
      if (!member->has_pci_address()) continue;
      if (!card.empty() && card != CardOf(member->pci_address())) return true;
      card = CardOf(member->pci_address());
    }
    return false;
  }
};

RdmaBond ToBond(const PortView& port, const v1::NetInterface& bond) {
  RdmaBond found{.bond = &bond, .members = {}, .port = &port};
  for (const std::string& name : bond.bond().members())
    if (const v1::NetInterface* member = FindNetdev(port.node->snapshot, name))
      found.members.push_back(member);
  return found;
}

// Aggregating bonds of a node in which every RoCE port is bonded. If ports of the fabric are not
// bonded, a bond is for storage or the front end, and is not set up for RDMA.
std::vector<RdmaBond> AggregatesOf(const fleet::NodeView& node) {
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
  std::erase_if(bonds, [](const RdmaBond& bond) { return !bond.IsAggregate(); });
  return bonds;
}

// bond_hash_policy

void JudgeHashPolicy(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : AggregatesOf(node)) {
    const v1::Bond& settings = bond.bond->bond();
    if (!settings.has_transmit_hash_policy()) continue;
    if (settings.transmit_hash_policy() != "layer2") {
      out.Pass();
      continue;
    }
    const std::string& name = bond.name();
    out.Fail(
        bond.port->Subject(), Format("transmit hash policy of {} layer2, expected layer3+4", name),
        {ToEvidence(*bond.port->node,
                    {.what = "transmit hash policy of " + name,
                     .expected = "layer3+4",
                     .seen = settings.transmit_hash_policy(),
                     .source = Format("sys/class/net/{}/bonding/xmit_hash_policy", name),
                     .basis = "RDMA runs over the bond"})},
        {Change({.command = Format("ip link set dev {} type bond xmit_hash_policy layer3+4", name),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot(kInNetworkConfiguration),
                 .undo = Format("ip link set dev {} type bond xmit_hash_policy {}", name,
                                settings.transmit_hash_policy()),
                 .note = "The switches have their own setting for the other direction."})});
  }
}

// bond_members_active

// Without LAG the member has its own RDMA port, which is down and reported by port_active.
bool IsReportedElsewhere(const RdmaBond& bond, const v1::NetInterface& member) {
  for (const v1::RdmaDevice& device : bond.port->node->snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.netdev() == member.name() && port.state() == v1::PORT_STATE_DOWN) return true;
  return false;
}

// Empty if the member is active.
std::string_view Problem(const v1::NetInterface& member) {
  if (member.has_carrier() && !member.carrier()) return "has no link";
  if (!member.has_bond_member()) return {};
  if (member.bond_member().has_mii_up() && !member.bond_member().mii_up()) return "has no link";
  if (member.bond_member().has_active() && !member.bond_member().active())
    return "is not part of the aggregate";
  return {};
}

void FailMember(const RdmaBond& bond, const v1::NetInterface& member, std::string_view problem,
                Verdicts& out) {
  out.Fail(bond.port->Subject(),
           Format("member {} of {} {}, expected active", member.name(), bond.name(), problem),
           {ToEvidence(*bond.port->node,
                       {.what = "member " + member.name(),
                        .expected = "active, with link",
                        .seen = std::string(problem),
                        .source = Format("sys/class/net/{}/bonding_slave/state", member.name()),
                        .basis = "mode " + bond.bond->bond().mode()})},
           {Query({.command =
                       Format("ethtool {}; ip -d link show master {}", member.name(), bond.name()),
                   .note = "With a link: check that the switch uses LACP on both ports, in one "
                           "group. Without: check cable, module and switch port."})},
           member.name());
}

void JudgeMembers(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : AggregatesOf(node)) {
    for (const v1::NetInterface* member : bond.members) {
      const std::string_view problem = Problem(*member);
      if (problem.empty())
        out.Pass();
      else if (!IsReportedElsewhere(bond, *member))
        FailMember(bond, *member, problem, out);
    }
  }
}

// bond_within_one_card

void JudgeCards(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : AggregatesOf(node)) {
    if (!bond.SpansCards()) {
      out.Pass();
      continue;
    }
    std::vector<std::string> members;
    for (const v1::NetInterface* member : bond.members)
      members.push_back(Format("{} at {}", member->name(), member->pci_address()));
    out.Fail(bond.port->Subject(),
             Format("{} has members on several cards: {}, expected one card", bond.name(),
                    Listed(members)),
             {ToEvidence(*bond.port->node,
                         {.what = "members of " + bond.name(),
                          .expected = "ports of one card",
                          .seen = ListedAll(members),
                          .source = Format("sys/class/net/{}/bonding/slaves", bond.name()),
                          .basis = "RoCE LAG is formed within a card"})},
             {Advice("Use several cards as separate rails, each with its own address. Or bond the "
                     "two ports of each card. Change the network configuration of the node and "
                     "reboot it when no job runs: taking a member out of the bond interrupts all "
                     "traffic of the bond.")});
  }
}

// bond_member_speeds_equal

void JudgeSpeeds(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : AggregatesOf(node)) {
    std::set<std::uint64_t> speeds;
    std::vector<std::string> members;
    for (const v1::NetInterface* member : bond.members) {
      if (!member->has_speed_bps() || !Problem(*member).empty()) continue;
      speeds.insert(member->speed_bps());
      members.push_back(
          Format("{} {}", member->name(), BitRate(static_cast<double>(member->speed_bps()))));
    }
    if (members.size() < 2) continue;
    if (speeds.size() == 1) {
      out.Pass();
      continue;
    }
    out.Fail(bond.port->Subject(),
             Format("members of {} with different speeds: {}, expected one speed", bond.name(),
                    Listed(members)),
             {ToEvidence(*bond.port->node,
                         {.what = "speeds of the members of " + bond.name(),
                          .expected = "one speed",
                          .seen = ListedAll(members),
                          .source = Format("sys/class/net/{}/speed", bond.members[0]->name()),
                          .basis = "mode " + bond.bond->bond().mode()})},
             {Query({.command = Format("ethtool {}; ethtool {}", bond.members.front()->name(),
                                       bond.members.back()->name()),
                     .note = "Shows the supported and the advertised link modes. Check cable, "
                             "module and switch port of the slower member."})});
  }
}

// roce_lag_formed

void FailLag(const RdmaBond& bond, Verdicts& out) {
  const PortView& port = *bond.port;
  out.Fail(port.Subject(),
           Format("no RoCE LAG over {}: {}, expected one RDMA device for the bond", bond.name(),
                  port.port->lag().reason()),
           {ToEvidence(*port.node, {.what = "RoCE LAG over " + bond.name(),
                                    .expected = "formed",
                                    .seen = port.port->lag().reason(),
                                    .source = Format("sys/class/net/{}/bonding", bond.name()),
                                    .basis = "an aggregating bond of RDMA ports"})},
           {Query({.platform = "mlx5",
                   .command = "dmesg | grep -i lag",
                   .note = "Shows the reason. All ports of the card must be in the bond, in "
                           "mode active-backup, balance-xor or 802.3ad. Virtual functions must "
                           "be off, or the card in switchdev mode. Then recreate the bond."})});
}

void JudgeLag(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : AggregatesOf(node)) {
    const v1::RoceLag& lag = bond.port->port->lag();
    if (!lag.has_formed()) continue;
    if (!DriverOf(*bond.port).starts_with("mlx5") &&
        !std::string_view(bond.port->device->driver()).starts_with("mlx5"))
      continue;  // Other drivers are not known to form a LAG.
    if (lag.formed())
      out.Pass();
    else if (!bond.SpansCards())  // Else a finding of bond_within_one_card
      FailLag(bond, out);
  }
}

}  // namespace

extern const Rule bond_hash_policy = {
    .id = "bond_hash_policy",
    .title = "An aggregating bond under RDMA does not hash by MAC addresses alone",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "With a hash by MAC address (layer2, the default), all traffic through one router leaves "
        "by one port. Card and firmware decide how much RDMA traffic follows the policy.",
    .source = "kernel Documentation/networking/bonding.rst (xmit_hash_policy)",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "ip link set dev BOND type bond xmit_hash_policy layer3+4",
    .evaluate_node = JudgeHashPolicy,
};

extern const Rule bond_members_active = {
    .id = "bond_members_active",
    .title = "Every member of an aggregating bond under RDMA is active",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The RDMA device of a bond stays ACTIVE with one of its links. Only the bandwidth shows "
        "that the other link is down, or that the switch does not aggregate.",
    .source = "kernel Documentation/networking/bonding.rst",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .reads = {{.field = Field::kBondMembers, .applies = IsRoceInUse}},
    .fix = "LACP on the switch ports; cable, module",
    .evaluate_node = JudgeMembers,
};

extern const Rule bond_member_speeds_equal = {
    .id = "bond_member_speeds_equal",
    .title = "The members of an aggregating bond under RDMA have one speed",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Flows are spread evenly over the members. The slower one limits the bond, and LACP keeps "
        "members of another speed out of the aggregate.",
    .source = "IEEE 802.1AX; kernel Documentation/networking/bonding.rst",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag, Input::kNetInterfaces},
    .fix = "Check cable, module and switch port of the slower member",
    .evaluate_node = JudgeSpeeds,
};

extern const Rule bond_within_one_card = {
    .id = "bond_within_one_card",
    .title = "An aggregating bond under RDMA has all its members on one card",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "No hardware combines two cards into one RDMA device. Queue pairs stay on the card on "
        "which they were created, while the switches spread their packets over both.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "Cards as separate rails, or bonds within a card",
    .evaluate_node = JudgeCards,
};

extern const Rule roce_lag_formed = {
    .id = "roce_lag_formed",
    .title = "An aggregating bond over the ports of an mlx5 card is one RDMA device",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without a LAG in the card, each port keeps its own RDMA device. Queue pairs stay on one "
        "port, use half of the bandwidth, and fail with its link although the bond stays up.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "All ports of the card in one bond of mode 1, 2 or 4; dmesg shows the reason",
    .evaluate_node = JudgeLag,
};

}  // namespace fabric::rules
