#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Marks come in bursts and are answered at intervals: of so many at least one is.
constexpr std::uint64_t kMarksMin = 10'000;

// Notification is off by a setting: ecn_notified_on_data_priority's, or meant.
bool IsOffBySetting(const PortView& port) {
  const v1::CongestionControl* const control = CongestionOf(port);
  if (port.expected().has_ecn() && !port.expected().ecn()) return true;
  if (control == nullptr) return false;
  const auto& on = control->notification_point_enabled();
  return std::find(on.begin(), on.end(), false) != on.end() ||
         (control->has_ecn_enabled() && !control->ecn_enabled());
}

void JudgePort(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port)) return;
  const auto marks = Moved(port, Count::kMarkedPackets);
  const auto sent = Moved(port, Count::kCnpsSent);
  if (!marks || !sent || marks->delta < kMarksMin || IsOffBySetting(port)) return;
  if (sent->delta > 0) return out.Pass();
  const std::string seen =
      Format("{} marked packets and no CNP in {}", marks->delta, ShowSeconds(marks->seconds));
  FailMoving(port,
             {.title = seen + ", expected CNPs",
              .expected = "congestion notifications sent",
              .seen = seen,
              .count = Count::kCnpsSent},
             {ToRemedy({.platform = "mlx5",
                        .command = Format("cd / && grep . sys/class/net/{}/ecn/roce_np/enable/*",
                                          WireName(port)),
                        .note = "MLNX_OFED's files; with inbox drivers the firmware: mlxconfig -d "
                                "DEVICE query | grep -e ROCE_CC -e CNP"})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule congestion_marks_answered = {
    .id = "congestion_marks_answered",
    .title = "Who receives packets with congestion marks sends congestion notifications",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The switch marks, and nobody tells the sender: it never slows down, queues fill, and PFC "
        "or loss does what DCQCN should have done.",
    .source = "kernel hw/mlx5/counters.c (np_ecn_marked_roce_packets, np_cnp_sent)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .fix = "Turn the notification point on for the data priority",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
