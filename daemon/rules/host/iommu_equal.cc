#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// The first fabric card of the host with a known type of IOMMU domain. Guests use those with vfio.
const v1::PciFunction* FirstCard(const fleet::NodeView& node) {
  for (const fleet::PortView& port : node.ports)
    if (port.rail && port.function != nullptr && port.function->has_iommu_type() &&
        !port.function->driver().starts_with("vfio"))
      return port.function;
  return nullptr;
}

// iommu_passes_through judges nodes with GPUs on bare metal, and those with a value in a profile.
bool IsCompared(const Member& node) {
  if (node.expectation().values.has_iommu_type() || node.node->ports.empty()) return false;
  return !HasGpuInUse(node.snapshot()) || IsVirtualMachine(node.snapshot());
}

std::optional<Value> Translates(const Member& node) {
  const v1::PciFunction* const card = IsCompared(node) ? FirstCard(*node.node) : nullptr;
  if (card == nullptr) return {};
  return Value{IsTranslated(*card) ? 1U : 0U};
}

std::string ShowMode(const Value& value) {
  return value.number != 0 ? "translates (DMA)" : "passes through (identity)";
}

std::string GroupFile(const Member& node) {
  const v1::PciFunction* const card = FirstCard(*node.node);
  return card == nullptr ? "sys/kernel/iommu_groups"
                         : Format("sys/kernel/iommu_groups/{}/type", card->iommu_group());
}

std::vector<v1::Remedy> SetMode(const Member& node, const Value& expected) {
  const std::string_view parameter = PassthroughParameter(node.snapshot());
  if (expected.number != 0) return {RemoveKernelParameters(node.snapshot(), parameter, {})};
  return {AddKernelParameters(node.snapshot(), parameter,
                              "Compare the IOMMU settings of the BIOS with those of another node "
                              "first.")};
}

constexpr EqualityRule kModes[] = {{.what = "IOMMU of RDMA cards",
                                    .of_nodes = true,
                                    .group = ByProduct,
                                    .value = Translates,
                                    .show = ShowMode,
                                    .source = GroupFile,
                                    .remedies = SetMode}};

}  // namespace

extern const Rule iommu_equal = {
    .id = "iommu_equal",
    .title = "The IOMMU translates the accesses of RDMA cards on all equal nodes, or on none",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "With translation, every access of a card needs a lookup: registration of memory and small "
        "messages are slower. A node that differs has another BIOS setting or other kernel "
        "parameters than its equals.",
    .source = "kernel Documentation/ABI/testing/sysfs-kernel-iommu_groups",
    .needs = {Input::kPciFunctions},
    .profile = {v1::Expectations::kIommuTypeFieldNumber},
    .reads = {{.field = Field::kIommuType, .applies = IsCompared}},
    .fix = "The kernel parameters and BIOS settings of the equal nodes",
    .equality_rules = kModes,
};

}  // namespace fabric::rules
