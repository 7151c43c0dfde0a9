#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

// Of Ethernet ports: that they should be InfiniBand is link_layer_equal_on_rail's finding.
std::optional<Value> Protocol(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) return {};
  if (port.expected().protocol() == v1::PROTOCOL_INFINIBAND) return {};
  const v1::Protocol protocol = port.device->protocol();
  if (protocol != v1::PROTOCOL_ROCE && protocol != v1::PROTOCOL_IWARP) return {};
  return Value{static_cast<std::uint64_t>(protocol)};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_protocol()) return {};
  return Value{static_cast<std::uint64_t>(expected.protocol())};
}

std::string Show(const Value& value) {
  return std::string(Name(static_cast<v1::Protocol>(value.number)));
}

std::string Source(const Member& member) {
  return Format("sys/class/infiniband/{}/node_type", member.port->device->name());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const v1::RdmaDevice& device = *member.port->device;
  const bool roce = expected.number == v1::PROTOCOL_ROCE;
  return {ToRemedy({.platform = "ice",
                    .command = Format("devlink dev param set pci/{0} name {1} value false cmode "
                                      "runtime && devlink dev param set pci/{0} name {2} value "
                                      "true cmode runtime",
                                      device.pci_address(), roce ? "enable_iwarp" : "enable_roce",
                                      roce ? "enable_roce" : "enable_iwarp"),
                    .interrupts_traffic = true,
                    .note = "The RDMA device goes and comes back. With Intel's own irdma driver "
                            "also by its module parameter roce_ena."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "RDMA protocol",
                                            .group = ByRailAndModel,
                                            .value = Protocol,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule protocol_equal_on_rail = {
    .id = "protocol_equal_on_rail",
    .title = "Ports of one model on a rail speak the same protocol: RoCE or iWARP",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "iWARP runs over TCP and RoCE over UDP: the two cannot talk to each other, though both "
        "show as Ethernet. Cards that do both start with one of them, by driver and version; NCCL "
        "and UCX need RoCE.",
    .source = "kernel Documentation/networking/devlink/ice.rst (enable_roce, enable_iwarp)",
    .needs = {Input::kRdmaDevices},
    .profile = {v1::Expectations::kProtocolFieldNumber},
    .fix = "devlink dev param set pci/ADDRESS name enable_roce value true cmode runtime",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
