#include <algorithm>
#include <bit>
#include <map>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

struct Nearest {
  std::string_view gpu;
  const v1::GpuNicPath* path = nullptr;  // nullptr: a distance to a NIC of the fabric is not known
};

std::string Show(v1::PciDistance distance) {
  switch (distance) {
    case v1::PCI_DISTANCE_PIX: return "PIX (one PCIe switch)";
    case v1::PCI_DISTANCE_PXB: return "PXB (several PCIe switches)";
    case v1::PCI_DISTANCE_PHB: return "PHB (host bridge)";
    case v1::PCI_DISTANCE_NODE: return "NODE (two host bridges)";
    case v1::PCI_DISTANCE_SYS: return "SYS (another NUMA node)";
    default: return "not known";
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

// The farthest that may be; nothing: nobody says. Without a profile by the other GPUs: by most
// where each could have a NIC of its own; where NICs are fewer, one is missing if three fourths
// have one.
struct Limit {
  v1::PciDistance distance = v1::PCI_DISTANCE_UNSPECIFIED;
  std::string basis;
};
Limit LimitOf(const fleet::NodeView& node, const std::vector<Nearest>& all, std::uint64_t fabric) {
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

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty() || node.node->snapshot.gpu_nic_paths().empty()) return;
  const std::uint64_t fabric = FabricDevices(node);
  const std::vector<Nearest> all = NearestOf(node, fabric);
  const Limit limit = LimitOf(node, all, fabric);
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
        {ToRemedy({.command = "nvidia-smi topo -m",
                   .note = "Or rocm-smi --showtopo. NCCL uses GPUDirect up to PXB by "
                           "default: look for a NIC that is missing, or moved to another "
                           "slot; NCCL_NET_GDR_LEVEL allows more where it must be."})},
        each.gpu);
  }
}

}  // namespace

extern const Rule gpu_near_nic = {
    .id = "gpu_near_nic",
    .title = "Every GPU has a NIC as near as the profile wants, or as the other GPUs have",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL uses GPUDirect RDMA up to PCIe switches only: a GPU whose nearest NIC is behind the "
        "host bridge or on another socket sends through host memory, and slows all others of the "
        "job. Without a profile it is judged only where each GPU could have a NIC of its own.",
    .source = "NCCL src/graph/paths.cc (NCCL_NET_GDR_LEVEL, default PXB)",
    .needs = {Input::kGpuNicPaths},
    .profile = {v1::Expectations::kGpuNicDistanceMaxFieldNumber},
    .fix = "find the NIC that is missing or in the wrong slot",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
