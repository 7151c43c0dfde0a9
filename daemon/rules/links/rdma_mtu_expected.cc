#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/mtu.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Wanted {
  std::uint32_t rdma = 0;
  std::uint32_t netdev = 0;
};

// What the profile says at least; a netdev MTU it gives exactly is mtu_equal_on_rail's.
Wanted WantedOf(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_netdev_mtu_bytes()) return {};
  return {.rdma = expected.rdma_mtu_bytes(), .netdev = expected.netdev_mtu_min_bytes()};
}

void Fail(const PortView& port, std::string_view what, std::uint32_t seen, std::uint32_t wanted,
          std::string source, Verdicts& out) {
  const std::string basis = ProfileBasis(*port.expectation);
  const std::uint32_t netdev =
      std::max(WantedOf(port).netdev, WantedOf(port).rdma + kRoceHeaderBytes);
  out.Fail(port.Subject(), Format("{} {}, expected at least {} ({})", what, seen, wanted, basis),
           {ToEvidence(*port.node, {.what = std::string(what),
                                    .expected = Format("at least {}", wanted),
                                    .seen = Format("{}", seen),
                                    .source = std::move(source),
                                    .basis = basis})},
           {ToRemedy({.command = Format("ip link set dev {} mtu {}", port.port->netdev(), netdev),
                      .interrupts_traffic = true,
                      .note = "On all nodes of the rail, and at least as much on the switches; "
                              "9000 does as well."})});
}

std::optional<Value> Mtu(const Member& member) {
  const auto mtu = NetdevMtu(*member.port);
  return mtu ? std::optional(Value{*mtu}) : std::nullopt;
}

void Judge(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  const Wanted wanted = WantedOf(port);
  if (!IsRoce(port) || (wanted.rdma == 0 && wanted.netdev == 0)) return;
  if (Deviates(rail, port.netdev->mtu_bytes())) return;
  const std::uint32_t netdev = port.netdev->mtu_bytes();
  // That of the RDMA port follows from the netdev's; where it does not, or falls short of it by a
  // few bytes, rdma_mtu_matches_netdev says so.
  const std::uint32_t possible = RdmaMtuWithin(netdev - std::min(netdev, kRoceHeaderBytes));
  const bool reported = possible != RdmaMtuWithin(netdev);
  if (netdev < wanted.netdev)
    Fail(port, "netdev MTU", netdev, wanted.netdev, NetdevFile(port, "mtu"), out);
  else if (possible < wanted.rdma && !reported)
    Fail(port, "RDMA MTU", possible, wanted.rdma, NetdevFile(port, "mtu"), out);
  else
    out.Pass();
}

constexpr GroupRule kGroupRule = {.value = Mtu, .summarize = MajorityOf, .judge = Judge};

}  // namespace

extern const Rule rdma_mtu_expected = {
    .id = "rdma_mtu_expected",
    .title = "MTU of netdev and RDMA port are at least what the profile says",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A rail whose ports agree on an MTU of 1500 works, with RDMA packets of 1024 bytes: four "
        "times as many packets, and headers, as with 4096. Fast cards run out of packets per "
        "second before they run out of bandwidth. A port that differs from the rest of its rail "
        "is mtu_equal_on_rail's finding.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kRdmaMtuBytesFieldNumber,
                v1::Expectations::kNetdevMtuMinBytesFieldNumber,
                v1::Expectations::kNetdevMtuBytesFieldNumber},
    .fix = "ip link set dev NETDEV mtu 9000",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
