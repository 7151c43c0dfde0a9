// What hosts mark RoCE with: MLNX_OFED's traffic class override and hop limit, default ToS of
// RDMA-CM.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kNotSet = 256;  // More than any ToS byte

// Without a profile the override is wrong only if its DSCP maps to a lossy priority by the factory
// default, and PFC is on for another priority and equal on all ports of the node. Then neither the
// map nor PFC can be wrong instead.
bool IsLossyByPfc(const PortView& port, std::uint32_t dscp) {
  if (!HasPfc(port) || dscp == kUsualDataDscp) return false;
  const auto priority = PriorityOfDscp(*DcbOf(port), dscp);
  return priority && !PfcMask(port)->Has(*priority) && *priority == dscp / 8 &&
         PfcIsEqualOnNode(port);
}

// A finding of traffic_class_carries_data_dscp.
bool IsOverrideWrong(const PortView& port) {
  if (!port.port->roce_defaults().has_traffic_class() || port.expected().has_traffic_class())
    return false;
  const std::uint32_t dscp = port.port->roce_defaults().traffic_class() >> 2;
  return port.expected().has_data_dscp() ? dscp != port.expected().data_dscp()
                                         : IsLossyByPfc(port, dscp);
}

// Absent when neither the override nor another default of RoCE was read: its state is not known.
std::optional<Value> TrafficClass(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || !port.port->has_roce_defaults() || IsOverrideWrong(port)) return {};
  const v1::RoceDefaults& defaults = port.port->roce_defaults();
  return Value{defaults.has_traffic_class() ? defaults.traffic_class() : kNotSet};
}

std::string ShowTrafficClass(const Value& value) {
  return value.number == kNotSet ? "not set" : Format("{}", value.number);
}

std::string TrafficClassSource(const Member& member) {
  return TrafficClassFile(*member.port);
}

std::vector<v1::Remedy> TrafficClassRemedies(const Member& member, const Value& expected) {
  if (expected.number == kNotSet) return SetTrafficClass(*member.port, {});
  return SetTrafficClass(*member.port, static_cast<std::uint32_t>(expected.number));
}

constexpr EqualityRule kTrafficClass[] = {
    {.what = "traffic class override",
     .value = TrafficClass,
     .expected = NumberOf<&v1::Expectations::has_traffic_class, &v1::Expectations::traffic_class>,
     .kept_when_down = true,
     .show = ShowTrafficClass,
     .source = TrafficClassSource,
     .remedies = TrafficClassRemedies}};

void JudgeByProfile(const PortView& port, std::uint32_t dscp, Verdicts& out) {
  const std::uint32_t wanted = port.expected().data_dscp();
  if (dscp == wanted) return out.Pass();
  FailOn(port,
         {.what = "DSCP of the traffic class override",
          .expected = Format("{}", wanted),
          .seen = Format("{}", dscp),
          .source = TrafficClassFile(port),
          .basis = ProfileBasis(*port.expectation)},
         SetTrafficClass(port, TosOfDscp(wanted)), out);
}

std::vector<v1::Remedy> LosslessClassRemedies(const PortView& port) {
  if (const auto dscp = LosslessDscp(port)) return SetTrafficClass(port, TosOfDscp(*dscp));
  return {
      Advice(Format("Write tclass=N to /{}, with N = 4 * DSCP + 2 for the DSCP that the fabric "
                    "uses for RoCE. On this port DSCP {} lead to a priority with PFC. State "
                    "data_dscp in the profile to get the command.",
                    TrafficClassFile(port), LosslessDscps(port)))};
}

void JudgeByPfc(const PortView& port, std::uint32_t dscp, Verdicts& out) {
  if (!HasPfc(port)) return;
  const PriorityMask mask = *PfcMask(port);
  const auto priority = PriorityOfDscp(*DcbOf(port), dscp);
  if (!priority) return;
  if (mask.Has(*priority)) return out.Pass();
  if (!IsLossyByPfc(port, dscp)) return;
  FailOn(port,
         {.what = "priority of the traffic class override",
          .expected = Format("one with PFC ({})", ToText(mask)),
          .seen = Format("{} (DSCP {})", *priority, dscp),
          .source = TrafficClassFile(port),
          .basis = "RoCE data is sent with it"},
         LosslessClassRemedies(port), out);
}

void EvaluateTrafficClass(const fleet::NodeView& node, Verdicts& out) {
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

std::optional<Value> RdmaCmTos(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || !port.port->roce_defaults().has_rdma_cm_tos()) return {};
  return Value{port.port->roce_defaults().rdma_cm_tos()};
}

std::string RdmaCmSource(const Member& member) {
  return RdmaCmTosFile(*member.port);
}

std::vector<v1::Remedy> RdmaCmRemedies(const Member& member, const Value& expected) {
  return SetRdmaCmTos(*member.port, static_cast<std::uint32_t>(expected.number));
}

constexpr EqualityRule kRdmaCmTos[] = {
    {.what = "default ToS of RDMA-CM",
     .value = RdmaCmTos,
     .expected = NumberOf<&v1::Expectations::has_rdma_cm_tos, &v1::Expectations::rdma_cm_tos>,
     .kept_when_down = true,
     .source = RdmaCmSource,
     .remedies = RdmaCmRemedies}};

void JudgeRdmaCm(const PortView& port, std::uint32_t tos, Verdicts& out) {
  const std::uint32_t wanted = port.expected().data_dscp();
  if (tos >> 2 == wanted) return out.Pass();
  FailOn(port,
         {.what = "DSCP of the default ToS of RDMA-CM",
          .expected = Format("{}", wanted),
          .seen = Format("{} (ToS {})", tos >> 2, tos),
          .source = RdmaCmTosFile(port),
          .basis = ProfileBasis(*port.expectation)},
         SetRdmaCmTos(port, TosOfDscp(wanted)), out);
}

// 0 is the default: whether an application uses RDMA-CM on the port is not known.
void EvaluateRdmaCm(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const std::uint32_t tos = port.port->roce_defaults().rdma_cm_tos();
    if (tos != 0 && port.expected().has_data_dscp() && !port.expected().has_rdma_cm_tos())
      JudgeRdmaCm(port, tos, out);
  });
}

}  // namespace

extern const Rule traffic_class_equal_on_rail = {
    .id = "traffic_class_equal_on_rail",
    .title = "MLNX_OFED's traffic class override is the profile's, else the same on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The override sets the DSCP of everything that RoCE sends from the port and replaces the "
        "value that the application requests. Where it is missing on one node, packets of that "
        "node, including acknowledgements to others, use another priority than the rest.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kTrafficClassFieldNumber},
    .reads = {{.field = Field::kTrafficClass, .applies = IsRoceInUse}},
    .fix = "write tclass=N (4 * DSCP + 2) to sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
    .equality_rules = kTrafficClass,
};

extern const Rule traffic_class_carries_data_dscp = {
    .id = "traffic_class_carries_data_dscp",
    .title = "MLNX_OFED's traffic class override has the DSCP of RoCE data",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The override replaces NCCL_IB_TC and all other values that applications request. With "
        "another DSCP all RoCE of the port uses a lossy priority, and packets are dropped while "
        "PFC and the DSCP map look right. The two low bits of the byte are ECN: 106 is DSCP 26.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class); kernel drivers/infiniband/hw/mlx5/qp.c",
    .needs = {Input::kRoceDefaults, Input::kDcb},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kTrafficClassFieldNumber},
    .fix = "write tclass=N (4 * DSCP + 2) to sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
    .evaluate_node = EvaluateTrafficClass,
};

extern const Rule rdma_cm_tos_equal_on_rail = {
    .id = "rdma_cm_tos_equal_on_rail",
    .title = "The default ToS of RDMA-CM is the profile's, else the same on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "NVMe over fabrics, NFS and other applications that connect by RDMA-CM without setting a "
        "ToS use this default. With another value the traffic of this node uses another priority "
        "than that of its partners, in one direction only.",
    .source = "kernel drivers/infiniband/core/cma_configfs.c (default_roce_tos)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kRdmaCmTosFieldNumber},
    .reads = {{.field = Field::kRdmaCm,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kRdmaCmTosFieldNumber},
              {.field = Field::kRdmaCm, .applies = IsRoceInUse}},
    .fix =
        "write the ToS (4 * DSCP + 2) to default_roce_tos of the port below "
        "sys/kernel/config/rdma_cm",
    .equality_rules = kRdmaCmTos,
};

extern const Rule rdma_cm_tos_carries_data_dscp = {
    .id = "rdma_cm_tos_carries_data_dscp",
    .title = "A default ToS of RDMA-CM contains the RoCE data DSCP of the profile",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The value is meant to put RDMA-CM connections into the lossless priority, and does not: "
        "storage over RoCE drops packets under load while jobs do not. The value is a ToS byte, "
        "four times the DSCP plus two bits of ECN: 26 instead of 106 is DSCP 6.",
    .source = "kernel drivers/infiniband/core/cma_configfs.c (default_roce_tos)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kRdmaCmTosFieldNumber},
    .reads = {{.field = Field::kRdmaCm, .applies = IsRoceInUse}},
    .fix =
        "write the ToS (4 * DSCP + 2) to default_roce_tos of the port below "
        "sys/kernel/config/rdma_cm",
    .evaluate_node = EvaluateRdmaCm,
};

}  // namespace fabric::rules
