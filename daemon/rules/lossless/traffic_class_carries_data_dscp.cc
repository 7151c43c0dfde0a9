#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::string Path(const PortView& port) {
  return Format("sys/class/infiniband/{}/tc/{}/traffic_class", port.device->name(),
                port.port->number());
}

std::vector<v1::Remedy> Remedies(const PortView& port, std::uint32_t dscp) {
  constexpr std::uint32_t kEct0 = 2;
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("cd / && echo tclass={} > {}", dscp << 2 | kEct0, Path(port)),
                    .note = "MLNX_OFED's file; lost at reboot unless a script sets it."})};
}

void JudgeByProfile(const PortView& port, std::uint32_t dscp, Verdicts& out) {
  const std::uint32_t wanted = port.expected().data_dscp();
  if (dscp == wanted) return out.Pass();
  FailOn(port,
         {.what = "DSCP of the traffic class override",
          .expected = Format("{}", wanted),
          .seen = Format("{}", dscp),
          .source = Path(port),
          .basis = ProfileBasis(*port.expectation)},
         Remedies(port, wanted), out);
}

// Without a profile the override is wrong when it goes to a lossy priority by a map that is the
// factory's in this place, while PFC is on, alike on all ports of the node, for another one: then
// neither map nor PFC can be what is wrong.
void JudgeByPfc(const PortView& port, std::uint32_t dscp, Verdicts& out) {
  const auto mask = LosslessMask(port);
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (!mask || *mask == 0 || dcb == nullptr) return;
  const auto priority = PriorityOfDscp(*dcb, dscp);
  if (!priority) return;
  if (Has(*mask, *priority)) return out.Pass();
  if (dscp == kUsualDataDscp || *priority != dscp / 8 || !PfcAlikeOnNode(port)) return;
  FailOn(port,
         {.what = "priority of the traffic class override",
          .expected = Format("one with PFC ({})", PriorityMask(*mask)),
          .seen = Format("{} (DSCP {})", *priority, dscp),
          .source = Path(port),
          .basis = "RoCE data is sent with it"},
         Remedies(port, DataPriority(port).value_or(3) * 8 + 2), out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!port.port->roce_defaults().has_traffic_class() || port.expected().has_traffic_class())
      return;
    const std::uint32_t dscp = port.port->roce_defaults().traffic_class() >> 2;
    if (port.expected().has_data_dscp())
      JudgeByProfile(port, dscp, out);
    else
      JudgeByPfc(port, dscp, out);
  });
}

}  // namespace

extern const Rule traffic_class_carries_data_dscp = {
    .id = "traffic_class_carries_data_dscp",
    .title = "MLNX_OFED's traffic class override has the DSCP of RoCE data",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The override wins over NCCL_IB_TC and whatever else applications ask for. With another "
        "DSCP all RoCE of the port rides in a lossy priority, and packets drop while PFC and its "
        "map look right. The two low bits are ECN's: 106 is DSCP 26.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class); kernel drivers/infiniband/hw/mlx5/qp.c",
    .needs = {Input::kRoceDefaults, Input::kDcb},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kTrafficClassFieldNumber},
    .fix = "write tclass=106 to sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
