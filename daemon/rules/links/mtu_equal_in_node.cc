#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/mtu.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/siblings.h"

namespace fabric::rules {
namespace {

// One that looks like 4096 and is too short for that is rdma_mtu_matches_netdev's finding.
std::optional<std::uint64_t> Mtu(const fleet::PortView& port) {
  const auto mtu = NetdevMtu(port);
  if (!mtu || !port.rail || port.expected().has_netdev_mtu_bytes()) return {};
  if (*mtu >= 4096 && *mtu < 4096 + kRoceHeaderBytes) return {};
  return mtu;
}

std::string Source(const fleet::PortView& port) {
  return NetdevFile(port, "mtu");
}

std::vector<v1::Remedy> Remedies(const fleet::PortView& port, std::uint64_t expected) {
  return {ToRemedy({.command = Format("ip link set dev {} mtu {}", port.port->netdev(), expected),
                    .interrupts_traffic = true,
                    .note = "Also where the network is configured, or a reboot undoes it."})};
}

constexpr Sibling kMtu = {
    .what = "netdev MTU", .value = Mtu, .show = ShowNumber, .source = Source, .remedies = Remedies};

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeSiblings(kMtu, node, out);
}

}  // namespace

extern const Rule mtu_equal_in_node = {
    .id = "mtu_equal_in_node",
    .title = "Of a machine judged alone, equal cards have the same netdev MTU",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs use all cards of a node alike: one with a smaller MTU is slower than the others, and "
        "most likely unlike its peers on other nodes. Without those to compare with, at least four "
        "cards with one board id are needed of which three fourths agree.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kNetInterfaces, Input::kRdmaDevices},
    .profile = {v1::Expectations::kNetdevMtuBytesFieldNumber},
    .fix = "ip link set dev NETDEV mtu BYTES",
    .evaluate_node = Evaluate,
    .single_node_only = true,
};

}  // namespace fabric::rules
