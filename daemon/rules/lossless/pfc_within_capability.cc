#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/pfc_capability.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, std::uint32_t mask, Verdicts& out) {
  const PfcLimit limit = PfcLimitOf(port);
  if (limit.priorities == 0) return;
  if (!ExceedsPfcLimit(port)) return out.Pass();
  FailOn(port,
         {.what = "PFC enabled priorities",
          .expected = Format("{} at most", limit.priorities),
          .seen = PriorityMask(mask),
          .source = QosSource(port),
          .basis = limit.basis},
         {ToRemedy({.command = Format("dcb pfc set dev {} prio-pfc all:off {}:on", WireName(port),
                                      DataPriority(port).value_or(3)),
                    .interrupts_traffic = true,
                    .note = "Leave PFC on for RoCE's data alone."})},
         out);
}

// What a profile says of PFC is pfc_equal_on_rail's business.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto mask = LosslessMask(port);
    if (mask && *mask != 0 && !port.expected().has_pfc_priorities()) JudgePort(port, *mask, out);
  });
}

}  // namespace

extern const Rule pfc_within_capability = {
    .id = "pfc_within_capability",
    .title = "PFC is on for no more priorities than the NIC has lossless buffers for",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each lossless priority takes headroom from the port's buffer. With more of them than "
        "the NIC can hold, some are lossless by name only, and drop under load. Switches, too, "
        "have headroom for two or three.",
    .source = "kernel include/uapi/linux/dcbnl.h (pfc_cap); Intel Ethernet 800 series, doc 635330",
    .needs = {Input::kDcb},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
