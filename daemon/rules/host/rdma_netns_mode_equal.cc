#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Mode(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_rdma_netns_mode()) return {};
  return Value{static_cast<std::uint64_t>(host.rdma_netns_mode())};
}

std::string Show(const Value& value) {
  return value.number == v1::RDMA_NETNS_MODE_EXCLUSIVE ? "exclusive" : "shared";
}

std::string Source(const Member&) {
  return "sys/module/ib_core/parameters/netns_mode";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("rdma system set netns {}", Show(expected)),
                    .note = "Refused while containers have network namespaces of their own. "
                            "Lasting: 'options ib_core netns_mode=1' (shared; 0: exclusive) in "
                            "/etc/modprobe.d."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "RDMA network namespace mode",
                                            .of_nodes = true,
                                            .group = ByProduct,
                                            .value = Mode,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule rdma_netns_mode_equal = {
    .id = "rdma_netns_mode_equal",
    .title = "Nodes of one product treat RDMA devices alike in network namespaces",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "In exclusive mode a container sees only devices that were moved into it, in shared mode "
        "all: the same job then finds devices on one node and none on another.",
    .source = "man 8 rdma-system; kernel drivers/infiniband/core/device.c (netns_mode)",
    .needs = {Input::kRdmaDevices},
    .fix = "rdma system set netns shared|exclusive",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
