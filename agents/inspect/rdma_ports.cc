#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRdmaPortsName = "rdma_ports";

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
  if (link.subnet_prefix) port.set_subnet_prefix(ToString(Guid(*link.subnet_prefix)));
  // The upper half is CapabilityMask2.
  if (link.capability_flags)
    port.set_capability_mask(static_cast<std::uint32_t>(*link.capability_flags));
}

// Why the rate is not valid; empty for a valid one. A port that is not up keeps its last rate, or
// has an invented one.
std::string StaleBecause(const v1::Port& port) {
  if (port.has_state() && port.state() == v1::PORT_STATE_DOWN) return "the port is DOWN";
  if (port.has_physical_state() && port.physical_state() != v1::PHYSICAL_STATE_LINK_UP &&
      port.physical_state() != v1::PHYSICAL_STATE_LINK_ERROR_RECOVERY)
    return "no link";
  return {};
}

void ReadRate(const Attributes& files, v1::Port& port) {
  const auto rate = files.Parsed("rate", ParseRate);
  if (!rate) return;
  port.set_rate_claimed_bps(rate->bps);
  if (const std::string why = StaleBecause(port); !why.empty())
    return files.Gap(
        "rate", Status(Code::kFailedPrecondition,
                       Format("not valid: {}; reported as {}X {}", why, rate->width, rate->speed)));
  port.clear_rate_claimed_bps();
  port.set_rate_bps(rate->bps);
  port.set_width(rate->width);
  port.set_speed(rate->speed);
}

// Tables have up to 128 slots, and mlx5 asks its firmware for each: subnet managers fill them from
// the front, so that many empty ones in a row are the rest.
void ReadPkeys(const Attributes& files, v1::Port& port) {
  constexpr int kEmptyMax = 8;
  int empty = 0;
  // Old kernels have no directory where the table is empty, which is so with iWARP.
  if (!files.dir().Has("pkeys") && port.link_layer() != v1::LINK_LAYER_INFINIBAND) return;
  for (const std::uint32_t index : files.Numbers("pkeys", 0, 65535)) {
    const auto pkey = files.Parsed(Format("pkeys/{}", index), ParseHex);
    if (pkey && *pkey != 0) {
      port.add_pkeys(*pkey);
      port.add_pkey_indexes(index);
    }
    empty = pkey && *pkey != 0 ? 0 : empty + 1;
    if (empty == kEmptyMax) return;
  }
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
  if (auto level = files.Parsed("sm_sl", ParseDecimal, Absence::kIsFine)) port.set_sm_sl(*level);
  ReadPkeys(files, port);
  if (!port.has_capability_mask())
    if (auto mask = files.Parsed("cap_mask", ParseHex)) port.set_capability_mask(*mask);
}

// On InfiniBand the first GID is the subnet prefix and the port's GUID.
void FromGids(v1::Port& port) {
  constexpr std::size_t kHalf = 19;
  if (port.link_layer() != v1::LINK_LAYER_INFINIBAND) return;
  for (const v1::Gid& gid : port.gids()) {
    if (gid.index() != 0) continue;
    port.set_port_guid(gid.gid().substr(kHalf + 1));
    if (!port.has_subnet_prefix()) port.set_subnet_prefix(gid.gid().substr(0, kHalf));
  }
}

const v1::NetInterface* NetdevOf(const v1::NodeSnapshot& out, const v1::Port& port) {
  return port.has_netdev() ? FindNetdev(out, port.netdev()) : nullptr;
}

// The RDMA MTU is in no file and no netlink message: verbs have it, and on RoCE it follows from
// the netdev. That there are no verbs at all, as in a captured tree, is said once for all ports:
// false.
bool ReadMtu(const Host& host, const v1::RdmaDevice& device, const v1::NetInterface* netdev,
             const Gaps& gaps, v1::Port& port) {
  if (port.has_active_mtu_bytes() && port.has_max_mtu_bytes())
    return true;  // By the inspector gids
  const Result<host::VerbsPort> verbs = host.verbs.QueryPort(device.name(), port.number());
  if (verbs.ok()) {
    if (verbs->active_mtu_bytes != 0) port.set_active_mtu_bytes(verbs->active_mtu_bytes);
    if (verbs->max_mtu_bytes != 0) port.set_max_mtu_bytes(verbs->max_mtu_bytes);
    return true;
  }
  const auto derived = device.protocol() == v1::PROTOCOL_ROCE && netdev != nullptr
                           ? RoceMtu(netdev->mtu_bytes(), device.driver())
                           : std::nullopt;
  if (derived) port.set_active_mtu_bytes(*derived);
  if (verbs.status().code() == Code::kUnimplemented) return false;
  std::string reason = verbs.status().message();
  if (derived)
    reason += Format("; active MTU {} derived from MTU {} of {}", *derived, netdev->mtu_bytes(),
                     port.netdev());
  gaps.Add(Format("verbs query_port {} {}", device.name(), port.number()),
           Status(verbs.status().code(), std::move(reason)));
  return true;
}

bool InspectPort(const Host& host, const v1::RdmaDevice& device, const Gaps& gaps, v1::Port& port) {
  const auto files = Attributes::Open(host, PortPath(device, port), gaps);
  if (files.ok())
    FromSysfs(*files, port);
  else
    gaps.Add(PortPath(device, port), files.status());
  FromGids(port);
  const v1::NetInterface* const netdev = NetdevOf(gaps.snapshot, port);
  if (netdev != nullptr && netdev->has_speed_max_bps() &&
      port.link_layer() == v1::LINK_LAYER_ETHERNET)
    port.set_rate_max_bps(netdev->speed_max_bps());
  return ReadMtu(host, device, netdev, gaps, port);
}

Status InspectPorts(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  bool verbs = true;
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
      const Gaps gaps{
          .snapshot = out, .inspector = kRdmaPortsName, .subject = PortName(device, port)};
      verbs = InspectPort(host, device, gaps, port) && verbs;
    }
  }
  if (!verbs)
    AddGap(out, kRdmaPortsName, "", "verbs query_port",
           Status(Code::kUnimplemented,
                  "verbs need the live machine: maximum MTUs are unknown, active ones derived from "
                  "the netdev on RoCE and unknown elsewhere"));
  return {};
}

}  // namespace

extern const Inspector rdma_ports = {
    .name = kRdmaPortsName,
    .doc = "RDMA ports: states, rate, LIDs, P_Keys, capabilities, active and maximum MTU.",
    .inspect = InspectPorts,
};

}  // namespace fabric::inspect
