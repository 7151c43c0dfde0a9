#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<std::uint32_t> CnpDscp(const PortView& port) {
  if (port.expected().has_cnp_dscp()) return port.expected().cnp_dscp();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_cnp_dscp()) return control->cnp_dscp();
  return {};
}

// Which priority a profile wants for them is cnp_dscp_priority's business.
bool Applies(const PortView& port) {
  return !port.expected().has_cnp_priority() && LosslessMask(port).value_or(0) != 0;
}

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto cnp_dscp = CnpDscp(port);
  const std::uint32_t data_dscp = DataDscp(port).value_or(kUsualDataDscp);
  if (dcb == nullptr || !cnp_dscp || *cnp_dscp == data_dscp) return;
  const auto data = PriorityOfDscp(*dcb, data_dscp);
  const auto cnp = PriorityOfDscp(*dcb, *cnp_dscp);
  // Data that PFC does not cover is reported by pfc_covers_roce_dscp.
  if (!data || !cnp || !Has(*LosslessMask(port), *data)) return;
  if (*data != *cnp) return out.Pass();
  FailOn(port,
         {.what = Format("priority of CNPs (DSCP {})", *cnp_dscp),
          .expected = "one without PFC",
          .seen = Format("{}, that of RoCE data", *cnp),
          .source = QosSource(port),
          .basis = Format("DSCP {} goes there too", data_dscp)},
         WithMlnxQos(
             port,
             {.command = Format("dcb app replace dev {} dscp-prio {}:6", WireName(port), *cnp_dscp),
              .note = "6 is what most switches give to CNPs."},
             Format("--dscp2prio set,{},6", *cnp_dscp)),
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (Applies(port)) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule cnp_apart_from_data = {
    .id = "cnp_apart_from_data",
    .title = "CNPs do not go to the lossless priority of RoCE data",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A CNP tells a sender to slow down. In the priority of the data it waits behind the data, "
        "and is paused with it: just when there is congestion, the news of it comes late, and PFC "
        "does the work that ECN should do.",
    .source =
        "NVIDIA Cumulus and Onyx, Broadcom and Juniper RoCE set-ups (CNP in a strict class "
        "without PFC)",
    .needs = {Input::kDcb, Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpDscpFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio 48:6",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
