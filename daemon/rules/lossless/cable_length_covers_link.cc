#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  // Only mlx5 keeps a length, and only where the driver owns the buffers.
  if (dcb == nullptr || !dcb->has_cable_length_m()) return;
  const std::uint32_t wanted = port.expected().cable_length_m();
  if (dcb->cable_length_m() >= wanted) return out.Pass();
  FailOn(port,
         {.what = "cable length",
          .expected = Format("{} m at least", wanted),
          .seen = Format("{} m", dcb->cable_length_m()),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         WithMlnxQos(port,
                     {.command = Format("dcb pfc set dev {} delay {}", WireName(port), wanted),
                      .note = "mlx5 takes the delay as metres. Buffers are laid out anew."},
                     Format("--cable_len {}", wanted)),
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto mask = LosslessMask(port);
    if (port.expected().has_cable_length_m() && mask && *mask != 0) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule cable_length_covers_link = {
    .id = "cable_length_covers_link",
    .title = "The cable length from which mlx5 reckons its headroom is no shorter than the cable",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The driver keeps room for what is on the wire when it sends a pause frame, and takes "
        "seven metres of cable where nobody says otherwise. Behind 50 m of fibre the room is too "
        "small, and packets are lost although PFC is on.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c (pfc->delay)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCableLengthMFieldNumber},
    .fix = "dcb pfc set dev NETDEV delay METRES, or mlnx_qos -i NETDEV --cable_len METRES",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
