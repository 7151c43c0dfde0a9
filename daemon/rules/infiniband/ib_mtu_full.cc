#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<Value> ActiveMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}

void Judge(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  const v1::Expectations& expected = port.expected();
  // One that differs from the others' is mtu_equal_on_rail's finding.
  if (Deviates(rail, port.port->active_mtu_bytes())) return;
  if (!port.port->has_max_mtu_bytes() && !expected.has_ib_mtu_bytes()) return;
  std::uint32_t wanted = std::min(4096U, port.port->max_mtu_bytes());
  if (expected.has_ib_mtu_bytes()) wanted = expected.ib_mtu_bytes();
  const std::uint32_t seen = port.port->active_mtu_bytes();
  if (seen >= wanted) return out.Pass();
  const std::string basis =
      expected.has_ib_mtu_bytes() ? ProfileBasis(*port.expectation) : "what the port is capable of";
  out.Fail(port.Subject(),
           Format("active InfiniBand MTU {}, expected {} ({})", seen, wanted, basis),
           {ToEvidence(*port.node, {.what = "active RDMA MTU",
                                    .expected = Format("{}", wanted),
                                    .seen = Format("{}", seen),
                                    .source = VerbsSource(port),
                                    .basis = basis})},
           {ToRemedy(
               {.command = Format("smpquery portinfo {} {}", port.port->lid(), port.port->number()),
                .note = "NeighborMTU is set by the subnet manager from the MtuCap of both "
                        "ends: is a switch in between that has less, or does its "
                        "configuration limit it?"})});
}

constexpr GroupRule kGroupRule = {.value = ActiveMtu, .summarize = MajorityOf, .judge = Judge};

}  // namespace

extern const Rule ib_mtu_full = {
    .id = "ib_mtu_full",
    .title = "The active MTU of an InfiniBand port is 4096, or what the profile says",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Smaller packets mean more of them, and more headers, for the same data: bandwidth is lost "
        "on fast links. Every InfiniBand device of the last ten years takes 4096 bytes; less comes "
        "from an old switch or from the subnet manager's configuration.",
    .source = "InfiniBand specification, PortInfo:NeighborMTU",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kIbMtuBytesFieldNumber},
    .fix = "smpquery portinfo LID PORT, and the configuration of the subnet manager",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
