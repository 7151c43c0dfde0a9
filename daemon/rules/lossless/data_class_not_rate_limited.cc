#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The rate limit below the speed of the port on the class of RoCE data. When the class is not
// known: the highest limit, if all classes have one. 0: none.
std::uint64_t LimitOf(const PortView& port, const v1::DcbConfig& dcb, std::uint64_t speed) {
  const auto is_limit = [&](std::uint64_t rate) { return rate > 0 && rate < speed; };
  const auto priority = DataPriority(port);
  const auto traffic_class = priority ? ClassOf(dcb.ets(), *priority) : std::nullopt;
  if (traffic_class) {
    if (*traffic_class >= static_cast<std::uint32_t>(dcb.max_rate_bps_size())) return 0;
    const std::uint64_t rate = dcb.max_rate_bps(static_cast<int>(*traffic_class));
    return is_limit(rate) ? rate : 0;
  }
  std::uint64_t highest = 0;
  for (const std::uint64_t rate : dcb.max_rate_bps()) {
    if (!is_limit(rate)) return 0;
    highest = std::max(highest, rate);
  }
  return highest;
}

// "dcb maxrate set dev rail0 tc-maxrate 3:25000000000bit"
std::string FormerLimits(const PortView& port, const v1::DcbConfig& dcb) {
  std::string limits;
  for (int i = 0; i < dcb.max_rate_bps_size(); ++i)
    if (dcb.max_rate_bps(i) > 0) limits += Format(" {}:{}bit", i, dcb.max_rate_bps(i));
  return Format("dcb maxrate set dev {} tc-maxrate{}", WireName(port), limits);
}

void JudgePort(const PortView& port, const v1::DcbConfig& dcb, std::uint64_t speed, Verdicts& out) {
  const std::uint64_t limit = LimitOf(port, dcb, speed);
  if (limit == 0) return out.Pass();
  FailOn(port,
         {.what = "rate limit of RoCE data",
          .expected = "none",
          .seen = BitRate(static_cast<double>(limit)),
          .source = QosSource(port),
          .basis = "the port runs at " + BitRate(static_cast<double>(speed))},
         WithMlnxQos(
             port,
             Change({.command = Format("dcb maxrate set dev {} tc-maxrate all:0", WireName(port)),
                     .affects = v1::REMEDY_REACH_PORT,
                     .interrupts = kInterruptsNothing,
                     .lasts = UntilReboot(kInBootUnit),
                     .undo = FormerLimits(port, dcb),
                     .note = "Removes the limits of all classes."}),
             "--ratelimit 0,0,0,0,0,0,0,0"),
         out);
}

void EvaluateRateLimit(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb == nullptr || dcb->max_rate_bps().empty() || !port.wire->has_speed_bps()) return;
    JudgePort(port, *dcb, port.wire->speed_bps(), out);
  });
}

}  // namespace

extern const Rule data_class_not_rate_limited = {
    .id = "data_class_not_rate_limited",
    .title = "The traffic class of RoCE data has no rate limit below the speed of the port",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A rate limit per class is easily forgotten after a test and is hard to see: the link "
        "reports 400 Gb/s, no error counter increases, and the job gets only the limited rate.",
    .source = "kernel include/uapi/linux/dcbnl.h (struct ieee_maxrate); dcb-maxrate(8)",
    .needs = {Input::kDcb, Input::kNetInterfaces},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kMaxRates, .applies = IsRoceInUse}},
    .fix = "dcb maxrate set dev NETDEV tc-maxrate all:0",
    .evaluate_node = EvaluateRateLimit,
};

}  // namespace fabric::rules
