#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kIpoibEqualsMin = 3;

// Of an ACTIVE port with an IPoIB netdev. Absent: not known, or no such port.
std::optional<bool> IsIpoibUp(const PortView& port) {
  if (!IsActiveInfiniband(port) || port.netdev == nullptr || !port.netdev->has_oper_state())
    return {};
  const v1::OperState state = port.netdev->oper_state();
  if (state == v1::OPER_STATE_UP || state == v1::OPER_STATE_UNKNOWN) return true;
  return false;
}

std::optional<Value> IpoibUp(const Member& member) {
  const std::optional<bool> up = IsIpoibUp(*member.port);
  if (!up) return {};
  return Value{*up ? 1U : 0U};
}

// Three quarters of the ports of the rail are up, and at least kIpoibEqualsMin.
GroupSummary CountIpoibUp(const ValueCounts& counts) {
  std::uint64_t up = 0;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.value.number != 0) up = entry.members;
  const bool used = up >= kIpoibEqualsMin && 4 * up >= 3 * counts.members;
  return {.facts = {used ? 1U : 0U}, .shown = {{.count = up, .of = counts.members}}};
}

// The basis, if the netdevs of the other ports of the node are up.
std::optional<std::string> UpInNode(const fleet::NodeView& node, const PortView& port) {
  std::size_t up = 0;
  std::size_t all = 0;
  for (const PortView& other : node.ports) {
    const std::optional<bool> state = IsIpoibUp(other);
    if (!state || other.model != port.model) continue;
    ++all;
    up += *state ? 1 : 0;
  }
  if (up < kIpoibEqualsMin || 4 * up < 3 * all) return {};
  return Format("{} of {} IPoIB netdevs of the node are up", up, all);
}

void JudgeIpoib(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  if (*IsIpoibUp(port)) return out.Pass();
  std::optional<std::string> basis = UpInNode(*member.node, port);
  if (!basis && rail.facts[0] != 0)
    basis = Format("{} IPoIB netdevs of rail {} are up", ToText(rail.shown[0]), port.rail->value());
  if (!basis) return;  // IPoIB is not in use.
  const std::string& netdev = port.netdev->name();
  out.Fail(port.Subject(),
           Format("IPoIB netdev {} is down, expected up: its port is ACTIVE", netdev),
           {ToEvidence(*port.node, {.what = "state of " + netdev,
                                    .expected = "up",
                                    .seen = "down",
                                    .source = NetdevFile(port, "operstate"),
                                    .basis = *std::move(basis)})},
           {Change({.command = Format("ip link set dev {} up", netdev),
                    .affects = v1::REMEDY_REACH_PORT,
                    .interrupts = kInterruptsNothing,
                    .lasts = UntilReboot(kInNetworkConfiguration),
                    .undo = Format("ip link set dev {} down", netdev)})});
}

constexpr GroupRule kIpoibUp = {.value = IpoibUp, .summarize = CountIpoibUp, .judge = JudgeIpoib};

// ipoib_settings_equal

// Of an ACTIVE port, when it is up; otherwise nullptr.
const v1::NetInterface* IpoibOf(const Member& member) {
  return IsIpoibUp(*member.port) == true ? member.port->netdev : nullptr;
}

// IPoIB netdevs of one partition of a subnet. Without the P_Key of the netdev: the default one.
std::optional<Group> ByPartition(const Member& member) {
  const v1::NetInterface* const netdev = IpoibOf(member);
  std::optional<Group> group = netdev != nullptr ? BySubnet(member) : std::nullopt;
  if (!group) return {};
  const std::uint32_t pkey = netdev->has_ipoib_pkey() ? netdev->ipoib_pkey() : 0x7fff;
  group->part = group->part * 0x10000 + (pkey & 0x7fff);
  return group;
}

std::string NetdevMtuFile(const Member& member) {
  return NetdevFile(*member.port, "mtu");
}

constexpr EqualityRule kIpoibSettings[] = {
    {.what = "IPoIB mode",
     .key = "mode",
     .group = ByPartition,
     .value = [](const Member& member) -> std::optional<Value> {
       const v1::NetInterface* const netdev = IpoibOf(member);
       if (netdev == nullptr || !netdev->has_ipoib_mode()) return {};
       return Value{.text = netdev->ipoib_mode()};
     },
     .expected = [](const v1::Expectations& expected) -> std::optional<Value> {
       if (!expected.has_ipoib_mode()) return {};
       return Value{.text = expected.ipoib_mode()};
     },
     .show = ShowText,
     .source = [](const Member& member) { return NetdevFile(*member.port, "mode"); },
     .remedies = [](const Member& member, const Value& expected) -> std::vector<v1::Remedy> {
       const std::string& netdev = member.port->netdev->name();
       return {Change(
           {.command = Format("ip link set dev {} type ipoib mode {}", netdev, expected.text),
            .affects = v1::REMEDY_REACH_PORT,
            .interrupts = "IP traffic of the netdev",
            .lasts = UntilReboot(kInNetworkConfiguration),
            .undo = Format("ip link set dev {} type ipoib mode {}", netdev,
                           member.port->netdev->ipoib_mode()),
            .note = "Fails with drivers that have datagram mode only."})};
     }},
    {.what = "IPoIB MTU",
     .key = "mtu",
     .group = ByPartition,
     .value = [](const Member& member) -> std::optional<Value> {
       const v1::NetInterface* const netdev = IpoibOf(member);
       if (netdev == nullptr || !netdev->has_mtu_bytes()) return {};
       return Value{netdev->mtu_bytes()};
     },
     .source = NetdevMtuFile,
     .remedies = [](const Member& member, const Value& expected) -> std::vector<v1::Remedy> {
       return {SetMtu(*member.port->netdev, expected.number)};
     }}};

}  // namespace

extern const Rule ipoib_settings_equal = {
    .id = "ipoib_settings_equal",
    .title = "IPoIB netdevs of one partition have the same mode and MTU",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A node with a smaller MTU drops large datagrams of the others, and a broadcast group has "
        "one MTU: joins of a netdev with another one fail. Small packets work, so that only some "
        "programs hang.",
    .source = "RFC 4391; kernel Documentation/infiniband/ipoib.rst",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kIpoibModeFieldNumber},
    .reads = {{.field = Field::kIpoibMode,
               .applies = IsInfinibandInUse,
               .profile = v1::Expectations::kIpoibModeFieldNumber}},
    .fix = "The same mode and MTU on all nodes of the partition",
    .equality_rules = kIpoibSettings,
};

extern const Rule ipoib_netdev_up = {
    .id = "ipoib_netdev_up",
    .title = "The IPoIB netdev of an ACTIVE InfiniBand port is up if those of its equals are",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "RDMA works, but programs that connect by IP address do not: RDMA-CM, storage, and the "
        "bootstrap of NCCL or MPI over IPoIB. Nodes without IPoIB are not judged: equals are "
        "three quarters of the ports of the node, or of the rail, and at least three.",
    .source = "kernel Documentation/infiniband/ipoib.rst",
    .needs = {Input::kRdmaPorts, Input::kNetInterfaces},
    .fix = "ip link set dev NETDEV up, and the network configuration of the node",
    .group_rule = &kIpoibUp,
};

}  // namespace fabric::rules
