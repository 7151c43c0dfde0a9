#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kTsaCbs = 1;

std::optional<std::uint32_t> CnpPriority(const PortView& port) {
  if (port.expected().has_cnp_priority()) return port.expected().cnp_priority();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_cnp_priority()) return control->cnp_priority();
  return {};
}

// Algorithms of vendors are not judged: mlx5's goes before ETS.
void JudgePort(const PortView& port, Verdicts& out) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto priority = CnpPriority(port);
  if (dcb == nullptr || !priority) return;
  if (!dcb->has_ets()) return Unreadable(port, "ETS", QosSource(port), out);
  const auto traffic_class = ClassOf(dcb->ets(), *priority);
  const int index = static_cast<int>(traffic_class.value_or(~0U));
  if (index < 0 || index >= dcb->ets().tc_algorithm_size()) return;
  const std::uint32_t algorithm = dcb->ets().tc_algorithm(index);
  if (algorithm != kTsaEts && algorithm != kTsaCbs) return out.Pass();
  FailOn(port,
         {.what = Format("class {} of CNPs (priority {})", *traffic_class, *priority),
          .expected = "strict priority",
          .seen = algorithm == kTsaEts ? "ETS" : "CBS",
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         {ToRemedy({.command = Format("dcb ets set dev {} tc-tsa {}:strict", WireName(port),
                                      *traffic_class),
                    .note = "The shares of the others must add up to 100 then."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().cnp_strict()) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule cnp_class_is_strict = {
    .id = "cnp_class_is_strict",
    .title = "Where the profile wants it, the traffic class of CNPs has strict priority",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "CNPs are few and small, and worth nothing when they are late. In an ETS class they wait "
        "for the share of the others while the queue that they report keeps growing.",
    .source = "NVIDIA Cumulus and Onyx RoCE defaults (priority 6 strict); Broadcom RoCE set-up",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCnpStrictFieldNumber, v1::Expectations::kCnpPriorityFieldNumber},
    .fix = "dcb ets set dev NETDEV tc-tsa CLASS:strict",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
