#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

struct SysctlName {
  std::string_view name;
  std::string_view file;
};
constexpr SysctlName kNumaBalancing = {"kernel.numa_balancing", "proc/sys/kernel/numa_balancing"};
constexpr SysctlName kTcpEcn = {"net.ipv4.tcp_ecn", "proc/sys/net/ipv4/tcp_ecn"};

// nullptr if it was not read.
const v1::Sysctl* Find(const v1::NodeSnapshot& snapshot, const SysctlName& sysctl) {
  for (const v1::Sysctl& read : snapshot.host().sysctls())
    if (read.name() == sysctl.name) return &read;
  return nullptr;
}

bool HasAmdGpu(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.driver() == "amdgpu"; });
}

// The memory of the GPUs of these machines is a NUMA node of the kernel.
bool IsGrace(const v1::NodeSnapshot& snapshot) {
  if (!IsArm(snapshot)) return false;
  const std::string_view texts[] = {snapshot.host().product(), snapshot.host().cpu_model()};
  // Only Grace has Neoverse-V2 cores and GPUs of NVIDIA.
  const bool nvidia = std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                                  [](const v1::Gpu& gpu) { return gpu.driver() == "nvidia"; });
  if (nvidia && snapshot.host().cpu_model() == "Neoverse-V2") return true;
  constexpr std::string_view kNames[] = {"Grace", "GH200", "GB200", "GB300"};
  for (const std::string_view text : texts)
    for (const std::string_view name : kNames)
      if (text.find(name) != std::string_view::npos) return true;
  return false;
}

// Whose guide requires NUMA balancing to be off. Empty: none; recommendations for others differ.
std::string_view NumaBalancingGuide(const v1::NodeSnapshot& snapshot) {
  if (HasAmdGpu(snapshot)) return "AMD Instinct system optimization guide";
  return IsGrace(snapshot) ? "NVIDIA Grace performance tuning guide" : "";
}

// sysctls_equal

template <const SysctlName& kSysctl>
std::optional<Value> Setting(const Member& member) {
  if (member.node->ports.empty()) return {};
  // numa_balancing_off judges it there.
  if (kSysctl.name == kNumaBalancing.name && !NumaBalancingGuide(member.snapshot()).empty())
    return {};
  const v1::Sysctl* const sysctl = Find(member.snapshot(), kSysctl);
  return sysctl != nullptr ? std::optional(Value{.text = sysctl->value()}) : std::nullopt;
}

template <const SysctlName& kSysctl>
constexpr EqualityRule Equal() {
  return {.what = kSysctl.name,
          .key = kSysctl.name,
          .of_nodes = true,
          .group = ByProduct,
          .value = Setting<kSysctl>,
          .show = ShowText,
          .source = [](const Member&) { return std::string(kSysctl.file); },
          .remedies = [](const Member& member, const Value& expected) -> std::vector<v1::Remedy> {
            const Value seen = Setting<kSysctl>(member).value_or(Value());
            return {SetSysctl(Format("{}={}", kSysctl.name, expected.text),
                              Format("{}={}", kSysctl.name, seen.text))};
          }};
}

constexpr EqualityRule kEqual[] = {Equal<kNumaBalancing>(), Equal<kTcpEcn>()};

// numa_balancing_off

void JudgeNumaBalancing(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const std::string_view guide = NumaBalancingGuide(snapshot);
  if (node.ports.empty() || snapshot.host().numa_nodes() < 2 || guide.empty()) return;
  const v1::Sysctl* const found = Find(snapshot, kNumaBalancing);
  if (found == nullptr) return;
  if (found->value() == "0") return out.Pass();
  out.Fail(SubjectOf(node),
           Format("{} is {}, expected 0 {}", found->name(), found->value(),
                  HasAmdGpu(snapshot) ? "with AMD GPUs" : "on NVIDIA Grace"),
           {ToEvidence(*node.node, {.what = found->name(),
                                    .expected = "0",
                                    .seen = found->value(),
                                    .source = std::string(kNumaBalancing.file),
                                    .basis = std::string(guide)})},
           {SetSysctl("kernel.numa_balancing=0", Format("{}={}", found->name(), found->value()))});
}

}  // namespace

extern const Rule sysctls_equal = {
    .id = "sysctls_equal",
    .title = "Nodes of one product have the same kernel.numa_balancing and net.ipv4.tcp_ecn",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "NUMA balancing moves pages of running jobs, and ECN of TCP decides how storage and iWARP "
        "traffic reacts to congestion. A node that differs is configured differently. Other rules "
        "check ARP settings.",
    .source =
        "kernel Documentation/admin-guide/sysctl/kernel.rst; "
        "Documentation/networking/ip-sysctl.rst",
    .needs = {Input::kHostLimits},
    .reads = {{.field = Field::kSysctls}},
    .fix = "sysctl -w NAME=VALUE, and the same in /etc/sysctl.d",
    .equality_rules = kEqual,
};

extern const Rule numa_balancing_off = {
    .id = "numa_balancing_off",
    .title = "Automatic NUMA balancing is off on AMD GPUs and NVIDIA Grace with several NUMA nodes",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "The kernel unmaps pages from time to time to find their users, and each time the "
        "mappings of the GPU are created again. Collectives stall.",
    .source =
        "AMD Instinct system optimization guide; NVIDIA Grace performance tuning guide; kernel "
        "Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
    .needs = {Input::kHostLimits},
    .reads = {{.field = Field::kSysctls, .applies = HasGpusInUse}},
    .fix = "sysctl -w kernel.numa_balancing=0",
    .evaluate_node = JudgeNumaBalancing,
};

}  // namespace fabric::rules
