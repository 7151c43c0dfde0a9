#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Without a profile only which of the two it is: versions of drivers are another rule's.
std::optional<Value> Stack(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_rdma_stack()) return {};
  if (!member.expectation().values.has_rdma_stack_version())
    return Value{.number = static_cast<std::uint64_t>(host.rdma_stack())};
  if (host.rdma_stack() == v1::RDMA_STACK_INBOX) return Value{.text = "inbox"};
  if (!host.has_rdma_stack_version()) return {};
  return Value{.text = host.rdma_stack_version()};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_rdma_stack_version()) return {};
  return Value{.text = expected.rdma_stack_version()};
}

std::string Show(const Value& value) {
  if (!value.text.empty()) return std::string(value.text);
  return value.number == v1::RDMA_STACK_OFED ? "OFED (out of tree)" : "inbox (of the kernel)";
}

std::string Source(const Member&) {
  return "proc/modules";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "ofed_info -s; modinfo -F version mlx5_core",
                    .interrupts_traffic = true,
                    .note = "Install OFED as on the others, for the kernel that runs: after an "
                            "update of the kernel its modules have to be built again (dkms "
                            "status). Then /etc/init.d/openibd restart, or a reboot."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "RDMA stack",
                                            .of_nodes = true,
                                            .group = ByProduct,
                                            .value = Stack,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule rdma_stack_equal = {
    .id = "rdma_stack_equal",
    .title = "Nodes of one product have one RDMA stack, OFED or the kernel's own",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Where an update of the kernel left OFED's modules behind, the kernel's own are loaded "
        "and RDMA works, without peer memory, with other defaults and other settings in sysfs.",
    .source = "kernel Documentation/admin-guide/tainted-kernels.rst (out-of-tree modules)",
    .needs = {Input::kRdmaStack},
    .profile = {v1::Expectations::kRdmaStackVersionFieldNumber},
    .fix = "install OFED for the running kernel",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
