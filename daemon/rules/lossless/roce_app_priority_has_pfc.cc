#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

v1::Remedy Replace(const PortView& port, std::uint32_t seen, std::uint32_t wanted) {
  return ToRemedy({.command = Format("dcb app del dev {0} dgram-port-prio 4791:{1} && "
                                     "dcb app add dev {0} dgram-port-prio 4791:{2}",
                                     WireName(port), seen, wanted),
                   .note = "Refused while an LLDP agent runs in the firmware."});
}

void JudgePort(const PortView& port, std::uint32_t seen, Verdicts& out) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_data_priority()) {
    if (seen == expected.data_priority()) return out.Pass();
    return FailOn(port,
                  {.what = "priority of UDP port 4791",
                   .expected = Format("{}", expected.data_priority()),
                   .seen = Format("{}", seen),
                   .source = QosSource(port),
                   .basis = ProfileBasis(*port.expectation)},
                  {Replace(port, seen, expected.data_priority())}, out);
  }
  const auto mask = LosslessMask(port);
  if (!mask || *mask == 0) return;
  if (Has(*mask, seen)) return out.Pass();
  // PFC of one port that differs from its neighbours' is pfc_equal_on_rail's.
  if (!PfcAlikeOnNode(port)) return;
  FailOn(port,
         {.what = "priority of UDP port 4791",
          .expected = Format("one with PFC ({})", PriorityMask(*mask)),
          .seen = Format("{}", seen),
          .source = QosSource(port),
          .basis = "RoCE v2 is UDP port 4791"},
         {Replace(port, seen, DataPriority(port).value_or(3))}, out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->has_roce_v2_priority())
      JudgePort(port, dcb->roce_v2_priority(), out);
  });
}

}  // namespace

extern const Rule roce_app_priority_has_pfc = {
    .id = "roce_app_priority_has_pfc",
    .title =
        "An APP entry for UDP port 4791 gives RoCE the data priority of the profile, else one "
        "with PFC",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Broadcom and Intel drivers learn from this entry which priority RoCE has, and mark and "
        "queue it so. Where PFC is on for another one, RoCE is lossy. Two entries with different "
        "priorities, of which the highest counts, are a common slip.",
    .source =
        "IEEE 802.1Qaz (APP table, selector 3); kernel drivers/net/ethernet/broadcom/bnxt/"
        "bnxt_dcb.c",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb app add dev NETDEV dgram-port-prio 4791:PRIORITY",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
