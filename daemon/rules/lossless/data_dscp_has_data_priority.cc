#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::Expectations& expected = port.expected();
  const v1::DcbConfig* const dcb = DcbOf(port);
  // What a port trusts is trust_equal_on_rail's or pfc_covers_roce_dscp's business.
  if (dcb == nullptr || dcb->trust() != v1::TRUST_DSCP) return;
  const auto priority = PriorityOfDscp(*dcb, expected.data_dscp());
  if (!priority) return Unreadable(port, "map of DSCP to priority", QosSource(port), out);
  if (*priority == expected.data_priority()) return out.Pass();
  const std::string map = Format("{}:{}", expected.data_dscp(), expected.data_priority());
  FailOn(port,
         {.what = Format("priority of DSCP {}", expected.data_dscp()),
          .expected = Format("{}", expected.data_priority()),
          .seen = Format("{}", *priority),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         WithMlnxQos(
             port, {.command = Format("dcb app replace dev {} dscp-prio {}", WireName(port), map)},
             Format("--dscp2prio set,{},{}", expected.data_dscp(), expected.data_priority())),
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().has_data_dscp() && port.expected().has_data_priority())
      JudgePort(port, out);
  });
}

}  // namespace

extern const Rule data_dscp_has_data_priority = {
    .id = "data_dscp_has_data_priority",
    .title = "The DSCP of RoCE data goes to the priority that the profile gives it",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "A packet with RoCE's DSCP that lands in another priority has neither the buffer, nor the "
        "share, nor the flow control that the fabric keeps for RoCE: it is lossy while every "
        "setting of PFC looks right. One entry set by hand, or a driver reloaded without its "
        "script, does it.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); kernel include/uapi/linux/dcbnl.h",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
