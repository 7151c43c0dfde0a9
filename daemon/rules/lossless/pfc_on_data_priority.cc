#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// With PFC priorities in the profile pfc_equal_on_rail judges; without any PFC other rules do.
bool Applies(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  return expected.lossless() && expected.has_data_priority() && !expected.has_pfc_priorities() &&
         !LacksPfcUnderLossless(port);
}

void JudgePort(const PortView& port, Verdicts& out) {
  const auto mask = LosslessMask(port);
  if (!mask) return;
  const std::uint32_t priority = port.expected().data_priority();
  if (Has(*mask, priority)) return out.Pass();
  FailOn(port,
         {.what = "PFC enabled priorities",
          .expected = Format("one of them {}", priority),
          .seen = PriorityMask(*mask),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         {ToRemedy({.command = Format("dcb pfc set dev {} prio-pfc all:off {}:on", WireName(port),
                                      priority),
                    .interrupts_traffic = true,
                    .note = "On mlx5 the link goes down and up."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (Applies(port)) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule pfc_on_data_priority = {
    .id = "pfc_on_data_priority",
    .title = "Where the profile wants RoCE lossless, PFC is on for the data priority",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC on another priority protects other traffic: RoCE loses packets under incast and "
        "goes back to send again. It happens where switches and hosts were set up by recipes of "
        "different vendors.",
    .source = "IEEE 802.1Qbb; kernel include/uapi/linux/dcbnl.h (struct ieee_pfc)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kLosslessFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
