#include "agents/inspect/report/report_table.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::inspect {
namespace {

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return OrAbsent(Join({names.begin(), names.end()}, " "));
}

std::string_view KindWord(v1::FunctionKind kind) {
  switch (kind) {
    case v1::FUNCTION_KIND_PHYSICAL: return "PF";
    case v1::FUNCTION_KIND_VIRTUAL: return "VF";
    case v1::FUNCTION_KIND_SUBFUNCTION: return "SF";
    case v1::FUNCTION_KIND_REPRESENTOR: return "representor";
    case v1::FUNCTION_KIND_SOFTWARE: return "software";
    case v1::FUNCTION_KIND_BOND: return "bond";
    default: return kAbsent;
  }
}

std::string_view RoleWord(v1::FunctionRole role) {
  switch (role) {
    case v1::FUNCTION_ROLE_FABRIC: return "fabric";
    case v1::FUNCTION_ROLE_STORAGE: return "storage";
    case v1::FUNCTION_ROLE_MANAGEMENT: return "management";
    case v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT: return "NVSwitch management";
    default: return kAbsent;
  }
}

// "eth0 formed", "bond1 not formed"; "-" without a bond.
std::string LagText(const v1::RdmaDevice& device) {
  for (const v1::Port& port : device.ports())
    if (port.has_lag())
      return port.lag().bond() + (!port.lag().has_formed() ? " unknown"
                                  : port.lag().formed()    ? " formed"
                                                           : " not formed");
  return std::string(kAbsent);
}

std::string PrioritiesText(const v1::Vlan& vlan) {
  std::vector<std::string> priorities;
  for (const std::uint32_t priority : vlan.egress_priorities())
    priorities.push_back(Format("{}", priority));
  return priorities.empty() ? "all 0" : Join(priorities, " ");
}

}  // namespace

std::string FunctionsText(const v1::NodeSnapshot& snapshot) {
  Section section("Functions", {"DEVICE", "KIND", "ROLE", "COUNTERS", "MODEL", "PART", "SERIAL",
                                "LAG", "DEVICES IN DEV", "WHY"});
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    const v1::FunctionClass& function = device.function();
    section.Row({device.name(), std::string(KindWord(function.kind())),
                 std::string(RoleWord(function.role())),
                 function.counters_allowed() ? "read" : "left alone", OrAbsent(device.model()),
                 OrAbsent(device.part_number()), OrAbsent(device.serial_number()), LagText(device),
                 Joined(device.character_devices()), OrAbsent(function.reason())});
  }
  return section.Text(NoneOrUnknown(snapshot, {kRdmaClass}, "none"));
}

std::string StacksText(const v1::NodeSnapshot& snapshot) {
  Section section("Bonds and VLANs",
                  {"NETDEV", "WHAT", "ABOVE", "BELOW", "HASH", "TAG PRIORITIES"});
  bool any = false;
  for (const v1::NetInterface& netdev : snapshot.net_interfaces()) {
    if (!netdev.has_bond() && !netdev.has_vlan()) continue;
    any = true;
    section.Row(
        {netdev.name(),
         netdev.has_bond() ? "bond " + netdev.bond().mode() : Format("VLAN {}", netdev.vlan().id()),
         Joined(netdev.lowers()), Joined(netdev.uppers()),
         OrAbsent(netdev.bond().transmit_hash_policy()),
         netdev.has_vlan() ? PrioritiesText(netdev.vlan()) : std::string(kAbsent)});
  }
  return any ? section.Text("") : std::string();
}

}  // namespace fabric::inspect
