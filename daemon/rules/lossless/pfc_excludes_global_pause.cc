#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::string Directions(const v1::GlobalPause& pause) {
  return pause.rx() && pause.tx() ? "rx and tx on" : pause.rx() ? "rx on" : "tx on";
}

void JudgePort(const PortView& port, std::uint32_t mask, Verdicts& out) {
  const Pause pause = PauseOf(port);
  if (pause == Pause::kUnknown) return;
  if (pause == Pause::kOff) return out.Pass();
  FailOn(port,
         {.what = "global pause",
          .expected = "off",
          .seen = Directions(WireOf(port)->global_pause()),
          .source = PauseSource(port),
          .basis = Format("PFC is on for {}", PriorityMask(mask))},
         {ToRemedy({.command = Format("ethtool -A {} autoneg off rx off tx off", WireName(port)),
                    .interrupts_traffic = true,
                    .note = "Drop 'autoneg off' where the driver refuses it. The switch port must "
                            "not send global pause either."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto mask = LosslessMask(port);
    if (mask && *mask != 0) JudgePort(port, *mask, out);
  });
}

}  // namespace

extern const Rule pfc_excludes_global_pause = {
    .id = "pfc_excludes_global_pause",
    .title = "A RoCE port with PFC has global pause off",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Global pause stops the whole port, CNPs and management included, and IEEE 802.1Qbb "
        "forbids it beside PFC: which of the two the hardware follows differs by vendor. The "
        "usual way into it is an ethtool setting of the distribution or of an old script.",
    .source = "IEEE 802.1Qbb; Broadcom's RoCE set-up (ethtool -A NETDEV rx off tx off)",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .fix = "ethtool -A NETDEV rx off tx off",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
