#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::string_view kWholeRail =
    "Set it on all nodes of the rail, and at least as large on the switches. 9000 works too.";

std::optional<Value> Mtu(const Member& member) {
  const auto mtu = NetdevMtu(*member.port);
  return mtu ? std::optional(Value{*mtu}) : std::nullopt;
}

// rdma_mtu_expected

struct Minimum {
  std::uint32_t rdma = 0;
  std::uint32_t netdev = 0;
};

// The minimum in the profile. mtu_equal_on_rail judges a netdev MTU that the profile gives exactly.
Minimum MinimumOf(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_netdev_mtu_bytes()) return {};
  return {.rdma = expected.rdma_mtu_bytes(), .netdev = expected.netdev_mtu_min_bytes()};
}

void FailMinimum(const PortView& port, std::string_view what, std::uint32_t seen,
                 std::uint32_t wanted, Verdicts& out) {
  const std::string basis = ProfileBasis(*port.expectation);
  const std::uint32_t netdev =
      std::max(MinimumOf(port).netdev, MinimumOf(port).rdma + kRoceHeaderBytes);
  out.Fail(port.Subject(), Format("{} {}, expected at least {} ({})", what, seen, wanted, basis),
           {ToEvidence(*port.node, {.what = std::string(what),
                                    .expected = Format("at least {}", wanted),
                                    .seen = Format("{}", seen),
                                    .source = NetdevFile(port, "mtu"),
                                    .basis = basis})},
           {SetMtu(*port.netdev, netdev, kWholeRail)});
}

void JudgeMinimum(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  const Minimum minimum = MinimumOf(port);
  if (!IsRoce(port) || (minimum.rdma == 0 && minimum.netdev == 0)) return;
  if (Deviates(rail, port.netdev->mtu_bytes())) return;
  const std::uint32_t netdev = port.netdev->mtu_bytes();
  // The RDMA MTU follows the netdev MTU. If it does not, or if a few bytes are missing,
  // rdma_mtu_matches_netdev reports the port.
  const std::uint32_t possible = RdmaMtuWithin(netdev - std::min(netdev, kRoceHeaderBytes));
  const bool reported = possible != RdmaMtuWithin(netdev);
  if (netdev < minimum.netdev)
    FailMinimum(port, "netdev MTU", netdev, minimum.netdev, out);
  else if (possible < minimum.rdma && !reported)
    FailMinimum(port, "RDMA MTU", possible, minimum.rdma, out);
  else
    out.Pass();
}

constexpr GroupRule kMinimum = {.value = Mtu, .summarize = MajorityOf, .judge = JudgeMinimum};

// rdma_mtu_of_fast_link

constexpr std::uint64_t kFastBps = 100'000'000'000;
constexpr std::uint32_t kFullMtu = 4096;

bool IsFast(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  const bool by_profile = expected.has_rdma_mtu_bytes() || expected.has_netdev_mtu_bytes() ||
                          expected.has_netdev_mtu_min_bytes();
  return !by_profile && IsRoceHardware({.port = &port}) && LinkRate(port).value_or(0) >= kFastBps;
}

// The cases that rdma_mtu_expected leaves to other rules are left to them here, too.
void JudgeFast(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  if (!IsFast(port) || Deviates(rail, port.netdev->mtu_bytes())) return;
  const std::uint32_t netdev = port.netdev->mtu_bytes();
  const std::uint32_t possible = RdmaMtuWithin(netdev - std::min(netdev, kRoceHeaderBytes));
  if (possible >= kFullMtu || possible != RdmaMtuWithin(netdev)) return out.Pass();
  const std::string rate = ShowRate({.number = *LinkRate(port)});
  out.Fail(
      port.Subject(),
      Format("RDMA MTU {} at {}, expected {} (netdev MTU {})", possible, rate, kFullMtu, netdev),
      {ToEvidence(*port.node, {.what = "RDMA MTU",
                               .expected = Format("{}", kFullMtu),
                               .seen = Format("{}", possible),
                               .source = NetdevFile(port, "mtu"),
                               .basis = "link of " + rate})},
      {SetMtu(*port.netdev, kFullMtu + kRoceHeaderBytes, kWholeRail)});
}

bool IsFastMember(const Member& port) {
  return IsFast(*port.port);
}

constexpr GroupRule kFast = {.value = Mtu, .summarize = MajorityOf, .judge = JudgeFast};

// rdma_mtu_matches_netdev

// The possible RDMA MTUs of a port over its netdev. Most drivers leave room for all headers that
// RoCE may need, some for fewer (rxe) or for none (irdma): every value in between is correct.
struct Range {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

Range RangeOf(const PortView& port) {
  const std::uint32_t mtu = port.netdev->mtu_bytes();
  const std::uint32_t cap = port.port->has_max_mtu_bytes() ? port.port->max_mtu_bytes() : 4096;
  return {.min = std::min(cap, RdmaMtuWithin(mtu - std::min(mtu, kRoceHeaderBytes))),
          .max = std::min(cap, RdmaMtuWithin(mtu))};
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

// The netdev MTU is a few bytes too small for the next RDMA MTU.
void FailShort(const PortView& port, std::uint32_t expected, Verdicts& out) {
  const std::uint32_t needed = expected + kRoceHeaderBytes;
  out.Fail(port.Subject(),
           Format("netdev MTU {} gives an RDMA MTU of {}, expected {}, which needs {}",
                  port.netdev->mtu_bytes(), port.port->active_mtu_bytes(), expected, needed),
           EvidenceOf(port, expected), {SetMtu(*port.netdev, needed, kWholeRail)});
}

void FailMismatch(const PortView& port, std::uint32_t expected, Verdicts& out) {
  const std::string& netdev = port.netdev->name();
  out.Fail(
      port.Subject(),
      Format("active RDMA MTU {}, expected {} over netdev MTU {}", port.port->active_mtu_bytes(),
             expected, port.netdev->mtu_bytes()),
      EvidenceOf(port, expected),
      {Change({.command = Format("ip link set dev {0} down && ip link set dev {0} up", netdev),
               .affects = v1::REMEDY_REACH_PORT,
               .interrupts = "traffic and RDMA connections of the port; its IPv6 addresses and "
                             "routes are removed",
               .lasts = Permanently(),
               .undo = "Nothing to undo; set IPv6 addresses and routes again if the network "
                       "configuration does not",
               .note = "The driver reads the MTU again when the link comes up. Drain the node "
                       "first."})});
}

void JudgeMatch(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  if (!IsRoce(port) || !port.port->has_active_mtu_bytes()) return;
  const Range range = RangeOf(port);
  const std::uint32_t active = port.port->active_mtu_bytes();
  // A netdev MTU that differs from the others is a finding of mtu_equal_on_rail.
  const bool reported = Deviates(rail, port.netdev->mtu_bytes());
  if (active < range.min || active > range.max)
    FailMismatch(port, range.min, out);
  else if (active < range.max && !reported)
    FailShort(port, range.max, out);
  else
    out.Pass();
}

bool IsOverSizedNetdev(const Member& member) {
  return IsRoceInUse(member) && NetdevMtu(*member.port);
}

constexpr GroupRule kMatch = {.value = Mtu, .summarize = MajorityOf, .judge = JudgeMatch};

}  // namespace

extern const Rule rdma_mtu_expected = {
    .id = "rdma_mtu_expected",
    .title = "MTU of netdev and RDMA port are at least the minimum in the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A rail in which all ports have an MTU of 1500 works, but its RDMA packets carry 1024 "
        "bytes: four times the packets and headers of 4096. Fast cards reach their limit of "
        "packets per second before their bandwidth. A port that differs from the rest of its rail "
        "is a finding of mtu_equal_on_rail.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kRdmaMtuBytesFieldNumber,
                v1::Expectations::kNetdevMtuMinBytesFieldNumber,
                v1::Expectations::kNetdevMtuBytesFieldNumber},
    .reads = {{.field = Field::kNetdevMtu,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kRdmaMtuBytesFieldNumber},
              {.field = Field::kNetdevMtu,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kNetdevMtuMinBytesFieldNumber}},
    .fix = "ip link set dev NETDEV mtu 9000",
    .group_rule = &kMinimum,
};

extern const Rule rdma_mtu_matches_netdev = {
    .id = "rdma_mtu_matches_netdev",
    .title = "The active RDMA MTU of a RoCE port is the one that its netdev MTU allows",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "RDMA packets carry 256, 512, 1024, 2048 or 4096 bytes: the largest size that fits into "
        "the netdev MTU with 96 bytes of headers. A netdev MTU of 4096 looks right and gives "
        "2048: twice the packets for the same data. If the RDMA MTU does not follow the netdev "
        "MTU, driver and netdev disagree, and packets may be dropped.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kRdmaPorts, Input::kNetInterfaces},
    .reads = {{.field = Field::kActiveMtu, .applies = IsOverSizedNetdev}},
    .fix = "ip link set dev NETDEV mtu 9000",
    .group_rule = &kMatch,
};

extern const Rule rdma_mtu_of_fast_link = {
    .id = "rdma_mtu_of_fast_link",
    .title = "The RDMA MTU of RoCE ports of 100 Gb/s and more is 4096",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The default netdev MTU of 1500 gives RDMA packets of 1024 bytes: four times the packets "
        "and headers of 4096. Fast cards reach their limit of packets per second before their "
        "bandwidth. An MTU in a profile replaces this rule.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu); vendors' RoCE tuning guides",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kRdmaMtuBytesFieldNumber,
                v1::Expectations::kNetdevMtuMinBytesFieldNumber,
                v1::Expectations::kNetdevMtuBytesFieldNumber},
    .reads = {{.field = Field::kNetdevMtu, .applies = IsFastMember}},
    .fix = "ip link set dev NETDEV mtu 9000",
    .group_rule = &kFast,
};

}  // namespace fabric::rules
