#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

std::optional<Value> Layer(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.port->link_layer() == v1::LINK_LAYER_UNSPECIFIED) return {};
  return Value{static_cast<std::uint64_t>(port.port->link_layer())};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  switch (expected.protocol()) {
    case v1::PROTOCOL_INFINIBAND: return Value{v1::LINK_LAYER_INFINIBAND};
    case v1::PROTOCOL_ROCE:
    case v1::PROTOCOL_IWARP: return Value{v1::LINK_LAYER_ETHERNET};
    default: return {};
  }
}

std::string Show(const Value& value) {
  return std::string(Name(static_cast<v1::LinkLayer>(value.number)));
}

std::string Source(const Member& member) {
  return PortFile(*member.port, "link_layer");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const v1::RdmaDevice& device = *member.port->device;
  return {
      ToRemedy({.platform = "mlx5",
                .command = Format("mlxconfig -d {} set LINK_TYPE_P{}={}", device.pci_address(),
                                  member.port->port->number(), expected.number),
                .interrupts_traffic = true,
                .note = "1 is InfiniBand, 2 is Ethernet; it takes effect with the next reset. A "
                        "card of another network is kept out of jobs by NCCL_IB_HCA, and out "
                        "of this by `unused` in the profile."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "link layer",
                                            .group = ByRailOfKnownProduct,
                                            .value = Layer,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule link_layer_equal_on_rail = {
    .id = "link_layer_equal_on_rail",
    .title = "A rail is InfiniBand or Ethernet, the same on machines of one product",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A card that can be both and came up as the other one reaches nobody. Libraries that take "
        "all cards they find, as NCCL does, fail with 'Invalid argument' when InfiniBand and "
        "Ethernet are mixed.",
    .source = "NVIDIA firmware tools, LINK_TYPE_P1; kernel ABI document sysfs-class-infiniband",
    .needs = {Input::kRdmaPorts, Input::kHostFacts},
    .profile = {v1::Expectations::kProtocolFieldNumber},
    .fix = "mlxconfig -d DEVICE set LINK_TYPE_P1=1 (InfiniBand) or 2 (Ethernet)",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
