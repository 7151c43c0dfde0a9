#include "agents/host/lldp/lldp.h"

#include <algorithm>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kLldpName = "lldp";
constexpr const char* kWhere = "LLDP";

void FillEts(const host::LldpEts& from, v1::LldpEts& ets) {
  ets.set_willing(from.willing);
  ets.set_cbs(from.cbs);
  ets.set_traffic_classes(from.traffic_classes);
  for (const std::uint8_t tc : from.priority_to_tc) ets.add_priority_to_tc(tc);
  for (const std::uint8_t percent : from.tc_bandwidth_percent)
    ets.add_tc_bandwidth_percent(percent);
  for (const std::uint8_t algorithm : from.tc_algorithm) ets.add_tc_algorithm(algorithm);
}

void FillDcbx(const host::LldpFrame& frame, v1::LldpNeighbor& neighbor) {
  if (frame.pfc) {
    v1::LldpPfc& pfc = *neighbor.mutable_pfc();
    pfc.set_willing(frame.pfc->willing);
    pfc.set_mbc(frame.pfc->mbc);
    pfc.set_capability(frame.pfc->capability);
    pfc.set_enabled_mask(frame.pfc->enabled_mask);
  }
  if (frame.ets_configuration)
    FillEts(*frame.ets_configuration, *neighbor.mutable_ets_configuration());
  if (frame.ets_recommendation)
    FillEts(*frame.ets_recommendation, *neighbor.mutable_ets_recommendation());
  neighbor.set_application_announced(frame.application_announced);
  for (const host::LldpApp& from : frame.applications) {
    v1::LldpApp& app = *neighbor.add_applications();
    app.set_selector(from.selector);
    app.set_protocol(from.protocol);
    app.set_priority(from.priority);
  }
  neighbor.set_cee_announced(frame.cee_announced);
}

void Fill(const host::HeardNeighbor& heard, v1::LldpNeighbor& neighbor) {
  const host::LldpFrame& frame = heard.frame;
  neighbor.set_netdev(heard.netdev);
  neighbor.set_source(heard.by_lldpd ? "lldpd" : "capture");
  *neighbor.mutable_received_at() = ToProto(heard.received_at);
  neighbor.set_chassis_id(frame.chassis_id);
  neighbor.set_chassis_id_subtype(frame.chassis_id_subtype);
  neighbor.set_port_id(frame.port_id);
  neighbor.set_port_id_subtype(frame.port_id_subtype);
  neighbor.set_ttl_s(frame.ttl_s);
  if (frame.port_description) neighbor.set_port_description(*frame.port_description);
  if (frame.system_name) neighbor.set_system_name(*frame.system_name);
  if (frame.system_description) neighbor.set_system_description(*frame.system_description);
  for (const std::string& address : frame.management_addresses)
    neighbor.add_management_addresses(address);
  if (frame.port_vlan_id) neighbor.set_port_vlan_id(*frame.port_vlan_id);
  if (frame.max_frame_bytes) neighbor.set_max_frame_bytes(*frame.max_frame_bytes);
  FillDcbx(frame, neighbor);
  neighbor.set_link_aggregation_enabled(frame.link_aggregation_enabled);
  if (frame.link_aggregation_port_id)
    neighbor.set_link_aggregation_port_id(*frame.link_aggregation_port_id);
}

// A netdev and those below it, whose wires its frames come over: bonds and VLANs have none.
void AddWithLowers(const v1::NodeSnapshot& snapshot, const std::string& name,
                   std::set<std::string>& names) {
  if (!names.insert(name).second) return;
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (netdev.name() == name)
      for (const std::string& lower : netdev.lowers()) AddWithLowers(snapshot, lower, names);
}

Status InspectLldp(const Host& host, v1::NodeSnapshot& out) {
  std::set<std::string> wanted;
  for (const v1::NetInterface& netdev : out.net_interfaces())
    if (IsNetdevOfRoce(out, netdev.name())) AddWithLowers(out, netdev.name(), wanted);
  if (wanted.empty()) return {};
  const std::vector<std::string> netdevs(wanted.begin(), wanted.end());
  const Result<host::LldpView> view = host.lldp.Neighbors(netdevs);
  if (!view.ok()) {
    AddGap(out, kLldpName, "", kWhere, view.status());
    return {};
  }
  for (const host::HeardNeighbor& heard : view->neighbors) Fill(heard, *out.add_lldp_neighbors());
  for (const v1::NetInterface& netdev : out.net_interfaces()) {
    if (!IsNetdevOfRoce(out, netdev.name()) || netdev.oper_state() != v1::OPER_STATE_UP) continue;
    std::set<std::string> group;
    AddWithLowers(out, netdev.name(), group);
    const bool silent = std::all_of(group.begin(), group.end(), [&](const std::string& name) {
      return std::find(view->silent.begin(), view->silent.end(), name) != view->silent.end();
    });
    if (silent)
      AddGap(out, kLldpName, netdev.name(), kWhere,
             Status(Code::kUnavailable,
                    "no frame in four minutes: the switch sends none, or firmware keeps them"));
  }
  return {};
}

}  // namespace

extern const Inspector lldp = {
    .name = kLldpName,
    .doc = "LLDP neighbor of each RoCE netdev, with its DCBX settings.",
    .inspect = InspectLldp,
    .wakes = EventKind::kLink | EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kLldpNeighborsFieldNumber},
};

}  // namespace fabric::inspect
