#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/mtu.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsInfiniband(const PortView& port) {
  return port.port->link_layer() == v1::LINK_LAYER_INFINIBAND;
}

// On Ethernet the RDMA MTU follows from the netdev's; that it does is rdma_mtu_matches_netdev's
// business. On InfiniBand the netdev's MTU is IPoIB's and says nothing.
std::optional<Value> InfinibandMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!IsUp(port) || !IsInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}

// Verbs alone tell it: a capture never does.
bool IsInfinibandUp(const Member& member) {
  return !member.snapshot().captured() && member.port->rail && IsUp(*member.port) &&
         IsInfiniband(*member.port);
}

std::optional<Value> EthernetMtu(const Member& member) {
  const auto mtu = NetdevMtu(*member.port);
  return mtu ? std::optional(Value{*mtu}) : std::nullopt;
}

// A device of a vendor's own network (EFA) is neither, and has no netdev.
bool IsEthernetUp(const Member& member) {
  return member.port->rail && IsUp(*member.port) &&
         member.port->port->link_layer() == v1::LINK_LAYER_ETHERNET;
}

std::optional<Value> ExpectedNetdevMtu(const v1::Expectations& expected) {
  if (!expected.has_netdev_mtu_bytes()) return {};
  return Value{expected.netdev_mtu_bytes()};
}

std::string NetdevMtuFile(const Member& member) {
  return NetdevFile(*member.port, "mtu");
}

std::string VerbsOf(const Member& member) {
  return VerbsSource(*member.port);
}

std::vector<v1::Remedy> SetNetdevMtu(const Member& member, const Value& expected) {
  return {ToRemedy(
      {.command = Format("ip link set dev {} mtu {}", member.port->port->netdev(), expected.number),
       .interrupts_traffic = true,
       .note = "Also where the network is configured, or a reboot undoes it."})};
}

std::vector<v1::Remedy> AskSubnetManager(const Member& member, const Value&) {
  const PortView& port = *member.port;
  return {
      ToRemedy({.command = Format("smpquery portinfo {} {}", port.port->lid(), port.port->number()),
                .note = "The subnet manager sets the MTU from the caps of both ends: compare "
                        "MtuCap and NeighborMTU with a good port."})};
}

void AddRdmaMtu(const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
  const PortView& port = *member.port;
  const v1::Port& seen = *port.port;
  const v1::Port& wanted = *good.port->port;
  if (!seen.has_active_mtu_bytes() || !wanted.has_active_mtu_bytes()) return;
  evidence.push_back(ToEvidence(*port.node, {.what = "active RDMA MTU",
                                             .expected = Format("{}", wanted.active_mtu_bytes()),
                                             .seen = Format("{}", seen.active_mtu_bytes()),
                                             .source = VerbsSource(port),
                                             .basis = "as " + PortName(*good.port)}));
}

constexpr EqualityRule kEqualityRules[] = {{.what = "netdev MTU",
                                            .value = EthernetMtu,
                                            .needed = IsEthernetUp,
                                            .expected = ExpectedNetdevMtu,
                                            .source = NetdevMtuFile,
                                            .remedies = SetNetdevMtu,
                                            .more = AddRdmaMtu},
                                           {.what = "active RDMA MTU",
                                            .key = "infiniband",
                                            .value = InfinibandMtu,
                                            .needed = IsInfinibandUp,
                                            .source = VerbsOf,
                                            .remedies = AskSubnetManager}};

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
        "of the rail is expected, or a profile's; without a majority the rail is reported, and "
        "nobody blamed.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu); InfiniBand specification, PathMTU",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kNetdevMtuBytesFieldNumber},
    .fix = "ip link set dev NETDEV mtu BYTES",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
