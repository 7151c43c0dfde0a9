#include <algorithm>
#include <bit>
#include <map>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

// gpu_near_nic

struct Nearest {
  std::string_view gpu;
  const v1::GpuNicPath* path = nullptr;  // nullptr: a distance to a fabric NIC is unknown
};

std::string Show(v1::PciDistance distance) {
  switch (distance) {
    case v1::PCI_DISTANCE_PIX: return "PIX (one PCIe switch)";
    case v1::PCI_DISTANCE_PXB: return "PXB (several PCIe switches)";
    case v1::PCI_DISTANCE_PHB: return "PHB (host bridge)";
    case v1::PCI_DISTANCE_NODE: return "NODE (two host bridges)";
    case v1::PCI_DISTANCE_SYS: return "SYS (another NUMA node)";
    default: return "unknown";
  }
}

bool IsOfFabric(const v1::NodeSnapshot& snapshot, const v1::GpuNicPath& path, int guess,
                std::uint64_t fabric) {
  const auto& devices = snapshot.rdma_devices();
  int at = guess;
  if (at >= devices.size() || devices[at].name() != path.device())
    for (at = 0; at < devices.size() && devices[at].name() != path.device();) ++at;
  return at < devices.size() && at < 64 && (fabric >> at & 1) != 0;
}

std::vector<Nearest> NearestOf(const fleet::NodeView& node, std::uint64_t fabric) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::vector<Nearest> all;
  bool known = true;
  int index = 0;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    if (all.empty() || all.back().gpu != path.gpu()) {
      all.push_back({.gpu = path.gpu()});
      known = true;
      index = 0;
    }
    if (!IsOfFabric(snapshot, path, index++, fabric)) continue;
    const v1::GpuNicPath*& nearest = all.back().path;
    known = known && path.distance() != v1::PCI_DISTANCE_UNSPECIFIED;
    if (!known)
      nearest = nullptr;
    else if (nearest == nullptr || path.distance() < nearest->distance())
      nearest = &path;
  }
  std::erase_if(all, [&](const Nearest& each) {
    const auto& gpus = snapshot.gpus();
    return each.path == nullptr || std::none_of(gpus.begin(), gpus.end(), [&](const v1::Gpu& gpu) {
             return gpu.pci_address() == each.gpu && IsInUse(gpu);
           });
  });
  return all;
}

// The maximum distance; unspecified if it is unknown. Without a profile, that of the other GPUs: of
// more than half if there is a NIC for each GPU, else of three quarters.
struct DistanceLimit {
  v1::PciDistance distance = v1::PCI_DISTANCE_UNSPECIFIED;
  std::string basis;
};
DistanceLimit LimitOf(const fleet::NodeView& node, const std::vector<Nearest>& all,
                      std::uint64_t fabric) {
  if (node.expected().has_gpu_nic_distance_max())
    return {.distance = node.expected().gpu_nic_distance_max(),
            .basis = ProfileBasis(*node.expectation)};
  const bool one_each = static_cast<std::size_t>(std::popcount(fabric)) >= all.size();
  std::map<v1::PciDistance, std::size_t> counts;
  for (const Nearest& each : all) ++counts[each.path->distance()];
  for (const auto& [distance, count] : counts)
    if (count > 2 && (one_each ? 2 * count > all.size() : 4 * count >= 3 * all.size()))
      return {.distance = distance,
              .basis = Format("{} of {} GPUs in the node", count, all.size())};
  return {};
}

void JudgeDistances(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty() || node.node->snapshot.gpu_nic_paths().empty()) return;
  const std::uint64_t fabric = FabricDevices(node);
  const std::vector<Nearest> all = NearestOf(node, fabric);
  const DistanceLimit limit = LimitOf(node, all, fabric);
  if (limit.distance == v1::PCI_DISTANCE_UNSPECIFIED) return;
  for (const Nearest& each : all) {
    if (each.path->distance() <= limit.distance) {
      out.Pass();
      continue;
    }
    const std::string seen = Show(each.path->distance());
    out.Fail(
        SubjectOf(node),
        Format("nearest NIC of GPU {} is {} at {}, expected {} or nearer", each.gpu,
               each.path->device(), seen, Show(limit.distance)),
        {ToEvidence(*node.node, {.what = Format("distance of GPU {} to its nearest NIC", each.gpu),
                                 .expected = Show(limit.distance),
                                 .seen = seen,
                                 .source = "gpu_nic_paths",
                                 .basis = limit.basis})},
        {Query({.command = TopologyCommand(node.node->snapshot),
                .note = "NCCL uses GPUDirect up to PXB by default. Check for a missing NIC, or one "
                        "in another slot. If the distance is intended, set "
                        "NCCL_NET_GDR_LEVEL."})},
        each.gpu);
  }
}

// numa_node_known

// A capture may lack the files. If one of them was read, all were.
bool WereRead(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.captured()) return true;
  return std::any_of(snapshot.pci_functions().begin(), snapshot.pci_functions().end(),
                     [](const v1::PciFunction& function) { return function.has_numa_node(); });
}

bool IsJudged(const fleet::NodeView& node, const v1::PciFunction& function) {
  if (IsBridge(function) || function.driver().empty() || function.driver().starts_with("vfio"))
    return false;
  return OwnerOf(node, function).judged;
}

void JudgeNumaNodes(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.host().numa_nodes() < 2 || snapshot.gpus().empty() || node.ports.empty() ||
      snapshot.pci_functions().empty())
    return;
  std::vector<std::string> names;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (!function.has_numa_node() && IsJudged(node, function)) names.push_back(function.address());
  if (names.empty()) return out.Pass();
  if (!WereRead(snapshot)) return;
  out.Fail(SubjectOf(node),
           Format("NUMA node of {} GPU{} or NIC{} unknown, expected one of {}: {}", names.size(),
                  names.size() == 1 ? "" : "s", names.size() == 1 ? "" : "s",
                  snapshot.host().numa_nodes(), Listed(names)),
           {ToEvidence(*node.node, {.what = "NUMA node of " + ListedAll(names),
                                    .expected = Format("0 to {}", snapshot.host().numa_nodes() - 1),
                                    .seen = "-1",
                                    .source = PciFile(names[0], "numa_node"),
                                    .basis = Format("the node has {} NUMA nodes",
                                                    snapshot.host().numa_nodes())})},
           {Query({.command = Format("cat /{}", PciFile(names[0], "numa_node")),
                   .note = "The BIOS does not report it (ACPI _PXM). Update the BIOS, or enable "
                           "NUMA in it. In a virtual machine, give the guest the topology of "
                           "the host; until then, use NCCL_TOPO_FILE."})});
}

}  // namespace

extern const Rule gpu_near_nic = {
    .id = "gpu_near_nic",
    .title = "Every GPU has a NIC within the distance of the profile, or that of the other GPUs",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL uses GPUDirect RDMA over PCIe switches only. A GPU whose nearest NIC is behind the "
        "host bridge or on another socket sends through host memory, and slows down all other "
        "GPUs of the job. Without a profile, a GPU is compared with the other GPUs of its node.",
    .source = "NCCL src/graph/paths.cc (NCCL_NET_GDR_LEVEL, default PXB)",
    .needs = {Input::kGpuNicPaths},
    .profile = {v1::Expectations::kGpuNicDistanceMaxFieldNumber},
    .reads = {{.field = Field::kGpuPaths,
               .applies = HasGpusInUse,
               .profile = v1::Expectations::kGpuNicDistanceMaxFieldNumber},
              {.field = Field::kGpuPaths, .applies = HasGpusInUse}},
    .fix = "find the NIC that is missing or in the wrong slot",
    .evaluate_node = JudgeDistances,
};

extern const Rule numa_node_known = {
    .id = "numa_node_known",
    .title = "On nodes with several NUMA nodes, the NUMA nodes of GPUs and NICs are known",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without it, NCCL assumes a large distance, pairs GPUs with the wrong NICs, and places "
        "threads and buffers on the other socket.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci (numa_node)",
    .needs = {Input::kPciFunctions, Input::kGpus, Input::kHostFacts},
    .reads = {{.field = Field::kNumaNodes, .applies = HasGpusInUse}},
    .fix = "a BIOS that reports the NUMA node of its slots",
    .evaluate_node = JudgeNumaNodes,
};

}  // namespace fabric::rules
