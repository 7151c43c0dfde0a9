// ECN of RoCE on its data priority, for the rules on its two ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

// The eight switches of one end: roce_np, which answers marks with CNPs, or roce_rp, which slows
// down for CNPs.
using EcnSwitches = const google::protobuf::RepeatedField<bool>& (*)(const v1::CongestionControl&);

// The switch of the port's data priority; nothing where the driver has none, where the data
// priority is not known, and under a profile that wants no ECN: there it does no harm.
std::optional<Value> EcnSwitch(const fleet::PortView& port, EcnSwitches switches);
// On where a profile wants ECN.
std::optional<Value> ExpectedEcn(const v1::Expectations& expected);

// `end`: "roce_np" or "roce_rp"
std::vector<v1::Remedy> SetEcn(const fleet::PortView& port, const char* end, bool on);

}  // namespace fabric::rules
