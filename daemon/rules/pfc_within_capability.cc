#include <bit>

#include "base/text.h"
#include "daemon/rules/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Limit {
  int priorities = 0;  // 0: not known
  const char* basis = "";
};

// ice names all its classes as capability, and can do one.
Limit LimitOf(const PortView& port, const v1::Pfc& pfc) {
  if (DriverOf(port) == "ice") return {.priorities = 1, .basis = "Intel 800 series"};
  return {.priorities = static_cast<int>(pfc.capability()), .basis = "what the NIC says it can do"};
}

void JudgePort(const PortView& port, std::uint32_t mask, Verdicts& out) {
  const Limit limit = LimitOf(port, DcbOf(port)->pfc());
  if (limit.priorities == 0) return;
  if (std::popcount(mask) <= limit.priorities) return out.Pass();
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
    .family = "lossless",
    .needs = "dcb",
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
