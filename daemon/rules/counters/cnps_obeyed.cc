#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// A few are ignored because their queue pair has gone meanwhile.
constexpr std::uint64_t kIgnoredMin = 1000;

bool IsOffBySetting(const PortView& port) {
  const v1::CongestionControl* const control = CongestionOf(port);
  if (port.expected().has_ecn() && !port.expected().ecn()) return true;
  if (control == nullptr) return false;
  const auto& on = control->reaction_point_enabled();
  return std::find(on.begin(), on.end(), false) != on.end();
}

void JudgePort(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port)) return;
  const auto ignored = Moved(port, Count::kCnpsIgnored);
  const auto handled = Moved(port, Count::kCnpsHandled);
  if (!ignored || !handled || IsOffBySetting(port)) return;
  if (ignored->delta < kIgnoredMin || ignored->delta <= handled->delta) return out.Pass();
  const std::string seen = Format("{} ignored, {} obeyed in {}", ignored->delta, handled->delta,
                                  ShowSeconds(ignored->seconds));
  FailMoving(port,
             {.title = Format("congestion notifications: {}, expected most to be obeyed", seen),
              .expected = "most obeyed",
              .seen = seen,
              .count = Count::kCnpsIgnored},
             {ToRemedy({.platform = "mlx5",
                        .command = Format("cd / && grep . sys/class/net/{}/ecn/roce_rp/enable/*",
                                          WireName(port)),
                        .note = "The priority in which data is sent must have its reaction point "
                                "on."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule cnps_obeyed = {
    .id = "cnps_obeyed",
    .title = "A sender slows down for the congestion notifications it receives",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A sender that ignores them takes the bandwidth of those who obey, and fills the queue "
        "until PFC stops everybody.",
    .source = "kernel hw/mlx5/counters.c (rp_cnp_ignored, rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .fix = "Turn the reaction point on for the data priority",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
