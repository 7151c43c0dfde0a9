#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "rdma_ports";

Result<std::uint32_t> ParseDecimal(std::string_view text) {
  return ParseNumber<std::uint32_t>(text);
}

void FromNetlink(const host::RdmaLinkInfo& link, v1::Port& port) {
  if (link.state && *link.state > 0 && v1::PortState_IsValid(*link.state))
    port.set_state(static_cast<v1::PortState>(*link.state));
  if (link.physical_state && *link.physical_state > 0 &&
      v1::PhysicalState_IsValid(*link.physical_state))
    port.set_physical_state(static_cast<v1::PhysicalState>(*link.physical_state));
  if (link.lid) port.set_lid(*link.lid);
  if (link.sm_lid) port.set_sm_lid(*link.sm_lid);
  if (link.lmc) port.set_lmc(*link.lmc);
  // The upper half is CapabilityMask2.
  if (link.capability_flags)
    port.set_capability_mask(static_cast<std::uint32_t>(*link.capability_flags));
}

// A port that is not up keeps the rate of better days, or one that the driver made up.
void ReadRate(const Attributes& files, v1::Port& port) {
  const auto rate = files.Parsed("rate", ParseRate);
  if (!rate) return;
  port.set_rate_claimed_bps(rate->bps);
  if (port.has_state() && port.state() == v1::PORT_STATE_DOWN)
    return files.Gap("rate", Status(Code::kFailedPrecondition,
                                    Format("means nothing while the port is DOWN; says {}X {}",
                                           rate->width, rate->speed)));
  port.clear_rate_claimed_bps();
  port.set_rate_bps(rate->bps);
  port.set_width(rate->width);
  port.set_speed(rate->speed);
}

void FromSysfs(const Attributes& files, v1::Port& port) {
  if (!port.has_state())
    if (auto state = files.Parsed("state", ParsePortState)) port.set_state(*state);
  if (!port.has_physical_state())
    if (auto state = files.Parsed("phys_state", ParsePhysicalState))
      port.set_physical_state(*state);
  ReadRate(files, port);
  if (!port.has_lid())
    if (auto lid = files.Parsed("lid", ParseHex)) port.set_lid(*lid);
  if (!port.has_sm_lid())
    if (auto lid = files.Parsed("sm_lid", ParseHex)) port.set_sm_lid(*lid);
  if (!port.has_lmc())
    if (auto lmc = files.Parsed("lid_mask_count", ParseDecimal)) port.set_lmc(*lmc);
  if (!port.has_capability_mask())
    if (auto mask = files.Parsed("cap_mask", ParseHex)) port.set_capability_mask(*mask);
}

std::optional<std::uint32_t> NetdevMtu(const v1::NodeSnapshot& out, const std::string& netdev) {
  for (const v1::NetInterface& candidate : out.net_interfaces())
    if (candidate.name() == netdev && candidate.has_mtu_bytes()) return candidate.mtu_bytes();
  return std::nullopt;
}

// The RDMA MTU is in no file and no netlink message: verbs have it, and on RoCE it follows from
// the netdev.
void ReadMtu(const Host& host, const v1::RdmaDevice& device, const Gaps& gaps, v1::Port& port) {
  const Result<host::VerbsPort> verbs = host.verbs.QueryPort(device.name(), port.number());
  const std::string path = Format("verbs query_port {} {}", device.name(), port.number());
  if (verbs.ok()) {
    if (verbs->active_mtu_bytes != 0) port.set_active_mtu_bytes(verbs->active_mtu_bytes);
    if (verbs->max_mtu_bytes != 0) port.set_max_mtu_bytes(verbs->max_mtu_bytes);
    return;
  }
  const auto netdev_mtu = NetdevMtu(gaps.snapshot, port.netdev());
  const auto derived = netdev_mtu ? RoceMtu(*netdev_mtu) : std::nullopt;
  if (device.protocol() != v1::PROTOCOL_ROCE || !derived) return gaps.Add(path, verbs.status());
  port.set_active_mtu_bytes(*derived);
  gaps.Add(path, Status(verbs.status().code(),
                        Format("{}; active MTU {} derived from MTU {} of {}",
                               verbs.status().message(), *derived, *netdev_mtu, port.netdev())));
}

Status InspectPorts(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    std::vector<host::RdmaLinkInfo> links;
    if (const auto info = by_name.find(device.name()); info != by_name.end())
      if (auto answer = host.rdma.Links(info->second.index); answer.ok())
        links = *std::move(answer);  // A failure is a gap of netdev_map.
    for (v1::Port& port : *device.mutable_ports()) {
      const auto link = std::find_if(links.begin(), links.end(), [&](const auto& candidate) {
        return candidate.port == port.number();
      });
      if (link != links.end()) FromNetlink(*link, port);
      const Gaps gaps{.snapshot = out, .inspector = kName, .subject = PortName(device, port)};
      const auto files = Attributes::Open(host, PortPath(device, port), gaps);
      if (files.ok())
        FromSysfs(*files, port);
      else
        gaps.Add(PortPath(device, port), files.status());
      ReadMtu(host, device, gaps, port);
    }
  }
  return {};
}

}  // namespace

extern const Inspector rdma_ports = {
    .name = kName,
    .doc = "RDMA ports: states, rate, LIDs, capabilities, active and maximum MTU.",
    .inspect = InspectPorts,
};

}  // namespace fabric::inspect
