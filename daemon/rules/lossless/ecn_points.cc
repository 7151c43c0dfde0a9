#include "daemon/rules/lossless/ecn_points.h"

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace fabric::rules {

std::optional<Value> EcnSwitch(const fleet::PortView& port, EcnSwitches switches) {
  const v1::CongestionControl* const control = CongestionOf(port);
  const v1::Expectations& expected = port.expected();
  if (control == nullptr || (expected.has_ecn() && !expected.ecn())) return {};
  const auto& enabled = switches(*control);
  auto priority = DataPriority(port);
  // Whichever it is where all have the same. What is on beside PFC that is known to be off is
  // roce_mode_defined's business.
  const bool all_alike =
      std::adjacent_find(enabled.begin(), enabled.end(), std::not_equal_to<>()) == enabled.end();
  if (!priority && all_alike && !LosslessMask(port)) priority = 0;
  if (!priority || *priority >= static_cast<std::uint32_t>(enabled.size())) return {};
  return Value{enabled.Get(static_cast<int>(*priority)) ? 1U : 0U};
}

std::optional<Value> ExpectedEcn(const v1::Expectations& expected) {
  if (!expected.ecn()) return {};
  return Value{1};
}

std::vector<v1::Remedy> SetEcn(const fleet::PortView& port, const char* end, bool on) {
  return {
      ToRemedy({.platform = "mlx5",
                .command = Format("cd / && echo {} > sys/class/net/{}/ecn/{}/enable/{}", on ? 1 : 0,
                                  WireName(port), end, DataPriority(port).value_or(3)),
                .note = "MLNX_OFED's file; lost at reboot unless a script sets it."})};
}

}  // namespace fabric::rules
