#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const auto mask = LosslessMask(port);
  if (!mask || (*mask == 0 && PauseOf(port) != Pause::kOn)) return;
  if (*mask != 0) return out.Pass();
  const std::string& netdev = WireName(port);
  const std::uint32_t priority = DataPriority(port).value_or(3);
  FailOn(port,
         {.what = "flow control",
          .expected = "PFC",
          .seen = "global pause",
          .source = PauseSource(port),
          .basis = ProfileBasis(*port.expectation) + ", lossless"},
         {ToRemedy({.command = Format("ethtool -A {0} rx off tx off && "
                                      "dcb pfc set dev {0} prio-pfc all:off {1}:on",
                                      netdev, priority),
                    .interrupts_traffic = true,
                    .note = "The switch port needs the same change at the same time."})},
         out);
}

// A profile that wants global pause gets it.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().lossless() && !port.expected().global_pause()) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule pfc_instead_of_global_pause = {
    .id = "pfc_instead_of_global_pause",
    .title = "Where the profile wants RoCE lossless, PFC makes it so and not global pause",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Global pause is the factory setting of mlx5. It stops everything on the port, so that "
        "one slow receiver holds up all traffic behind it, and it ends at the first switch that "
        "has PFC instead: links run below their rate while no drop counter moves.",
    .source = "NVIDIA RoCE recommendations; IEEE 802.3 annex 31B",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .profile = {v1::Expectations::kLosslessFieldNumber, v1::Expectations::kGlobalPauseFieldNumber},
    .fix = "ethtool -A NETDEV rx off tx off; dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
