#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>

#include "base/text.h"
#include "daemon/rules/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// How many pairs of GPU and fabric NIC are PIX, PXB, PHB, NODE, SYS apart: the same in machines
// that are built alike, whatever their devices and buses are called.
using Pairs = std::array<std::uint32_t, 5>;

std::optional<Pairs> PairsOf(const fleet::NodeView& node, std::uint64_t fabric) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& devices = snapshot.rdma_devices();
  Pairs pairs{};
  int at = 0;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    // They come in the order of the devices, as a rule.
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

std::string Show(const Pairs& pairs) {
  constexpr std::string_view kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  std::vector<std::string> words;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i] > 0) words.push_back(Format("{} {}", pairs[i], kNames[i]));
  return Join(words, ", ");
}

// Only machines with as many GPUs and NICs: those that lack one are another rule's.
using Like = std::tuple<std::string_view, int, int>;
using Camps = std::map<Pairs, std::vector<const fleet::NodeView*>>;

void JudgeGroup(const Like& like, const Camps& camps, Verdicts& out) {
  const Pairs* usual = nullptr;
  std::size_t most = 0;
  std::size_t nodes = 0;
  for (const auto& [pairs, members] : camps) {
    nodes += members.size();
    if (members.size() > most) usual = &pairs;
    most = std::max(most, members.size());
  }
  for (const auto& [pairs, members] : camps) {
    for (const fleet::NodeView* node : members) {
      if (2 * most <= nodes || pairs == *usual) {  // Without a majority nobody is blamed.
        out.Pass();
        continue;
      }
      const std::string basis = Format("{} of {} nodes with {}", most, nodes, std::get<0>(like));
      out.Fail(SubjectOf(*node),
               Format("distances of GPUs and NICs are {}, expected {} ({})", Show(pairs),
                      Show(*usual), basis),
               {ToEvidence(*node->node, {.what = "pairs of GPU and NIC by distance",
                                         .expected = Show(*usual),
                                         .seen = Show(pairs),
                                         .source = "gpu_nic_paths",
                                         .basis = basis})},
               {ToRemedy({.command = "nvidia-smi topo -m; lspci -tv",
                          .note = "Beside those of an equal node: a card in another slot, a PCIe "
                                  "switch that is missing, or another BIOS setting (NPS, SNC)."})});
    }
  }
}

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  std::map<Like, Camps> groups;
  for (const fleet::NodeView& node : fleet.nodes()) {
    const v1::NodeSnapshot& snapshot = node.node->snapshot;
    if (snapshot.gpu_nic_paths().empty() || snapshot.host().product().empty()) continue;
    const std::uint64_t fabric = FabricDevices(node);
    if (fabric == 0) continue;
    if (const auto pairs = PairsOf(node, fabric))
      groups[{snapshot.host().product(), snapshot.gpus_size(), std::popcount(fabric)}][*pairs]
          .push_back(&node);
  }
  for (const auto& [like, camps] : groups) JudgeGroup(like, camps, out);
}

}  // namespace

extern const Rule pci_topology_equal = {
    .id = "pci_topology_equal",
    .title = "In machines of one product GPUs and NICs are equally far from each other",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL pairs GPUs with NICs by distance. A node with a card in another slot, without one "
        "of its PCIe switches, or with another setting of NUMA takes other ways than its equals, "
        "and slows the jobs that it takes part in.",
    .source = "NCCL src/graph/paths.cc; nvidia-smi topo -m",
    .family = "uniformity",
    .needs = "gpu_nic_paths, host_facts",
    .fix = "compare with an equal node: slots, PCIe switches, BIOS",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
