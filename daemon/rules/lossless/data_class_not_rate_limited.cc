#include <algorithm>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The lowest limit below the speed of the port on the class of RoCE data; on any class that is
// limited when the class is not known and all are. 0: none.
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

void JudgePort(const PortView& port, const v1::DcbConfig& dcb, std::uint64_t speed, Verdicts& out) {
  const std::uint64_t limit = LimitOf(port, dcb, speed);
  if (limit == 0) return out.Pass();
  FailOn(port,
         {.what = "rate limit of RoCE data",
          .expected = "none",
          .seen = BitRate(static_cast<double>(limit)),
          .source = QosSource(port),
          .basis = "the port runs at " + BitRate(static_cast<double>(speed))},
         WithMlnxQos(port,
                     {.command = Format("dcb maxrate set dev {} tc-maxrate all:0", WireName(port))},
                     "--ratelimit 0,0,0,0,0,0,0,0"),
         out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    const v1::NetInterface* const wire = WireOf(port);
    if (dcb == nullptr || dcb->max_rate_bps().empty() || !wire->has_speed_bps()) return;
    JudgePort(port, *dcb, wire->speed_bps(), out);
  });
}

}  // namespace

extern const Rule data_class_not_rate_limited = {
    .id = "data_class_not_rate_limited",
    .title = "No rate limit holds the traffic class of RoCE data below the speed of the port",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A limit per class is set once for a test and shows nowhere: the link says 400 Gb/s, no "
        "counter moves, and the job gets what the limit leaves.",
    .source = "kernel include/uapi/linux/dcbnl.h (struct ieee_maxrate); dcb-maxrate(8)",
    .needs = {Input::kDcb, Input::kNetInterfaces},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb maxrate set dev NETDEV tc-maxrate all:0",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
