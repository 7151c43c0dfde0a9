#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, std::uint32_t tos, Verdicts& out) {
  constexpr std::uint32_t kEct0 = 2;
  const std::uint32_t wanted = port.expected().data_dscp();
  if (tos >> 2 == wanted) return out.Pass();
  FailOn(port,
         {.what = "DSCP of the default ToS of RDMA-CM",
          .expected = Format("{}", wanted),
          .seen = Format("{} (ToS {})", tos >> 2, tos),
          .source = Format("sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos",
                           port.device->name(), port.port->number()),
          .basis = ProfileBasis(*port.expectation)},
         {ToRemedy({.command = Format("cma_roce_tos -d {} -p {} -t {}", port.device->name(),
                                      port.port->number(), wanted << 2 | kEct0),
                    .note = "For connections made from then on."})},
         out);
}

// 0 is what nobody has set: whether anything uses RDMA-CM there is not known.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const std::uint32_t tos = port.port->roce_defaults().rdma_cm_tos();
    if (tos != 0 && port.expected().has_data_dscp() && !port.expected().has_rdma_cm_tos())
      JudgePort(port, tos, out);
  });
}

}  // namespace

extern const Rule rdma_cm_tos_carries_data_dscp = {
    .id = "rdma_cm_tos_carries_data_dscp",
    .title = "A default ToS of RDMA-CM that somebody has set has the profile's DSCP of RoCE data",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "It was set to put RDMA-CM's connections into the lossless priority, and does not: "
        "storage over RoCE drops packets under load while jobs do not. The value is a ToS byte, "
        "four times the DSCP and two bits of ECN: 26 written where 106 is meant is DSCP 6.",
    .source = "kernel drivers/infiniband/core/cma_configfs.c (default_roce_tos)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kRdmaCmTosFieldNumber},
    .fix = "cma_roce_tos -d DEVICE -t 106",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
