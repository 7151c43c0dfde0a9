#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Parameters of PCI, IOMMU and memory; one bit each.
constexpr std::string_view kWords[] = {"intel_iommu=on",
                                       "intel_iommu=off",
                                       "amd_iommu=on",
                                       "amd_iommu=off",
                                       "iommu=pt",
                                       "iommu=off",
                                       "iommu=on",
                                       "iommu=soft",
                                       "iommu.passthrough=1",
                                       "iommu.passthrough=0",
                                       "iommu.strict=0",
                                       "iommu.strict=1",
                                       "pcie_aspm=off",
                                       "pcie_aspm=force",
                                       "pcie_aspm.policy=performance",
                                       "pcie_acs_override=downstream",
                                       "pcie_acs_override=downstream,multifunction",
                                       "numa_balancing=disable",
                                       "numa_balancing=enable"};
// Of pci=a,b,c.
constexpr std::string_view kPciOptions[] = {
    "realloc",           "realloc=off",   "realloc=on",
    "pcie_bus_perf",     "pcie_bus_safe", "pcie_bus_peer2peer",
    "pcie_bus_tune_off", "noats",         "nocrs",
    "nommconf",          "noaer",         "assign-busses",
    "disable_acs_redir", "config_acs"};
static_assert(std::size(kWords) + std::size(kPciOptions) <= 64);

std::uint64_t OptionsOf(std::string_view options) {
  std::uint64_t mask = 0;
  for (const std::string_view option : Split(options, ',')) {
    for (std::size_t i = 0; i < std::size(kPciOptions); ++i) {
      const std::string_view known = kPciOptions[i];
      // The devices that the last two name may differ.
      const bool named = known.find("acs") != std::string_view::npos && option.starts_with(known) &&
                         option.size() > known.size();
      if (option == known || named) mask |= std::uint64_t{1} << (std::size(kWords) + i);
    }
  }
  return mask;
}

std::optional<Value> Parameters(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_kernel_command_line()) return {};
  std::uint64_t mask = 0;
  for (const std::string_view word : Words(host.kernel_command_line())) {
    constexpr std::string_view kPci = "pci=";
    if (word.starts_with(kPci)) mask |= OptionsOf(word.substr(kPci.size()));
    for (std::size_t i = 0; i < std::size(kWords); ++i)
      if (word == kWords[i]) mask |= std::uint64_t{1} << i;
  }
  return Value{mask};
}

// Leaves out nodes that iommu_passes_through reports: with GPUs and an IOMMU that translates.
std::optional<Group> ByProductWithoutIommuFault(const Member& node) {
  if (HasGpuInUse(node.snapshot()) && !IsVirtualMachine(node.snapshot()))
    for (const v1::PciFunction& function : node.snapshot().pci_functions())
      if (IsTranslated(function)) return {};
  return ByProduct(node);
}

std::string Show(const Value& value) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::size(kWords) + std::size(kPciOptions); ++i) {
    if ((value.number >> i & 1) == 0) continue;
    words.push_back(i < std::size(kWords) ? std::string(kWords[i])
                                          : Format("pci={}", kPciOptions[i - std::size(kWords)]));
  }
  return words.empty() ? "none" : Join(words, " ");
}

std::vector<v1::Remedy> SetParameters(const Member& member, const Value& expected) {
  const std::uint64_t seen = Parameters(member).value_or(Value()).number;
  const Value missing = {.number = expected.number & ~seen};
  const Value extra = {.number = seen & ~expected.number};
  std::vector<v1::Remedy> remedies;
  if (missing.number != 0)
    remedies.push_back(AddKernelParameters(member.snapshot(), Show(missing),
                                           Format("Expected in all: {}.", Show(expected))));
  if (extra.number != 0)
    remedies.push_back(RemoveKernelParameters(member.snapshot(), Show(extra),
                                              Format("Expected in all: {}.", Show(expected))));
  return remedies;
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "kernel parameters of PCI and IOMMU",
     .of_nodes = true,
     .group = ByProductWithoutIommuFault,
     .value = Parameters,
     .show = Show,
     .source = [](const Member&) { return std::string("proc/cmdline"); },
     .remedies = SetParameters}};

}  // namespace

extern const Rule kernel_command_line_equal = {
    .id = "kernel_command_line_equal",
    .title = "Nodes of one product boot with the same PCI and IOMMU parameters",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Parameters such as iommu=pt and pci=pcie_bus_perf decide how fast RDMA and GPUs reach "
        "memory. A node that was installed or updated separately lacks them, and is slower than "
        "its peers.",
    .source = "kernel Documentation/admin-guide/kernel-parameters.txt",
    .needs = {Input::kHostFacts},
    .reads = {{.field = Field::kCommandLine}},
    .fix = "the same kernel command line on all nodes",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
