#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

template <char Which>
constexpr std::string_view kSysctl = Which == 'n' ? "kernel.numa_balancing" : "net.ipv4.tcp_ecn";

bool HasAmdGpu(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.driver() == "amdgpu"; });
}

template <char Which>
std::optional<Value> Setting(const Member& member) {
  if (member.node->ports.empty()) return {};
  const v1::NodeSnapshot& snapshot = member.snapshot();
  if (Which == 'n' && HasAmdGpu(snapshot)) return {};  // numa_balancing_off
  for (const v1::Sysctl& sysctl : snapshot.host().sysctls())
    if (sysctl.name() == kSysctl<Which>) return Value{.text = sysctl.value()};
  return {};
}

template <char Which>
std::string Source(const Member&) {
  return Which == 'n' ? "proc/sys/kernel/numa_balancing" : "proc/sys/net/ipv4/tcp_ecn";
}

template <char Which>
std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("sysctl -w {}={}", kSysctl<Which>, expected.text),
                    .note = "Also in /etc/sysctl.d, or a reboot undoes it."})};
}

template <char Which>
constexpr EqualityRule Of() {
  return {.what = kSysctl<Which>,
          .key = kSysctl<Which>,
          .of_nodes = true,
          .group = ByProduct,
          .value = Setting<Which>,
          .show = ShowText,
          .source = Source<Which>,
          .remedies = Remedies<Which>};
}

constexpr EqualityRule kEqualityRules[] = {Of<'n'>(), Of<'e'>()};

}  // namespace

extern const Rule sysctls_equal = {
    .id = "sysctls_equal",
    .title = "Nodes of one product have the same kernel.numa_balancing and net.ipv4.tcp_ecn",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "NUMA balancing moves pages under running jobs, and ECN of TCP decides how storage and "
        "iWARP traffic answers congestion: a node that differs was set up in another way. The "
        "settings of ARP are judged by other rules.",
    .source =
        "kernel Documentation/admin-guide/sysctl/kernel.rst; "
        "Documentation/networking/ip-sysctl.rst",
    .needs = {Input::kHostLimits},
    .fix = "sysctl -w NAME=VALUE, and the same in /etc/sysctl.d",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
