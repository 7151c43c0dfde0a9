#include "daemon/rules/lossless/remedies.h"

#include <utility>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

bool IsMlx5(const PortView& port) {
  return DriverOf(port).starts_with("mlx5");
}
bool IsBnxt(const PortView& port) {
  return DriverOf(port).starts_with("bnxt");
}
bool IsIce(const PortView& port) {
  return DriverOf(port).starts_with("ice");
}

std::string Sentences(std::string_view first, std::string_view second) {
  return Format("{}{}{}", first, first.empty() || second.empty() ? "" : " ", second);
}

// "3:on 4:on", each with a space before it
std::string Switches(PriorityMask mask) {
  std::string words;
  for (std::uint32_t priority = 0; priority < PriorityMask::kPriorities; ++priority)
    if (mask.Has(priority)) words += Format(" {}:on", priority);
  return words;
}

// "0,0,0,1,0,0,0,0"
std::string Flags(PriorityMask mask) {
  std::vector<std::string> flags;
  for (std::uint32_t priority = 0; priority < PriorityMask::kPriorities; ++priority)
    flags.emplace_back(mask.Has(priority) ? "1" : "0");
  return Join(flags, ",");
}

std::string PfcCommand(const PortView& port, PriorityMask mask) {
  return Format("dcb pfc set dev {} prio-pfc all:off{}", WireName(port), Switches(mask));
}

std::string FirmwareLldpAgent(const PortView& port, std::string_view on_off) {
  return Format("ethtool --set-priv-flags {} fw-lldp-agent {}", WireName(port), on_off);
}

const char* OnOff(bool on) {
  return on ? "on" : "off";
}

// `was`: the present number; empty if unknown.
v1::Remedy WriteFile(std::string_view platform, std::uint64_t number, std::string_view path,
                     std::string_view was, std::string_view note) {
  return Change({.platform = platform,
                 .command = Format("cd / && echo {} > {}", number, path),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot(kInBootUnit),
                 .undo = was.empty() ? Format("Read /{} before, and write that number back", path)
                                     : Format("cd / && echo {} > {}", was, path),
                 .note = std::string(note)});
}

}  // namespace

std::vector<v1::Remedy> SetPfc(const PortView& port, PriorityMask priorities,
                               std::string_view note) {
  std::string_view platform = "any";
  std::string_view condition;
  std::string command = PfcCommand(port, priorities);
  if (IsBnxt(port)) {
    platform = "bnxt";
    condition =
        "Set ETS first and turn off the LLDP agent of the firmware: the driver refuses "
        "PFC otherwise.";
  } else if (IsIce(port)) {
    platform = "ice";
    command = Format("{} && {}", FirmwareLldpAgent(port, "off"), command);
    condition =
        "The switch decides while the LLDP agent of the firmware is on. At most one "
        "traffic class can have PFC.";
  }
  const auto now = PfcMask(port);
  return WithMlnxQos(port,
                     Change({.platform = platform,
                             .command = std::move(command),
                             .affects = v1::REMEDY_REACH_PORT,
                             .interrupts = kInterruptsPort,
                             .lasts = UntilReboot(kInBootUnit),
                             .undo = now ? PfcCommand(port, *now)
                                         : "Set the priorities that `dcb pfc show` listed before",
                             .note = Sentences(note, condition)}),
                     Format("--pfc {}", Flags(priorities)));
}

namespace {

// The only priority with PFC that the switch announces, or that another RoCE port of the node has.
std::optional<std::uint32_t> PriorityOfNeighbours(const PortView& port) {
  std::vector<PriorityMask> masks;
  if (port.neighbor != nullptr && port.neighbor->has_pfc())
    masks.emplace_back(port.neighbor->pfc().enabled_mask());
  for (const v1::NetInterface& netdev : port.node->snapshot.net_interfaces())
    if (netdev.has_dcb() && netdev.dcb().has_pfc())
      masks.emplace_back(netdev.dcb().pfc().enabled_mask());
  for (const PriorityMask mask : masks)
    if (mask.count() == 1) return mask.lowest();
  return {};
}

}  // namespace

std::vector<v1::Remedy> SetDataPfc(const PortView& port, std::string_view note) {
  auto priority = DataPriority(port);
  if (!priority) priority = PriorityOfNeighbours(port);
  constexpr std::string_view kUsual =
      "Priority 3 is that of most vendors' guides: use the one that the switches have.";
  if (!priority && !port.expected().lossless())
    return {Advice(Sentences(
        note, Format("The priority of RoCE is not known here. With the priority P that the "
                     "switches have PFC on: dcb pfc set dev {} prio-pfc all:off P:on. Or state "
                     "data_priority in the profile.",
                     WireName(port))))};
  PriorityMask only;
  only.Add(priority.value_or(kUsualDataPriority));
  return SetPfc(port, only, priority ? std::string(note) : Sentences(note, kUsual));
}

std::vector<v1::Remedy> SetDscpPriority(const PortView& port, std::uint32_t dscp,
                                        std::uint32_t priority, std::string_view note) {
  const std::string& netdev = WireName(port);
  const v1::DcbConfig* const dcb = DcbOf(port);
  const bool trusts = dcb != nullptr && dcb->trust() == v1::TRUST_DSCP;
  const auto was = trusts ? PriorityOfDscp(*dcb, dscp) : std::nullopt;
  std::string_view platform = "any";
  std::string_view condition;
  std::string_view interrupts = kInterruptsNothing;
  std::string command = Format("dcb app replace dev {} dscp-prio {}:{}", netdev, dscp, priority);
  std::string undo = was ? Format("dcb app replace dev {} dscp-prio {}:{}", netdev, dscp, *was)
                         : Format("dcb app del dev {} dscp-prio {}:{}", netdev, dscp, priority);
  if (IsMlx5(port) && !trusts) {
    condition = "The first DSCP entry also makes the port trust DSCP.";
  } else if (IsIce(port)) {
    platform = "ice";
    command = Format("dcb app flush dev {} dscp-prio && {}", netdev, command);
    interrupts = kInterruptsPort;
    undo = Format("Set the map that `dcb app show dev {}` listed before", netdev);
    condition =
        "Removes all DSCP entries first: the driver does not change an existing one. Turn off the "
        "LLDP agent of the firmware.";
  } else if (IsBnxt(port)) {
    platform = "bnxt";
    condition = "The driver refuses it while the firmware runs an LLDP agent.";
  }
  const std::string map = Format("--dscp2prio set,{},{}", dscp, priority);
  auto remedies =
      WithMlnxQos(port,
                  Change({.platform = platform,
                          .command = std::move(command),
                          .affects = v1::REMEDY_REACH_PORT,
                          .interrupts = interrupts,
                          .lasts = UntilReboot(kInBootUnit),
                          .undo = std::move(undo),
                          .note = Sentences(note, condition)}),
                  trusts ? map : Format("--trust dscp && mlnx_qos -i {} {}", netdev, map));
  // dcb: deleting the last entry makes the port trust PCP again. mlnx_qos: two settings.
  if (!trusts && remedies.size() > 1)
    remedies.back().set_undo(
        Format("mlnx_qos -i {0} --dscp2prio del,{1},{2} && mlnx_qos -i {0} --trust pcp", netdev,
               dscp, priority));
  return remedies;
}

namespace {

// The DSCP of RoCE is not known: the map stays as it is.
std::vector<v1::Remedy> TrustDscpOnly(const PortView& port) {
  if (!IsMlx5(port))
    return {Advice("Map the DSCP of RoCE to its priority (`dcb app replace dev " + WireName(port) +
                   " dscp-prio DSCP:PRIORITY`): the first entry makes the port trust DSCP. "
                   "State data_dscp and data_priority in the profile to get the command.")};
  return {Change({.platform = "mlx5",
                  .command = Format("mlnx_qos -i {} --trust dscp", WireName(port)),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot(kInBootUnit),
                  .undo = Format("mlnx_qos -i {} --trust pcp", WireName(port)),
                  .note = "Keeps the map of DSCP to priority. Check that it maps the DSCP of "
                          "RoCE to a priority with PFC."})};
}

}  // namespace

std::vector<v1::Remedy> SetTrust(const PortView& port, v1::Trust trust) {
  if (trust != v1::TRUST_DSCP)
    return WithMlnxQos(port,
                       Change({.command = Format("dcb app flush dev {} dscp-prio", WireName(port)),
                               .affects = v1::REMEDY_REACH_PORT,
                               .interrupts = kInterruptsNothing,
                               .lasts = UntilReboot(kInBootUnit),
                               .undo = Format("Set the map that `dcb app show dev {}` listed "
                                              "before",
                                              WireName(port)),
                               .note = "Removes all DSCP entries. mlx5 trusts PCP when there is "
                                       "none."}),
                       "--trust pcp");
  const auto dscp = DataDscp(port);
  if (!dscp) return TrustDscpOnly(port);
  return SetDscpPriority(port, *dscp, DataPriority(port).value_or(*dscp / 8));
}

// With pause autonegotiation on, the negotiated values would win.
std::vector<v1::Remedy> SetGlobalPause(const PortView& port, bool rx, bool tx) {
  const bool negotiates = port.wire != nullptr && port.wire->global_pause().autonegotiate();
  const bool known = PauseOf(port) != Pause::kUnknown;
  return {Change({.command = Format("ethtool -A {} {}rx {} tx {}", WireName(port),
                                    negotiates ? "autoneg off " : "", OnOff(rx), OnOff(tx)),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsPort,
                  .lasts = UntilReboot(kInNetworkConfiguration),
                  .undo = !known ? "Set the values that `ethtool -a` showed before"
                                 : Format("ethtool -A {} {}rx {} tx {}", WireName(port),
                                          negotiates ? "autoneg on " : "",
                                          OnOff(port.wire->global_pause().rx()),
                                          OnOff(port.wire->global_pause().tx())),
                  .note = "Set the switch port the same."})};
}

std::vector<v1::Remedy> SetDcbxHost(const PortView& port, bool host, std::string_view note) {
  if (IsIce(port))
    return {Change(
        {.platform = "ice",
         .command = FirmwareLldpAgent(port, OnOff(!host)),
         .affects = v1::REMEDY_REACH_PORT,
         .interrupts = kInterruptsPort,
         .lasts = UntilReboot(kInBootUnit),
         .undo = FirmwareLldpAgent(port, OnOff(host)),
         .note = Sentences(note, host ? "Then set PFC, ETS and the DSCP map on the host." : "")})};
  return WithMlnxQos(
      port,
      Change(
          {.command = Format("dcb dcbx set dev {} {}", WireName(port), host ? "host ieee" : "ieee"),
           .affects = v1::REMEDY_REACH_PORT,
           .interrupts = kInterruptsQueues,
           .lasts = UntilReboot(kInBootUnit),
           .undo = Format("dcb dcbx set dev {} {}", WireName(port), host ? "ieee" : "host ieee"),
           .note =
               Sentences(note, "The driver refuses it while the firmware runs an LLDP agent.")}),
      host ? "-d os" : "-d fw");
}

std::vector<v1::Remedy> SetCongestion(const PortView& port, std::string_view mlx5,
                                      std::string_view bnxt, std::uint64_t number) {
  const v1::CongestionControl* const control = CongestionOf(port);
  const std::string source = control != nullptr ? control->source() : std::string();
  if (IsBnxt(port))
    return {Change({.platform = "bnxt",
                    .command = Format("cd / && echo {0} > {1}/{2} && echo 1 > {1}/apply", number,
                                      source, bnxt),
                    .affects = v1::REMEDY_REACH_PORT,
                    .interrupts = kInterruptsNothing,
                    .lasts = UntilReboot(kInBootUnit),
                    .undo = Format("Read /{0}/{1} before, write that number back, and echo 1 > "
                                   "/{0}/apply",
                                   source, bnxt)})};
  if (mlx5.empty() || !IsMlx5(port)) return {};
  // The files have other names: np_cnp_dscp.
  if (control != nullptr && control->in_debugfs())
    return {Query({.platform = "mlx5",
                   .command = Format("cd / && grep . {}/*", source),
                   .note = "Compare with a good port, then write the number that differs."})};
  return {WriteFile("mlx5", number, Format("{}/{}", source, mlx5), {}, "MLNX_OFED's file.")};
}

std::vector<v1::Remedy> SetEcn(const PortView& port, std::string_view end, bool on) {
  const auto priority = DataPriority(port);
  if (!priority)
    return {Advice(
        Format("Turn ECN {} for the priority of RoCE data in "
               "the files sys/class/net/{}/ecn/{}/enable. State data_priority in the profile to "
               "get the command.",
               OnOff(on), WireName(port), end))};
  return {WriteFile("mlx5", on ? 1 : 0,
                    Format("sys/class/net/{}/ecn/{}/enable/{}", WireName(port), end, *priority),
                    on ? "0" : "1", "MLNX_OFED's file.")};
}

std::vector<v1::Remedy> SetPortEcn(const PortView& port, bool on) {
  if (IsBnxt(port)) return SetCongestion(port, "", "ecn_enable", on ? 1 : 0);
  return {
      Change({.platform = "irdma",
              .command = Format("modprobe -r irdma && modprobe irdma dcqcn_enable={}", on ? 1 : 0),
              .affects = v1::REMEDY_REACH_NODE,
              .interrupts = "all RDMA of the node over this driver: its devices disappear "
                            "and come back",
              .lasts = UntilReboot(Format("write 'options irdma dcqcn_enable={}' to a file in "
                                          "/etc/modprobe.d",
                                          on ? 1 : 0)),
              .undo = Format("modprobe -r irdma && modprobe irdma dcqcn_enable={}", on ? 0 : 1),
              .note = "Parameter of the out-of-tree driver; applies to all its ports. Drain "
                      "the node first."})};
}

std::vector<v1::Remedy> SetTrafficClass(const PortView& port,
                                        std::optional<std::uint32_t> traffic_class) {
  const auto command = [&](std::optional<std::uint32_t> value) {
    return Format("cd / && echo tclass={} > {}", value ? Format("{}", *value) : "-1",
                  TrafficClassFile(port));
  };
  const v1::RoceDefaults& defaults = port.port->roce_defaults();
  return {
      Change({.platform = "mlx5",
              .command = command(traffic_class),
              .affects = v1::REMEDY_REACH_PORT,
              .interrupts = kInterruptsNothing,
              .lasts = UntilReboot(kInBootUnit),
              .undo = command(defaults.has_traffic_class() ? std::optional(defaults.traffic_class())
                                                           : std::nullopt),
              .note = "MLNX_OFED's file. Applies to new connections: restart the jobs."})};
}

std::string TrafficClassFile(const PortView& port) {
  return Format("sys/class/infiniband/{}/tc/{}/traffic_class", port.device->name(),
                port.port->number());
}

std::vector<v1::Remedy> SetRdmaCmTos(const PortView& port, std::uint32_t tos) {
  constexpr std::string_view kNote = "Applies to new connections.";
  const v1::RoceDefaults& defaults = port.port->roce_defaults();
  const std::string was = Format("{}", defaults.rdma_cm_tos());
  std::vector<v1::Remedy> remedies = {WriteFile("any", tos, RdmaCmTosFile(port), was, kNote)};
  if (!IsMlx5(port)) return remedies;
  const std::string tool =
      Format("cma_roce_tos -d {} -p {} -t", port.device->name(), port.port->number());
  remedies.push_back(Change({.platform = "mlx5",
                             .command = Format("{} {}", tool, tos),
                             .affects = v1::REMEDY_REACH_PORT,
                             .interrupts = kInterruptsNothing,
                             .lasts = UntilReboot(kInBootUnit),
                             .undo = Format("{} {}", tool, was),
                             .note = "The same with NVIDIA's tool."}));
  return remedies;
}

std::string RdmaCmTosFile(const PortView& port) {
  return Format("sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", port.device->name(),
                port.port->number());
}

std::uint32_t TosOfDscp(std::uint32_t dscp) {
  constexpr std::uint32_t kEct0 = 2;
  return dscp << 2 | kEct0;
}

std::vector<v1::Remedy> WithMlnxQos(const PortView& port, v1::Remedy any,
                                    std::string_view mlnx_qos_options) {
  std::vector<v1::Remedy> remedies = {any};
  if (!IsMlx5(port)) return remedies;
  any.set_platform("mlx5");
  any.set_command(Format("mlnx_qos -i {} {}", WireName(port), mlnx_qos_options));
  any.set_note("The same with NVIDIA's tool.");
  remedies.push_back(std::move(any));
  return remedies;
}

std::vector<v1::Remedy> After(const v1::Remedy& first, std::vector<v1::Remedy> remedies) {
  for (v1::Remedy& remedy : remedies) {
    if (remedy.command().empty()) continue;
    remedy.set_command(Format("{} && {}", first.command(), remedy.command()));
    remedy.set_undo(Format("{} && {}", remedy.undo(), first.undo()));
  }
  return remedies;
}

}  // namespace fabric::rules
