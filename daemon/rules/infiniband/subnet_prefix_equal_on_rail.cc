#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Prefix(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || !port.port->has_subnet_prefix()) return {};
  return Value{.text = port.port->subnet_prefix()};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_subnet_prefix()) return {};
  return Value{.text = expected.subnet_prefix()};
}

std::string Source(const Member& member) {
  return PortFile(*member.port, "gids/0");
}

std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  std::string digits;
  for (const char c : expected.text)
    if (c != ':') digits += c;
  return {ToRemedy({.command = Format("subnet_prefix 0x{}", digits),
                    .interrupts_traffic = true,
                    .note = "In opensm.conf of the port's subnet, when it is meant to be the same "
                            "subnet; else the port is plugged into another fabric."}),
          ToRemedy({.command = "iblinkinfo -l", .note = "Shows where the port is plugged in."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "subnet prefix",
                                            .value = Prefix,
                                            .expected = Expected,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule subnet_prefix_equal_on_rail = {
    .id = "subnet_prefix_equal_on_rail",
    .title = "All InfiniBand ports of a rail have the same subnet prefix",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports with different prefixes are in different subnets: libraries use addresses with a "
        "router in between that is not there, or refuse to connect. It comes from a cable in the "
        "wrong switch, or from a subnet manager with another configuration.",
    .source = "InfiniBand specification, GID; NCCL's choice of LID or GID routing in net_ib",
    .needs = {Input::kGids},
    .profile = {v1::Expectations::kSubnetPrefixFieldNumber},
    .fix = "subnet_prefix in opensm.conf, or the cable",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
