#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/parse/parse_net.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kBondsAndVlansName = "bonds_and_vlans";

v1::NetInterface* Find(v1::NodeSnapshot& snapshot, std::string_view name) {
  for (v1::NetInterface& netdev : *snapshot.mutable_net_interfaces())
    if (netdev.name() == name) return &netdev;
  return nullptr;
}

void AddOnce(google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) *names.Add() = name;
  std::sort(names.begin(), names.end());
}

void ReadBond(const Attributes& files, v1::NetInterface& netdev) {
  v1::Bond& bond = *netdev.mutable_bond();
  if (const auto mode = files.Text("bonding/mode")) bond.set_mode(FirstWord(*mode));
  if (const auto policy = files.Text("bonding/xmit_hash_policy", Absence::kIsFine))
    bond.set_transmit_hash_policy(FirstWord(*policy));
  // A bond without members has an empty file.
  const Result<std::string> members = files.dir().Text("bonding/slaves");
  if (members.ok()) {
    for (const std::string_view member : Words(*members))
      if (IsPlainName(member)) bond.add_members(std::string(member));
  } else {
    *bond.mutable_members() = netdev.lowers();
  }
  std::sort(bond.mutable_members()->begin(), bond.mutable_members()->end());
  for (const std::string& member : bond.members()) AddOnce(*netdev.mutable_lowers(), member);
  v1::FunctionClass& function = *netdev.mutable_function();
  function.set_kind(v1::FUNCTION_KIND_BOND);
  function.set_counters_allowed(true);
  function.set_reason("a bond of " + Join({bond.members().begin(), bond.members().end()}, " and "));
}

void ReadMember(const Attributes& files, v1::NetInterface& netdev) {
  v1::BondMember& member = *netdev.mutable_bond_member();
  const auto state = files.Text("bonding_slave/state", Absence::kIsFine);
  if (state == "active" || state == "backup") member.set_active(state == "active");
  const auto mii = files.Text("bonding_slave/mii_status", Absence::kIsFine);
  if (mii) member.set_mii_up(*mii == "up");
}

// Of the live machine from rtnetlink. The files of proc/net/vlan, which captures have, are for root
// alone there.
std::optional<host::VlanInfo> VlanOf(const Host& host, const std::vector<VlanLine>& config,
                                     const v1::NetInterface& netdev, std::string& lower) {
  if (netdev.has_index())
    if (auto vlan = host.addresses.Vlan(netdev.index()); vlan.ok()) return *std::move(vlan);
  for (const VlanLine& line : config) {
    if (line.netdev != netdev.name()) continue;
    host::VlanInfo vlan{.id = line.id};
    const auto text = host.root.Whole("proc/net/vlan/" + netdev.name());
    if (text.ok()) vlan.egress = ParseVlanEgress(*text);
    lower = line.lower;
    return vlan;
  }
  return std::nullopt;
}

void ReadVlan(const Host& host, const Attributes& files, const std::vector<VlanLine>& config,
              v1::NetInterface& netdev) {
  std::string lower = netdev.lowers_size() == 1 ? netdev.lowers(0) : std::string();
  const auto vlan = VlanOf(host, config, netdev, lower);
  if (!vlan) {
    const Result<std::string> uevent = files.dir().Text("uevent");
    if (uevent.ok() && UeventValue(*uevent, "DEVTYPE") == "vlan")
      files.Gap("uevent", Status(Code::kNotFound,
                                 "unknown VLAN id: not in rtnetlink or "
                                 "proc/net/vlan/config"));
    return;
  }
  netdev.mutable_vlan()->set_id(vlan->id);
  netdev.mutable_vlan()->set_lower(lower);
  for (const std::uint32_t priority : EgressPriorities(vlan->egress))
    netdev.mutable_vlan()->add_egress_priorities(priority);
  if (!lower.empty()) AddOnce(*netdev.mutable_lowers(), lower);
}

// Each end of a relation may have been captured without the other.
void Complete(v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    for (const std::string& lower : netdev.lowers()) {
      v1::NetInterface* const below = Find(out, lower);
      if (below == nullptr) continue;
      AddOnce(*below->mutable_uppers(), netdev.name());
      if (netdev.has_bond() && !below->has_master()) below->set_master(netdev.name());
    }
  }
}

Status InspectBondsAndVlans(const Host& host, v1::NodeSnapshot& out) {
  const Result<std::string> text = host.root.Whole("proc/net/vlan/config");
  const std::vector<VlanLine> config = text.ok() ? ParseVlanConfig(*text) : std::vector<VlanLine>();
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    const Gaps gaps{.snapshot = out, .inspector = kBondsAndVlansName, .subject = netdev.name()};
    const auto files = Attributes::Open(host, "sys/class/net/" + netdev.name(), gaps);
    if (!files.ok()) continue;  // A gap of net_interfaces
    if (const auto master = LinkTarget(files->dir(), "master")) netdev.set_master(*master);
    if (files->dir().Has("bonding")) ReadBond(*files, netdev);
    if (files->dir().Has("bonding_slave")) ReadMember(*files, netdev);
    const bool hardware = netdev.function().kind() != v1::FUNCTION_KIND_SOFTWARE;
    if (!hardware && !netdev.has_bond()) ReadVlan(host, *files, config, netdev);
  }
  Complete(out);
  return {};
}

}  // namespace

extern const Inspector bonds_and_vlans = {
    .name = kBondsAndVlansName,
    .doc =
        "Which netdevs are stacked on which: bonds with their mode and members, VLANs with their "
        "priorities.",
    .inspect = InspectBondsAndVlans,
};

}  // namespace fabric::inspect
