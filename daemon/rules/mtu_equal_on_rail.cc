#include "base/text.h"
#include "daemon/rules/camps.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/mtu.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsInfiniband(const PortView& port) {
  return port.port->link_layer() == v1::LINK_LAYER_INFINIBAND;
}

// On Ethernet the RDMA MTU follows from the netdev's; that it does is rdma_mtu_matches_netdev's
// business. On InfiniBand the netdev's MTU is IPoIB's and says nothing.
std::optional<std::uint64_t> InfinibandMtu(const PortView& port) {
  if (!IsUp(port) || !IsInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return port.port->active_mtu_bytes();
}

std::string Show(std::uint64_t mtu) {
  return Format("{}", mtu);
}

std::string NetdevMtuFile(const PortView& port) {
  return NetdevFile(port, "mtu");
}

std::vector<v1::Remedy> SetNetdevMtu(const PortView& port, std::uint64_t expected) {
  return {ToRemedy({.command = Format("ip link set dev {} mtu {}", port.port->netdev(), expected),
                    .interrupts_traffic = true,
                    .note = "Also where the network is configured, or a reboot undoes it."})};
}

std::vector<v1::Remedy> AskSubnetManager(const PortView& port, std::uint64_t) {
  return {
      ToRemedy({.command = Format("smpquery portinfo {} {}", port.port->lid(), port.port->number()),
                .note = "The subnet manager sets the MTU from the caps of both ends: compare "
                        "MtuCap and NeighborMTU with a good port."})};
}

void AddRdmaMtu(const PortView& port, const PortView& good, std::vector<v1::Evidence>& evidence) {
  const v1::Port& seen = *port.port;
  const v1::Port& wanted = *good.port;
  if (!seen.has_active_mtu_bytes() || !wanted.has_active_mtu_bytes()) return;
  evidence.push_back(ToEvidence(*port.node, {.what = "active RDMA MTU",
                                             .expected = Show(wanted.active_mtu_bytes()),
                                             .seen = Show(seen.active_mtu_bytes()),
                                             .source = VerbsSource(port),
                                             .basis = "as " + PortName(good)}));
}

constexpr EqualOnRail kNetdev = {.what = "netdev MTU",
                                 .value = NetdevMtu,
                                 .show = Show,
                                 .source = NetdevMtuFile,
                                 .remedies = SetNetdevMtu,
                                 .more = AddRdmaMtu};
constexpr EqualOnRail kInfiniband = {.what = "active RDMA MTU",
                                     .key = "infiniband",
                                     .value = InfinibandMtu,
                                     .show = Show,
                                     .source = VerbsSource,
                                     .remedies = AskSubnetManager};

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  for (const std::vector<PortView>& rail : fleet.rails()) {
    Judge(kNetdev, rail, out);
    Judge(kInfiniband, rail, out);
    for (const PortView& port : rail) {
      if (!IsUp(port)) continue;
      if (IsInfiniband(port) && !InfinibandMtu(port))
        Unreadable(port, "active RDMA MTU", VerbsSource(port), out);
      if (!IsInfiniband(port) && !NetdevMtu(port))
        Unreadable(port, "netdev MTU", NetdevMtuFile(port), out);
    }
  }
}

}  // namespace

extern const Rule mtu_equal_on_rail = {
    .id = "mtu_equal_on_rail",
    .title =
        "All ports of a rail have the same MTU: that of the netdev on Ethernet, the active "
        "one on InfiniBand",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Two ends with different MTU use the smaller one at best; at worst the queue pair does "
        "not come up, or large packets vanish while small ones pass. The value of most ports "
        "of the rail is expected; without a majority the rail is reported, and nobody blamed.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu); InfiniBand specification, PathMTU",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
