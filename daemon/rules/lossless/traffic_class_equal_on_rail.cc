#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kNotSet = 256;  // More than any ToS byte

// Where neither the override nor anything beside it was read, whether it is set is not known.
std::optional<Value> TrafficClass(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || !port.port->has_roce_defaults()) return {};
  const v1::RoceDefaults& defaults = port.port->roce_defaults();
  return Value{defaults.has_traffic_class() ? defaults.traffic_class() : kNotSet};
}

std::string Show(const Value& value) {
  return value.number == kNotSet ? "not set" : Format("{}", value.number);
}

std::string Path(const Member& member) {
  const PortView& port = *member.port;
  return Format("sys/class/infiniband/{0}/tc/{1}/traffic_class", port.device->name(),
                port.port->number());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const std::string value = expected.number == kNotSet ? "-1" : Format("{}", expected.number);
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("cd / && echo tclass={} > {}", value, Path(member)),
                    .note = "MLNX_OFED's file; lost at reboot unless a script sets it."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "traffic class override",
     .value = TrafficClass,
     .expected = NumberOf<&v1::Expectations::has_traffic_class, &v1::Expectations::traffic_class>,
     .show = Show,
     .source = Path,
     .remedies = Remedies}};

}  // namespace

extern const Rule traffic_class_equal_on_rail = {
    .id = "traffic_class_equal_on_rail",
    .title = "MLNX_OFED's traffic class override is that of the profile, else the same on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The override decides the DSCP of everything that RoCE sends from the port, whatever the "
        "application asks for. Where it is missing on one node, what that node sends, "
        "acknowledgements to others included, rides in another priority than the rest.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kTrafficClassFieldNumber},
    .fix = "write tclass=106 to sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
