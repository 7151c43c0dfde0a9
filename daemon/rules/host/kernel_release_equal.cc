#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Release(const Member& member) {
  const std::string& release = member.snapshot().node().kernel_release();
  if (member.node->ports.empty() || release.empty()) return {};
  return Value{.text = release};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_kernel_release()) return {};
  return Value{.text = expected.kernel_release()};
}

std::string Source(const Member&) {
  return "proc/sys/kernel/osrelease";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("uname -r  # expected {}", expected.text),
                    .interrupts_traffic = true,
                    .note = "Install the kernel of the others (or their image) and reboot; where "
                            "it is installed, a reboot is due or the boot entry is pinned."})};
}

// A node of another image differs in its distribution too: the same cause.
void More(const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
  const v1::HostFacts& host = member.snapshot().host();
  const v1::HostFacts& usual = good.snapshot().host();
  if (!host.has_distribution() || !usual.has_distribution() ||
      host.distribution() == usual.distribution())
    return;
  evidence.push_back(ToEvidence(*member.node->node, {.what = "distribution",
                                                     .expected = usual.distribution(),
                                                     .seen = host.distribution(),
                                                     .source = "etc/os-release",
                                                     .basis = good.node->node->name}));
}

constexpr EqualityRule kEqualityRules[] = {{.what = "kernel release",
                                            .of_nodes = true,
                                            .group = ByProduct,
                                            .value = Release,
                                            .expected = Expected,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies,
                                            .more = More}};

}  // namespace

extern const Rule kernel_release_equal = {
    .id = "kernel_release_equal",
    .title = "Nodes of one product run one kernel",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Drivers, defaults and counters change with the kernel: one node with another behaves "
        "differently under load, and findings of it cannot be compared. It comes from an update "
        "that did not reach it, or from a reboot that is due.",
    .source = "Documentation/ABI/stable/syscalls; uname(2)",
    .needs = {Input::kHostIdentity, Input::kHostFacts},
    .profile = {v1::Expectations::kKernelReleaseFieldNumber},
    .fix = "install the same kernel and reboot",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
