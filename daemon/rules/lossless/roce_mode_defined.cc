#include <algorithm>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool None(const google::protobuf::RepeatedField<bool>& switches) {
  return !switches.empty() &&
         std::none_of(switches.begin(), switches.end(), [](bool on) { return on; });
}

// Nothing tells an ECN-controlled port from one where it is off by default: only what is known to
// be off counts.
bool EcnIsOff(const v1::CongestionControl* control) {
  if (control == nullptr) return false;
  if (control->has_ecn_enabled()) return !control->ecn_enabled();
  return None(control->notification_point_enabled()) || None(control->reaction_point_enabled());
}

// The ones before have nothing that makes up for lost packets quickly.
bool NeedsLossless(const PortView& port) {
  const std::string& model = port.device->model();
  return model == "ConnectX-3" || model == "ConnectX-3 Pro" || model == "ConnectX-4";
}

void JudgePort(const PortView& port, Verdicts& out) {
  const auto mask = LosslessMask(port);
  if (!mask || PauseOf(port) == Pause::kUnknown) return;
  const bool ecn_off = EcnIsOff(CongestionOf(port));
  if (*mask != 0 || PauseOf(port) == Pause::kOn || !(ecn_off || NeedsLossless(port)))
    return out.Pass();
  FailOn(port,
         {.what = "RoCE mode",
          .expected = "lossless (PFC) or lossy with ECN",
          .seen = ecn_off ? "neither PFC nor pause nor ECN" : "neither PFC nor pause",
          .source = QosSource(port),
          .basis = ecn_off ? "rule" : port.device->model() + " has no lossy RoCE"},
         {ToRemedy({.command = Format("dcb pfc set dev {} prio-pfc all:off 3:on", WireName(port)),
                    .interrupts_traffic = true,
                    .note = "For lossless RoCE on priority 3, on the switch too. For lossy RoCE "
                            "turn ECN on instead, and say 'lossless: false' in a profile."})},
         out);
}

// A profile that says which of the two is meant has rules of its own.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!port.expected().has_lossless() && !port.expected().has_pfc_priorities())
      JudgePort(port, out);
  });
}

}  // namespace

extern const Rule roce_mode_defined = {
    .id = "roce_mode_defined",
    .title = "RoCE runs either lossless or lossy with congestion control, and not neither",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without flow control and without ECN nothing keeps queues from overflowing, and RoCE "
        "answers each lost packet by sending many again: jobs die with 'transport retry counter "
        "exceeded' under load. It is what remains when a set-up script did not run.",
    .source = "NVIDIA RoCE recommendations (lossless and lossy set-ups)",
    .needs = {Input::kDcb, Input::kGlobalPause, Input::kCongestionControl},
    .profile = {v1::Expectations::kLosslessFieldNumber,
                v1::Expectations::kPfcPrioritiesFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc PRIORITY:on, or ECN on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
