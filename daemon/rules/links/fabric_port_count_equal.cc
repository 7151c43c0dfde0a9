#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool IsOfFabric(const fleet::PortView& port) {
  return port.rail.has_value();
}

// A card that carries NFS or the default route today is not missing from the fabric.
bool IsOfCard(const fleet::PortView& port) {
  const v1::FunctionClass& function = port.device->function();
  return IsOfFabric(port) || (function.kind() == v1::FUNCTION_KIND_PHYSICAL &&
                              (function.role() == v1::FUNCTION_ROLE_STORAGE ||
                               function.role() == v1::FUNCTION_ROLE_MANAGEMENT));
}

// A machine without any may be a head node: only a profile tells.
std::optional<Value> Count(const Member& member) {
  const auto& ports = member.node->ports;
  const bool by_profile = member.node->expected().has_fabric_ports();
  if (!by_profile && (ports.empty() || !ports[0].rail)) return {};
  return Value{static_cast<std::uint64_t>(
      std::count_if(ports.begin(), ports.end(), by_profile ? IsOfFabric : IsOfCard))};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_fabric_ports()) return {};
  return Value{expected.fabric_ports()};
}

std::string Source(const Member&) {
  return "sys/class/infiniband";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "lspci -d ::0200; lspci -d ::0207; rdma link",
                    .note = "A card that lspci does not show is dead or not seated; one without "
                            "RDMA device has no driver: dmesg says why."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "number of RDMA ports",
                                            .of_nodes = true,
                                            .group = ByKnownProduct,
                                            .value = Count,
                                            .expected = Expected,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule fabric_port_count_equal = {
    .id = "fabric_port_count_equal",
    .title = "Machines of one product have the same number of fabric ports, or the profile's",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A card that fell off the bus, or whose driver did not come up, leaves no port that could "
        "be down: it is missing. Jobs run slower on that node, or hang when NCCL finds different "
        "sets of cards on two nodes.",
    .source = "operating practice: health checks of GPU clouds count their cards",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .profile = {v1::Expectations::kFabricPortsFieldNumber},
    .fix = "lspci and dmesg on the node; reseat or replace the card",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
