#include "daemon/rules/lossless/remedies.h"

#include <utility>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

constexpr std::string_view kOfedFile = "MLNX_OFED's file; lost at reboot unless a script sets it.";

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

std::string FirmwareLldpAgent(const PortView& port, std::string_view on_off) {
  return Format("ethtool --set-priv-flags {} fw-lldp-agent {}", WireName(port), on_off);
}

const char* OnOff(bool on) {
  return on ? "on" : "off";
}

v1::Remedy WriteFile(std::string_view platform, std::uint64_t number, std::string_view path,
                     std::string_view note) {
  return ToRemedy({.platform = platform,
                   .command = Format("cd / && echo {} > {}", number, path),
                   .note = note});
}

}  // namespace

std::vector<v1::Remedy> SetPfc(const PortView& port, PriorityMask priorities,
                               std::string_view note) {
  std::string command =
      Format("dcb pfc set dev {} prio-pfc all:off{}", WireName(port), Switches(priorities));
  if (IsMlx5(port))
    return WithMlnxQos(port,
                       {.command = std::move(command),
                        .interrupts_traffic = true,
                        .note = Sentences(note, "The link goes down and up.")},
                       Format("--pfc {}", Flags(priorities)));
  RemedyText text = {.command = std::move(command), .interrupts_traffic = true};
  std::string_view condition;
  if (IsBnxt(port)) {
    text.platform = "bnxt";
    condition =
        "Set ETS first and turn off the LLDP agent of the firmware: the driver refuses "
        "PFC otherwise.";
  } else if (IsIce(port)) {
    text.platform = "ice";
    text.command = Format("{} && {}", FirmwareLldpAgent(port, "off"), text.command);
    condition =
        "The switch decides while the LLDP agent of the firmware is on. At most one "
        "traffic class can have PFC.";
  }
  const std::string sentences = Sentences(note, condition);
  text.note = sentences;
  return {ToRemedy(std::move(text))};
}

std::vector<v1::Remedy> SetDscpPriority(const PortView& port, std::uint32_t dscp,
                                        std::uint32_t priority, std::string_view note) {
  const std::string& netdev = WireName(port);
  const v1::DcbConfig* const dcb = DcbOf(port);
  const bool trusts = dcb != nullptr && dcb->trust() == v1::TRUST_DSCP;
  std::string command = Format("dcb app replace dev {} dscp-prio {}:{}", netdev, dscp, priority);
  if (IsMlx5(port)) {
    const std::string map = Format("--dscp2prio set,{},{}", dscp, priority);
    return WithMlnxQos(
        port,
        {.command = std::move(command),
         .note =
             Sentences(note, trusts ? "" : "The first DSCP entry also makes the port trust DSCP.")},
        trusts ? map : Format("--trust dscp && mlnx_qos -i {} {}", netdev, map));
  }
  if (IsIce(port))
    return {
        ToRemedy({.platform = "ice",
                  .command = Format("dcb app flush dev {} dscp-prio && {}", netdev, command),
                  .interrupts_traffic = true,
                  .note = Sentences(note,
                                    "Removes all DSCP entries first: the driver does not change an "
                                    "existing one. Turn off the LLDP agent of the firmware.")})};
  if (IsBnxt(port))
    return {ToRemedy(
        {.platform = "bnxt",
         .command = std::move(command),
         .note = Sentences(note, "The driver refuses it while the firmware runs an LLDP agent.")})};
  return {ToRemedy({.command = std::move(command), .note = note})};
}

std::vector<v1::Remedy> SetTrust(const PortView& port, v1::Trust trust) {
  if (trust != v1::TRUST_DSCP)
    return WithMlnxQos(port,
                       {.command = Format("dcb app flush dev {} dscp-prio", WireName(port)),
                        .note = "Removes all DSCP entries. mlx5 trusts PCP when there is none."},
                       "--trust pcp");
  const std::uint32_t dscp = DataDscp(port).value_or(kUsualDataDscp);
  return SetDscpPriority(port, dscp, DataPriority(port).value_or(dscp / 8));
}

std::vector<v1::Remedy> SetEtsShare(const PortView& port, std::uint32_t traffic_class,
                                    std::uint32_t percent) {
  return {ToRemedy({.command = Format("dcb ets set dev {0} tc-tsa {1}:ets tc-bw {1}:{2} ...",
                                      WireName(port), traffic_class, percent),
                    .note = "Add the other classes: all shares must add up to 100."})};
}

std::vector<v1::Remedy> SetEtsStrict(const PortView& port, std::uint32_t traffic_class) {
  return {ToRemedy(
      {.command = Format("dcb ets set dev {} tc-tsa {}:strict", WireName(port), traffic_class),
       .note = "The shares of the remaining ETS classes must add up to 100. Compare with "
               "`dcb ets show` on a good node."})};
}

// With pause autonegotiation on, the negotiated values would win.
std::vector<v1::Remedy> SetGlobalPause(const PortView& port, bool rx, bool tx) {
  const bool negotiates = port.wire != nullptr && port.wire->global_pause().autonegotiate();
  return {ToRemedy({.command = Format("ethtool -A {} {}rx {} tx {}", WireName(port),
                                      negotiates ? "autoneg off " : "", OnOff(rx), OnOff(tx)),
                    .interrupts_traffic = true,
                    .note = "Set the switch port the same."})};
}

std::vector<v1::Remedy> SetDcbxHost(const PortView& port, bool host, std::string_view note) {
  if (IsIce(port))
    return {ToRemedy(
        {.platform = "ice",
         .command = FirmwareLldpAgent(port, OnOff(!host)),
         .interrupts_traffic = true,
         .note = Sentences(note, host ? "Then set PFC, ETS and the DSCP map on the host." : "")})};
  return WithMlnxQos(
      port,
      {.command = Format("dcb dcbx set dev {} {}", WireName(port), host ? "host ieee" : "ieee"),
       .note = Sentences(note, "The driver refuses it while the firmware runs an LLDP agent.")},
      host ? "-d os" : "-d fw");
}

std::vector<v1::Remedy> SetCongestion(const PortView& port, std::string_view mlx5,
                                      std::string_view bnxt, std::uint64_t number) {
  const v1::CongestionControl* const control = CongestionOf(port);
  const std::string source = control != nullptr ? control->source() : std::string();
  if (IsBnxt(port))
    return {ToRemedy({.platform = "bnxt",
                      .command = Format("cd / && echo {0} > {1}/{2} && echo 1 > {1}/apply", number,
                                        source, bnxt)})};
  if (mlx5.empty()) return {};
  // The kernel's own files in debugfs have other names: np_cnp_dscp.
  if (source.find("debug") != std::string::npos)
    return {ToRemedy({.platform = "mlx5",
                      .command = Format("cd / && grep . {}/*", source),
                      .note = "Compare with a good port, then write the number that differs."})};
  return {WriteFile("mlx5", number, Format("{}/{}", source, mlx5), kOfedFile)};
}

std::vector<v1::Remedy> SetEcn(const PortView& port, std::string_view end, bool on) {
  return {WriteFile("mlx5", on ? 1 : 0,
                    Format("sys/class/net/{}/ecn/{}/enable/{}", WireName(port), end,
                           DataPriority(port).value_or(kUsualDataPriority)),
                    kOfedFile)};
}

std::vector<v1::Remedy> SetPortEcn(const PortView& port, bool on) {
  if (IsBnxt(port)) return SetCongestion(port, "", "ecn_enable", on ? 1 : 0);
  return {ToRemedy(
      {.platform = "irdma",
       .command = Format("modprobe -r irdma && modprobe irdma dcqcn_enable={}", on ? 1 : 0),
       .interrupts_traffic = true,
       .note = "Parameter of the out-of-tree driver; applies to all its ports."})};
}

std::vector<v1::Remedy> SetTrafficClass(const PortView& port,
                                        std::optional<std::uint32_t> traffic_class) {
  const std::string value = traffic_class ? Format("{}", *traffic_class) : "-1";
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("cd / && echo tclass={} > {}", value, TrafficClassFile(port)),
                    .note = kOfedFile})};
}

std::string TrafficClassFile(const PortView& port) {
  return Format("sys/class/infiniband/{}/tc/{}/traffic_class", port.device->name(),
                port.port->number());
}

std::vector<v1::Remedy> SetRdmaCmTos(const PortView& port, std::uint32_t tos) {
  constexpr std::string_view kNote = "Applies to new connections.";
  return {WriteFile("any", tos, RdmaCmTosFile(port), kNote),
          ToRemedy({.platform = "mlx5",
                    .command = Format("cma_roce_tos -d {} -p {} -t {}", port.device->name(),
                                      port.port->number(), tos),
                    .note = "The same with NVIDIA's tool."})};
}

std::string RdmaCmTosFile(const PortView& port) {
  return Format("sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", port.device->name(),
                port.port->number());
}

std::uint32_t TosOfDscp(std::uint32_t dscp) {
  constexpr std::uint32_t kEct0 = 2;
  return dscp << 2 | kEct0;
}

std::vector<v1::Remedy> WithMlnxQos(const PortView& port, RemedyText any,
                                    std::string_view mlnx_qos_options) {
  const bool interrupts = any.interrupts_traffic;
  std::vector<v1::Remedy> remedies = {ToRemedy(std::move(any))};
  if (IsMlx5(port))
    remedies.push_back(
        ToRemedy({.platform = "mlx5",
                  .command = Format("mlnx_qos -i {} {}", WireName(port), mlnx_qos_options),
                  .interrupts_traffic = interrupts,
                  .note = "The same with NVIDIA's tool."}));
  return remedies;
}

std::vector<v1::Remedy> After(std::string_view command, std::vector<v1::Remedy> remedies) {
  for (v1::Remedy& remedy : remedies)
    remedy.set_command(Format("{} && {}", command, remedy.command()));
  return remedies;
}

}  // namespace fabric::rules
