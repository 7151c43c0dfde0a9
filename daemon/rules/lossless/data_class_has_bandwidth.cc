#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Without a profile any share will do, but none at all starves.
constexpr std::uint32_t kSome = 1;

void JudgePort(const PortView& port, const v1::Ets& ets, Verdicts& out) {
  const auto priority = DataPriority(port);
  const auto traffic_class = priority ? ClassOf(ets, *priority) : std::nullopt;
  if (!traffic_class) return;
  const auto share = ShareOf(ets, *traffic_class);
  if (!share) return out.Pass();  // Strict priority, or the vendor's own way: not starved by ETS.
  const v1::Expectations& expected = port.expected();
  const bool given = expected.has_data_bandwidth_min_percent();
  const std::uint32_t least = given ? expected.data_bandwidth_min_percent() : kSome;
  if (*share >= least) return out.Pass();
  const std::uint32_t wanted = given ? least : 50;
  FailOn(port,
         {.what = Format("ETS share of class {} of priority {}", *traffic_class, *priority),
          .expected = Format("{} % at least", least),
          .seen = Format("{} %", *share),
          .source = QosSource(port),
          .basis = given ? ProfileBasis(*port.expectation) : "RoCE data goes there"},
         {ToRemedy({.command = Format("dcb ets set dev {} tc-bw {}:{} ...", WireName(port),
                                      *traffic_class, wanted),
                    .note = "With the other classes so that all add up to 100."})},
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->has_ets()) JudgePort(port, dcb->ets(), out);
  });
}

}  // namespace

extern const Rule data_class_has_bandwidth = {
    .id = "data_class_has_bandwidth",
    .title =
        "The traffic class of RoCE data has the ETS share that the profile asks for, and "
        "never none",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Under load a class gets its share and no more: storage or TCP traffic on the same port "
        "takes the rest away from RoCE. A class with 0 % waits for all others. Jobs are slow on "
        "this port only while something else runs.",
    .source = "IEEE 802.1Qaz (ETS); Cumulus and Broadcom RoCE set-ups (50 % each)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataBandwidthMinPercentFieldNumber,
                v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb ets set dev NETDEV tc-bw CLASS:PERCENT ...",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
