#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kClasses = 8;
constexpr std::uint32_t kWhole = 100;
constexpr std::uint32_t kRounded = 98;  // What thirds and sevenths, rounded down, still make.

void JudgePort(const PortView& port, const v1::Ets& ets, Verdicts& out) {
  std::uint32_t sum = 0;
  for (std::uint32_t traffic_class = 0; traffic_class < kClasses; ++traffic_class)
    if (const auto share = ShareOf(ets, traffic_class)) sum += *share;
  if (sum == 0) return;  // No class is in ETS, or none has a share.
  if (sum <= kWhole && sum >= kRounded) return out.Pass();
  std::vector<std::string> seen;
  for (std::uint32_t traffic_class = 0; traffic_class < kClasses; ++traffic_class)
    if (const auto share = ShareOf(ets, traffic_class))
      seen.push_back(Format("{}:{}", traffic_class, *share));
  FailOn(
      port,
      {.what = "sum of the ETS shares",
       .expected = "100 %",
       .seen = Format("{} % ({})", sum, Join(seen, " ")),
       .source = QosSource(port),
       .basis = "rule"},
      {ToRemedy({.command = Format("dcb ets set dev {} tc-bw {}", WireName(port), Join(seen, " ")),
                 .note = "With shares that add up to 100."})},
      out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->has_ets()) JudgePort(port, dcb->ets(), out);
  });
}

}  // namespace

extern const Rule ets_shares_sum_to_100 = {
    .id = "ets_shares_sum_to_100",
    .title = "The shares of the traffic classes in ETS add up to 100 %",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "What hardware makes of other sums differs: it scales them, refuses the next change, or "
        "leaves a class without any. The share that RoCE is meant to have is then not the one it "
        "has. Shares set one by one leave such sums behind.",
    .source = "IEEE 802.1Qaz (ETS); kernel mlx5e_dbcnl_validate_ets, ice and bnxt likewise",
    .needs = {Input::kDcb},
    .fix = "dcb ets set dev NETDEV tc-bw 0:50 3:50",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
