#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/mtu.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// What the RDMA MTU of a port can be over its netdev. Most drivers leave room for all headers that
// RoCE may need, some for fewer (rxe) or none (irdma): in between both answers are right.
struct Range {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

Range RangeOf(const PortView& port) {
  const std::uint32_t mtu = port.netdev->mtu_bytes();
  const std::uint32_t cap = port.port->has_max_mtu_bytes() ? port.port->max_mtu_bytes() : 4096;
  return {.least = std::min(cap, RdmaMtuWithin(mtu - std::min(mtu, kRoceHeaderBytes))),
          .most = std::min(cap, RdmaMtuWithin(mtu))};
}

std::vector<v1::Evidence> EvidenceOf(const PortView& port, std::uint32_t expected) {
  const std::uint32_t mtu = port.netdev->mtu_bytes();
  return {ToEvidence(*port.node, {.what = "active RDMA MTU",
                                  .expected = Format("{}", expected),
                                  .seen = Format("{}", port.port->active_mtu_bytes()),
                                  .source = VerbsSource(port),
                                  .basis = Format("netdev MTU {} less {} bytes for headers", mtu,
                                                  kRoceHeaderBytes)}),
          ToEvidence(*port.node, {.what = "netdev MTU",
                                  .expected = Format("at least {}", expected + kRoceHeaderBytes),
                                  .seen = Format("{}", mtu),
                                  .source = NetdevFile(port, "mtu"),
                                  .basis = "rule"})};
}

// The netdev's MTU is a few bytes short of the next RDMA MTU, which it seems to allow.
void FailShort(const PortView& port, std::uint32_t expected, Verdicts& out) {
  const std::uint32_t needed = expected + kRoceHeaderBytes;
  out.Fail(
      port.Subject(),
      Format("netdev MTU {} leaves an RDMA MTU of {}, expected {}, which needs {}",
             port.netdev->mtu_bytes(), port.port->active_mtu_bytes(), expected, needed),
      EvidenceOf(port, expected),
      {ToRemedy({.command = Format("ip link set dev {} mtu {}", port.netdev->name(), needed),
                 .interrupts_traffic = true,
                 .note = "On all nodes of the rail and on the switches; 9000 does as well."})});
}

void FailMismatch(const PortView& port, std::uint32_t expected, Verdicts& out) {
  const std::string& netdev = port.netdev->name();
  out.Fail(
      port.Subject(),
      Format("active RDMA MTU {}, expected {} over netdev MTU {}", port.port->active_mtu_bytes(),
             expected, port.netdev->mtu_bytes()),
      EvidenceOf(port, expected),
      {ToRemedy({.command = Format("ip link set dev {0} down && ip link set dev {0} up", netdev),
                 .interrupts_traffic = true,
                 .note = "The driver takes the MTU over anew when the link comes up."})});
}

std::optional<Value> Mtu(const Member& member) {
  const auto mtu = NetdevMtu(*member.port);
  return mtu ? std::optional(Value{*mtu}) : std::nullopt;
}

void Judge(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  if (!IsRoce(port)) return;
  if (!port.port->has_active_mtu_bytes())
    return Unreadable(port, "active RDMA MTU", VerbsSource(port), out);
  const Range range = RangeOf(port);
  const std::uint32_t active = port.port->active_mtu_bytes();
  // A netdev MTU that differs from the others' is mtu_equal_on_rail's finding.
  const bool reported = Deviates(rail, port.netdev->mtu_bytes());
  if (active < range.least || active > range.most)
    FailMismatch(port, range.least, out);
  else if (active < range.most && !reported)
    FailShort(port, range.most, out);
  else
    out.Pass();
}

constexpr GroupRule kGroupRule = {.value = Mtu, .summarize = MajorityOf, .judge = Judge};

}  // namespace

extern const Rule rdma_mtu_matches_netdev = {
    .id = "rdma_mtu_matches_netdev",
    .title = "The active RDMA MTU of a RoCE port is what the MTU of its netdev allows",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "RDMA packets carry 256, 512, 1024, 2048 or 4096 bytes, whatever fits under the "
        "netdev's MTU with 96 bytes of headers. A netdev MTU of 4096 looks right and gives "
        "2048: twice the packets for the same data. An RDMA MTU that does not follow the "
        "netdev's means that driver and netdev disagree, and packets may be dropped.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kRdmaPorts, Input::kNetInterfaces},
    .fix = "ip link set dev NETDEV mtu 9000",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
