#include "daemon/rules/fields.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/pcie/pci.h"
#include "proto/gaps.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Sources.

template <const char* kFile>
std::string OfPort(const Member& m) {
  return PortFile(*m.port, kFile);
}
template <const char* kFile>
std::string OfDevice(const Member& m) {
  return Format("sys/class/infiniband/{}/{}", m.port->device->name(), kFile);
}
template <const char* kFile>
std::string OfFunction(const Member& m) {
  return PciFile(m.port->device->pci_address(), kFile);
}
template <const char* kFile>
std::string OfNode(const Member&) {
  return kFile;
}
std::string DcbSource(const Member& m) {
  return "netlink dcb " + WireName(*m.port);
}
std::string QosFile(const Member& m) {
  return Format("sys/class/net/{}/qos", WireName(*m.port));
}
std::string BondSource(const Member& m) {
  return Format("sys/class/net/{}/bonding", m.port->port->netdev());
}
std::string EthtoolSource(const Member& m) {
  return Format("netlink ethtool {}", m.port->port->netdev());
}
// Where the driver of the port keeps its settings, when these are absent.
std::string CongestionFile(const Member& m) {
  if (CongestionOf(*m.port) != nullptr) return CongestionSource(m);
  const std::string& driver = m.port->device->driver();
  if (driver.starts_with("mlx5")) return "sys/kernel/debug/mlx5/" + m.port->device->pci_address();
  if (driver.starts_with("bnxt")) return "sys/kernel/config/bnxt_re/" + m.port->device->name();
  return driver == "ionic" ? "nicctl" : "sys/module/irdma/parameters";
}
// The path of one file that was refused.
std::string ParameterFile(const Member& m) {
  std::string directory = CongestionFile(m);
  for (const v1::Gap& gap : m.snapshot().gaps())
    if (Touches(gap, directory)) return gap.path();
  return directory;
}
std::string LinkCounterFile(const Member& m) {
  if (IsInfiniband(*m.port)) return PortFile(*m.port, "counters");
  return "ethtool statistics " + m.port->port->netdev();
}

constexpr char kAddressesSource[] = "netlink addresses";
constexpr char kAerFile[] = "aer_dev_fatal";
constexpr char kBoardIdFile[] = "board_id";
constexpr char kConfigFile[] = "config";
constexpr char kDeviceLink[] = "device";
constexpr char kFirmwareFile[] = "fw_ver";
constexpr char kGidsFile[] = "gids";
constexpr char kGid0File[] = "gids/0";
constexpr char kHardwareCountersFile[] = "hw_counters";
constexpr char kInterruptsDirectory[] = "msi_irqs";
constexpr char kLidFile[] = "lid";
constexpr char kLinkLayerFile[] = "link_layer";
constexpr char kLinkSpeedFile[] = "current_link_speed";
constexpr char kLldpSource[] = "LLDP";
constexpr char kMaxSpeedFile[] = "max_link_speed";
constexpr char kNodeDescriptionFile[] = "node_desc";
constexpr char kNodeGuidPath[] = "node_guid";
constexpr char kNodeTypePath[] = "node_type";
constexpr char kPkeysFile[] = "pkeys";
constexpr char kRateFile[] = "rate";
constexpr char kSensorsDirectory[] = "hwmon";
constexpr char kSmLidFile[] = "sm_lid";
constexpr char kStatePath[] = "state";

// Presence.

template <bool (v1::Port::*kHas)() const>
bool PortHas(const Member& m) {
  return (m.port->port->*kHas)();
}
template <bool (v1::RdmaDevice::*kHas)() const>
bool DeviceHas(const Member& m) {
  return (m.port->device->*kHas)();
}
template <bool (v1::PciFunction::*kHas)() const>
bool FunctionHas(const Member& m) {
  return m.port->function != nullptr && (m.port->function->*kHas)();
}
// DCB that is missing as a whole is an UNKNOWN of pfc_equal_on_rail alone, by kPfc.
template <bool (v1::DcbConfig::*kHas)() const>
bool DcbHas(const Member& m) {
  const v1::DcbConfig* const dcb = m.port->Dcb();
  return dcb == nullptr || (dcb->*kHas)();
}
template <bool (v1::CongestionControl::*kHas)() const>
bool CongestionHas(const Member& m) {
  const v1::CongestionControl* const control = CongestionOf(*m.port);
  return control != nullptr && (control->*kHas)();
}
template <bool (v1::NetInterface::*kHas)() const>
bool WireHas(const Member& m) {
  return m.port->wire != nullptr && (m.port->wire->*kHas)();
}
template <bool (v1::NetInterface::*kHas)() const>
bool NetdevHas(const Member& m) {
  return m.port->netdev != nullptr && (m.port->netdev->*kHas)();
}
bool HasPciLink(const Member& m) {
  return m.port->function != nullptr && m.port->function->link().width() != 0 &&
         m.port->function->link().speed_megatransfers_per_second() != 0;
}
bool HasMemberStates(const Member& m) {
  const v1::NetInterface* const bond = m.port->netdev;
  if (bond == nullptr || !bond->has_bond()) return true;
  const auto& names = bond->bond().members();
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const v1::NetInterface* const member = FindNetdev(m.snapshot(), name);
    return member != nullptr && member->has_carrier() && member->bond_member().has_active() &&
           member->bond_member().has_mii_up();
  });
}
bool HasErrorTotals(const Member& m) {
  const v1::PciFunction* const function = m.port->function;
  return function != nullptr && function->has_aer_correctable() && function->has_aer_nonfatal() &&
         function->has_aer_fatal();
}
bool HasPciLinkMax(const Member& m) {
  return m.port->function != nullptr && m.port->function->link_max().width() != 0 &&
         m.port->function->link_max().speed_megatransfers_per_second() != 0;
}
bool HasCardKind(const Member& m) {
  return !m.port->board.empty();
}
bool HasDriverVersion(const Member& m) {
  return m.port->device->has_driver_version() ||
         (m.port->netdev != nullptr && m.port->netdev->has_driver_version());
}
bool HasEcn(const Member& m) {
  const v1::CongestionControl* const control = CongestionOf(*m.port);
  return control != nullptr &&
         (control->has_ecn_enabled() || (!control->notification_point_enabled().empty() &&
                                         !control->reaction_point_enabled().empty()));
}
bool HasMap(const Member& m) {
  const v1::DcbConfig* const dcb = m.port->Dcb();
  return dcb == nullptr || dcb->trust() != v1::TRUST_DSCP || !dcb->dscp_to_priority().empty();
}
bool HasLinkRate(const Member& m) {
  return LinkRate(*m.port).has_value();
}
bool HasLinkCounters(const Member& m) {
  const auto sets = m.port->LinkCounterSets();
  return std::any_of(sets.begin(), sets.end(), [](auto at) { return at != fleet::kNoCounters; });
}
// By the names of the counters: rates are known after a window only.
bool HasFecCounters(const Member& m) {
  for (const auto at : m.port->LinkCounterSets()) {
    if (at == fleet::kNoCounters) continue;
    const v1::CounterSet& set = m.snapshot().counters(at);
    if (std::any_of(set.counters().begin(), set.counters().end(), [](const v1::Counter& counter) {
          return counter.neutral() == "fec_corrected_bits";
        }))
      return true;
  }
  return false;
}
// A table that was read and is empty is a finding of roce_v2_gid_present.
bool HasGids(const Member& m) {
  if (!m.port->port->gids().empty()) return true;
  const std::string table = PortFile(*m.port, kGidsFile);
  return std::ranges::none_of(m.snapshot().gaps(),
                              [&](const v1::Gap& gap) { return Touches(gap, table); });
}
// In the order of Field.
constexpr FieldInfo kInfos[] = {
    {"active RDMA MTU", Input::kRdmaPorts, Absence::kUnknown,
     PortHas<&v1::Port::has_active_mtu_bytes>,
     [](const Member& m) { return VerbsSource(*m.port); }},
    {"IP addresses", Input::kNetInterfaces, Absence::kOptional,
     [](const Member& m) {
       return m.port->netdev != nullptr && !m.port->netdev->addresses().empty();
     },
     OfNode<kAddressesSource>},
    {"PCIe error counters", Input::kPciFunctions, Absence::kOptional, HasErrorTotals,
     OfFunction<kAerFile>},
    {"PCIe address translation (ATS)", Input::kPciFunctions, Absence::kOptional,
     FunctionHas<&v1::PciFunction::has_ats_capable>, OfFunction<kConfigFile>},
    {"state of the members of the bond", Input::kBondsAndVlans, Absence::kOptional, HasMemberStates,
     BondSource},
    {"receive buffers", Input::kDcb, Absence::kOptional, DcbHas<&v1::DcbConfig::has_buffers>,
     DcbSource},
    {"cable length", Input::kDcb, Absence::kOptional, DcbHas<&v1::DcbConfig::has_cable_length_m>,
     QosFile},
    {"board id, model and PCI ids", Input::kRdmaDevices, Absence::kOptional, HasCardKind,
     OfDevice<kBoardIdFile>},
    {"DSCP of CNPs", Input::kCongestionControl, Absence::kOptional,
     CongestionHas<&v1::CongestionControl::has_cnp_dscp>, CongestionFile},
    {"priority of CNPs", Input::kCongestionControl, Absence::kOptional,
     CongestionHas<&v1::CongestionControl::has_cnp_priority>, CongestionFile},
    {"congestion control", Input::kCongestionControl, Absence::kOptional,
     [](const Member& m) { return CongestionOf(*m.port) != nullptr; }, CongestionFile},
    {"congestion control parameters", Input::kCongestionControl, Absence::kOptional,
     [](const Member& m) {
       const v1::CongestionControl* const control = CongestionOf(*m.port);
       return control != nullptr && !control->parameters().empty();
     },
     ParameterFile},
    {"DSCP and priority of RoCE data in the driver", Input::kCongestionControl, Absence::kOptional,
     CongestionHas<&v1::CongestionControl::has_roce_dscp>, CongestionFile},
    {"owner of DCBX", Input::kDcb, Absence::kOptional, DcbHas<&v1::DcbConfig::has_dcbx>, DcbSource},
    {"driver version", Input::kRdmaDevices, Absence::kOptional, HasDriverVersion,
     [](const Member& m) { return Format("sys/module/{}/version", m.port->device->driver()); }},
    {"map of DSCP to priority", Input::kDcb, Absence::kGapOrSilent, HasMap, DcbSource},
    {"ECN", Input::kCongestionControl, Absence::kOptional, HasEcn, CongestionFile},
    {"ETS", Input::kDcb, Absence::kGapOrSilent, DcbHas<&v1::DcbConfig::has_ets>, DcbSource},
    {"FEC", Input::kNetInterfaces, Absence::kOptional, NetdevHas<&v1::NetInterface::has_fec>,
     EthtoolSource},
    {"counters of error correction", Input::kCounters, Absence::kOptional, HasFecCounters,
     LinkCounterFile},
    {"firmware", Input::kRdmaDevices, Absence::kGapOrSilent,
     DeviceHas<&v1::RdmaDevice::has_firmware>, OfDevice<kFirmwareFile>},
    {"GIDs", Input::kGids, Absence::kGapOrSilent, HasGids, OfPort<kGidsFile>},
    {"interrupts", Input::kInterrupts, Absence::kOptional,
     FunctionHas<&v1::PciFunction::has_interrupts>, OfFunction<kInterruptsDirectory>},
    {"IPoIB mode", Input::kIpoib, Absence::kOptional, NetdevHas<&v1::NetInterface::has_ipoib_mode>,
     [](const Member& m) { return NetdevFile(*m.port, "mode"); }},
    {"LID", Input::kRdmaPorts, Absence::kGapOrSilent, PortHas<&v1::Port::has_lid>,
     OfPort<kLidFile>},
    {"counters of the link", Input::kCounters, Absence::kOptional, HasLinkCounters,
     LinkCounterFile},
    {"link layer", Input::kRdmaPorts, Absence::kUnknown,
     [](const Member& m) { return m.port->port->link_layer() != v1::LINK_LAYER_UNSPECIFIED; },
     OfPort<kLinkLayerFile>},
    {"link modes", Input::kNetInterfaces, Absence::kOptional,
     [](const Member& m) {
       return m.port->netdev != nullptr && m.port->netdev->has_autonegotiation();
     },
     EthtoolSource},
    {"link rate", Input::kRdmaPorts, Absence::kGapOrSilent, HasLinkRate,
     [](const Member& m) { return RateSource(*m.port); }},
    {"LLDP of the switch port", Input::kLldp, Absence::kOptional,
     [](const Member& m) { return m.port->neighbor != nullptr; }, OfNode<kLldpSource>},
    {"MAC address", Input::kNetInterfaces, Absence::kGapOrSilent,
     [](const Member& m) { return m.port->netdev != nullptr && m.port->netdev->has_mac(); },
     [](const Member& m) { return NetdevFile(*m.port, "address"); }},
    {"maximum RDMA MTU", Input::kRdmaPorts, Absence::kGapOrSilent,
     PortHas<&v1::Port::has_max_mtu_bytes>, [](const Member& m) { return VerbsSource(*m.port); }},
    {"PCIe maximum payload", Input::kPciFunctions, Absence::kGapOrSilent,
     FunctionHas<&v1::PciFunction::has_max_payload_bytes>, OfFunction<kConfigFile>},
    {"rate limits of the traffic classes", Input::kDcb, Absence::kOptional,
     [](const Member& m) {
       return m.port->Dcb() == nullptr || !m.port->Dcb()->max_rate_bps().empty();
     },
     DcbSource},
    {"pluggable module", Input::kModules, Absence::kOptional,
     WireHas<&v1::NetInterface::has_module>,
     [](const Member& m) { return "netlink ethtool module " + WireName(*m.port); }},
    {"netdev MTU", Input::kNetInterfaces, Absence::kUnknown,
     [](const Member& m) { return NetdevMtu(*m.port).has_value(); },
     [](const Member& m) { return NetdevFile(*m.port, "mtu"); }},
    {"node description", Input::kRdmaDevices, Absence::kOptional,
     DeviceHas<&v1::RdmaDevice::has_node_description>, OfDevice<kNodeDescriptionFile>},
    {"node GUID", Input::kRdmaDevices, Absence::kGapOrSilent,
     DeviceHas<&v1::RdmaDevice::has_node_guid>, OfDevice<kNodeGuidPath>},
    {"global pause", Input::kGlobalPause, Absence::kGapOrSilent,
     WireHas<&v1::NetInterface::has_global_pause>,
     [](const Member& m) { return PauseSource(*m.port); }},
    {"PCIe link", Input::kPciFunctions, Absence::kGapOrSilent, HasPciLink,
     OfFunction<kLinkSpeedFile>},
    {"maximum of the PCIe link", Input::kPciFunctions, Absence::kGapOrSilent, HasPciLinkMax,
     OfFunction<kMaxSpeedFile>},
    {"maximum of the PCIe slot", Input::kPciFunctions, Absence::kUnknown,
     FunctionHas<&v1::PciFunction::has_slot_max>,
     [](const Member& m) { return PciFile(m.port->device->pci_address(), "../max_link_speed"); }},
    {"PFC enabled priorities", Input::kDcb, Absence::kGapOrSilent,
     [](const Member& m) { return m.port->Dcb() != nullptr && m.port->Dcb()->has_pfc(); },
     DcbSource},
    {"P_Keys", Input::kRdmaPorts, Absence::kGapOrSilent,
     [](const Member& m) { return !m.port->port->pkeys().empty(); }, OfPort<kPkeysFile>},
    {"port GUID", Input::kGids, Absence::kGapOrSilent, PortHas<&v1::Port::has_port_guid>,
     OfPort<kGid0File>},
    {"port state", Input::kRdmaPorts, Absence::kUnknown, PortHas<&v1::Port::has_state>,
     OfPort<kStatePath>},
    {"RDMA protocol", Input::kRdmaDevices, Absence::kUnknown,
     DeviceHas<&v1::RdmaDevice::has_protocol>, OfDevice<kNodeTypePath>},
    {"defaults of RDMA-CM", Input::kRoceDefaults, Absence::kOptional,
     [](const Member& m) { return m.port->port->roce_defaults().has_rdma_cm_tos(); },
     [](const Member& m) { return RdmaCmTosFile(*m.port); }},
    {"PCIe maximum read request", Input::kPciFunctions, Absence::kGapOrSilent,
     FunctionHas<&v1::PciFunction::has_max_read_request_bytes>, OfFunction<kConfigFile>},
    {"PCIe relaxed ordering", Input::kPciFunctions, Absence::kGapOrSilent,
     FunctionHas<&v1::PciFunction::has_relaxed_ordering>, OfFunction<kConfigFile>},
    {"temperature sensors", Input::kSensors, Absence::kOptional,
     [](const Member& m) {
       return m.port->function != nullptr && !m.port->function->sensors().empty();
     },
     OfFunction<kSensorsDirectory>},
    {"PCI address", Input::kRdmaDevices, Absence::kGapOrSilent,
     DeviceHas<&v1::RdmaDevice::has_pci_address>, OfDevice<kDeviceLink>},
    {"SM LID", Input::kRdmaPorts, Absence::kGapOrSilent, PortHas<&v1::Port::has_sm_lid>,
     OfPort<kSmLidFile>},
    {"PFC storm prevention", Input::kPfcStormPrevention, Absence::kOptional,
     WireHas<&v1::NetInterface::has_pfc_storm_prevention_ms>,
     [](const Member& m) { return "ethtool pfc-prevention-tout " + WireName(*m.port); }},
    {"subnet prefix", Input::kGids, Absence::kGapOrSilent, PortHas<&v1::Port::has_subnet_prefix>,
     OfPort<kGid0File>},
    {"traffic class override", Input::kRoceDefaults, Absence::kOptional,
     [](const Member& m) { return m.port->port->has_roce_defaults(); },
     [](const Member& m) { return TrafficClassFile(*m.port); }},
    {"transport counters", Input::kCounters, Absence::kOptional,
     [](const Member& m) { return m.port->counters[1] != fleet::kNoCounters; },
     OfPort<kHardwareCountersFile>},
    {"trust", Input::kDcb, Absence::kGapOrSilent, DcbHas<&v1::DcbConfig::has_trust>, DcbSource},
    {"lanes", Input::kRdmaPorts, Absence::kGapOrSilent, PortHas<&v1::Port::has_width>,
     OfPort<kRateFile>},
};
static_assert(std::size(kInfos) == kPortFields);

}  // namespace

const FieldInfo& InfoOf(Field field) {
  return IsOfNode(field) ? InfoOfNodeField(field) : kInfos[static_cast<std::size_t>(field)];
}

}  // namespace fabric::rules
