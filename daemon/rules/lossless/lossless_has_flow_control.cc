#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const auto mask = LosslessMask(port);
  if (!mask) return;  // That PFC could not be read is pfc_equal_on_rail's to say.
  if (*mask != 0 || PauseOf(port) == Pause::kOn) return out.Pass();
  if (PauseOf(port) == Pause::kUnknown) return;
  const std::uint32_t priority = DataPriority(port).value_or(3);
  FailOn(port,
         {.what = "flow control",
          .expected = "PFC",
          .seen = "neither PFC nor global pause",
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation) + ", lossless"},
         {ToRemedy({.command = Format("dcb pfc set dev {} prio-pfc all:off {}:on", WireName(port),
                                      priority),
                    .interrupts_traffic = true,
                    .note = "The switch port needs PFC on the same priority. On mlx5 the link "
                            "goes down and up."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().lossless()) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule lossless_has_flow_control = {
    .id = "lossless_has_flow_control",
    .title = "Where the profile wants RoCE lossless, the port has PFC or global pause",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "With neither, the first incast drops packets, and each drop makes a RoCE connection go "
        "back and send again: throughput collapses while all drop counters of the host stay at "
        "zero. Intel's irdma slows itself down on purpose when it finds no flow control.",
    .source = "IEEE 802.1Qbb; Intel Ethernet 800 series RoCEv2 flow control guide (doc 635330)",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .profile = {v1::Expectations::kLosslessFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
