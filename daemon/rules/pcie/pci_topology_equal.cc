#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Numbers of pairs of GPU and fabric NIC with distance PIX, PXB, PHB, NODE, SYS. Equal in nodes
// with the same hardware, independent of the names of devices and buses.
using Pairs = std::array<std::uint32_t, 5>;

std::optional<Pairs> PairsOf(const fleet::NodeView& node, std::uint64_t fabric) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& devices = snapshot.rdma_devices();
  Pairs pairs{};
  int at = 0;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    // Usually in the order of the devices.
    for (int tries = 0; tries < devices.size(); ++tries, ++at) {
      at = at >= devices.size() ? 0 : at;
      if (devices[at].name() == path.device()) break;
    }
    const bool counts = at < 64 && (fabric >> at & 1) != 0;
    ++at;
    if (!counts) continue;
    const int distance = path.distance();
    if (distance < v1::PCI_DISTANCE_PIX || distance > v1::PCI_DISTANCE_SYS) return {};
    ++pairs[static_cast<std::size_t>(distance - v1::PCI_DISTANCE_PIX)];
  }
  return pairs;
}

constexpr unsigned kBits = 12;  // Of each count
constexpr std::uint64_t kMask = (1U << kBits) - 1;

std::string ShowTopology(const Value& value) {
  constexpr std::string_view kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  std::vector<std::string> words;
  for (unsigned i = 0; i < std::size(kNames); ++i)
    if (const std::uint64_t pairs = value.number >> (i * kBits) & kMask; pairs > 0)
      words.push_back(Format("{} {}", pairs, kNames[i]));
  return Join(words, ", ");
}

std::optional<Value> Distances(const Member& node) {
  if (node.snapshot().gpu_nic_paths().empty()) return {};
  const std::uint64_t fabric = FabricDevices(*node.node);
  if (fabric == 0) return {};
  const auto pairs = PairsOf(*node.node, fabric);
  if (!pairs) return {};
  Value value;
  for (unsigned i = 0; i < pairs->size(); ++i)
    value.number |= std::min<std::uint64_t>((*pairs)[i], kMask) << (i * kBits);
  return value;
}

// Only nodes with the same numbers of GPUs and NICs. A missing one is a finding of another rule.
std::optional<Group> ByProductAndCounts(const Member& node) {
  std::optional<Group> group = ByKnownProduct(node);
  if (group)
    group->part = static_cast<std::uint64_t>(node.snapshot().gpus_size()) << 32 |
                  static_cast<std::uint64_t>(std::popcount(FabricDevices(*node.node)));
  return group;
}

std::vector<v1::Remedy> TopologyRemedies(const Member& member, const Value&) {
  return {Query({.command = TopologyCommand(member.snapshot()),
                 .note = "Compare with an equal node. Possible causes: a card in another slot, "
                         "a missing PCIe switch, or another BIOS setting (NPS, SNC)."})};
}

constexpr EqualityRule kTopologyRules[] = {
    {.what = "distances of GPUs and NICs",
     .of_nodes = true,
     .group = ByProductAndCounts,
     .value = Distances,
     .show = ShowTopology,
     .source = [](const Member&) { return std::string("gpu_nic_paths"); },
     .remedies = TopologyRemedies,
     .needs_absolute_majority = true}};

}  // namespace

extern const Rule pci_topology_equal = {
    .id = "pci_topology_equal",
    .title = "In nodes of one product, GPUs and NICs have the same distances",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL pairs GPUs with NICs by distance. A node with a card in another slot, without one "
        "of its PCIe switches, or with another NUMA setting uses other paths than its peers, and "
        "slows its jobs.",
    .source = "NCCL src/graph/paths.cc; nvidia-smi topo -m",
    .needs = {Input::kGpuNicPaths, Input::kHostFacts},
    .reads = {{.field = Field::kGpuPaths, .applies = HasGpusInUse}},
    .fix = "compare with an equal node: slots, PCIe switches, BIOS",
    .equality_rules = kTopologyRules,
};

}  // namespace fabric::rules
