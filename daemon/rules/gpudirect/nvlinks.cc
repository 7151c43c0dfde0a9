// NVLinks between the GPUs of a node, from the driver's management library.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr char kNvmlSource[] = "NVML";

// Active NVLinks of the GPU with the most, by model. A GPU without NVLink has none.
std::map<std::string_view, std::uint32_t> MostByModel(const v1::NodeSnapshot& snapshot) {
  std::map<std::string_view, std::uint32_t> most;
  for (const v1::Gpu& gpu : snapshot.gpus())
    if (gpu.has_nvlinks_active() && IsInUse(gpu))
      most[gpu.device_id()] = std::max(most[gpu.device_id()], gpu.nvlinks_active());
  return most;
}

std::string ShowInactive(const v1::Gpu& gpu) {
  std::vector<std::string> names;
  for (const v1::Nvlink& link : gpu.links())
    if (link.has_active() && !link.active()) names.push_back(Format("{}", link.index()));
  return names.empty() ? std::string() : Format(", inactive: {}", Listed(names));
}

std::vector<v1::Remedy> LinkRemedies(const std::string& address) {
  return {Query({.command = Format("nvidia-smi nvlink -s -i {}", address),
                 .note = "Check the log of nvidia-fabricmanager, and the kernel log for Xid 74 and "
                         "SXid. Drain the node and reset all GPUs. If the link stays inactive, "
                         "the GPU or its board needs a repair."})};
}

// nvlinks_active

void JudgeActive(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto most = MostByModel(snapshot);
  const bool by_profile = node.expected().has_nvlinks();
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (!gpu.has_nvlinks_active() || !IsInUse(gpu)) continue;
    const std::uint32_t expected =
        by_profile ? node.expected().nvlinks() : most.at(gpu.device_id());
    if (gpu.nvlinks_active() >= expected) {
      out.Pass();
      continue;
    }
    out.Fail(
        SubjectOf(node),
        Format("GPU {} has {} active NVLinks, expected {}{}", gpu.pci_address(),
               gpu.nvlinks_active(), expected, ShowInactive(gpu)),
        {ToEvidence(*node.node, {.what = "active NVLinks of GPU " + gpu.pci_address(),
                                 .expected = Format("{}", expected),
                                 .seen = Format("{} of {}", gpu.nvlinks_active(), gpu.nvlinks()),
                                 .source = kNvmlSource,
                                 .basis = by_profile ? ProfileBasis(*node.expectation)
                                                     : "GPUs of this model in the node"})},
        LinkRemedies(gpu.pci_address()), gpu.pci_address());
  }
}

// nvlinks_equal

// Of the GPU with the most: nvlinks_active reports a GPU that has fewer than the others.
std::optional<Value> MostActive(const Member& member) {
  if (member.node->ports.empty()) return {};
  std::optional<Value> most;
  for (const v1::Gpu& gpu : member.snapshot().gpus())
    if (gpu.has_nvlinks_active() && IsInUse(gpu))
      most = Value{std::max<std::uint64_t>(most ? most->number : 0, gpu.nvlinks_active())};
  return most;
}

constexpr EqualityRule kActiveLinks[] = {
    {.what = "active NVLinks of a GPU",
     .of_nodes = true,
     .group = ByProduct,
     .value = MostActive,
     .source = [](const Member&) { return std::string(kNvmlSource); },
     .remedies = [](const Member&, const Value&) -> std::vector<v1::Remedy> {
       return {Query({.command = "systemctl status nvidia-fabricmanager; nvidia-smi nvlink -s",
                      .note = "On machines with NVSwitch the links come up when Fabric Manager "
                              "runs, in the version of the driver."})};
     }}};

// nvlink_errors_like_equals

// Totals since the driver was loaded. A few are normal; one link far above all others is a fault.
constexpr std::uint64_t kErrorsMin = 1000;
constexpr std::uint64_t kTimesOfOthers = 100;

std::optional<std::uint64_t> ErrorsOf(const v1::Nvlink& link) {
  if (!link.has_replay_errors() && !link.has_recovery_errors() && !link.has_crc_flit_errors() &&
      !link.has_crc_data_errors())
    return {};
  return link.replay_errors() + link.recovery_errors() + link.crc_flit_errors() +
         link.crc_data_errors();
}

struct LinkOfGpu {
  const v1::Gpu* gpu = nullptr;
  const v1::Nvlink* link = nullptr;
  std::uint64_t errors = 0;
};

// "1200 CRC, 3 replays, 0 recoveries, 40 an hour since boot"
std::string ShowErrors(const v1::NodeSnapshot& snapshot, const LinkOfGpu& worst) {
  const v1::Nvlink& link = *worst.link;
  std::string text = Format("{} CRC errors, {} replays, {} recoveries",
                            link.crc_flit_errors() + link.crc_data_errors(), link.replay_errors(),
                            link.recovery_errors());
  const std::int64_t up = snapshot.taken_at().seconds() - snapshot.host().booted_at().seconds();
  if (snapshot.host().has_booted_at() && up >= 3600)
    text += Format(", {} an hour since boot", worst.errors * 3600 / static_cast<std::uint64_t>(up));
  return text;
}

void JudgeNvlinkErrors(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::vector<LinkOfGpu> links;
  for (const v1::Gpu& gpu : snapshot.gpus())
    for (const v1::Nvlink& link : gpu.links())
      if (const auto errors = ErrorsOf(link); errors && link.active())
        links.push_back({.gpu = &gpu, .link = &link, .errors = *errors});
  if (links.size() < 3) return;
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkOfGpu& a, const LinkOfGpu& b) { return a.errors > b.errors; });
  // Both ends of one bad link may count.
  const LinkOfGpu& worst = links[0];
  const std::uint64_t others = links[2].errors;
  if (worst.errors < kErrorsMin ||
      worst.errors / kTimesOfOthers < std::max<std::uint64_t>(others, 1))
    return out.Pass();
  const std::string seen = ShowErrors(snapshot, worst);
  const std::string name =
      Format("NVLink {} of GPU {}", worst.link->index(), worst.gpu->pci_address());
  out.Fail(SubjectOf(node),
           Format("{} has {}, expected at most {} as on other links", name, seen, others),
           {ToEvidence(*node.node, {.what = "errors of " + name,
                                    .expected = Format("at most {}", others),
                                    .seen = seen,
                                    .source = kNvmlSource,
                                    .basis = Format("{} NVLinks of the node", links.size())})},
           {Query({.command = Format("nvidia-smi nvlink -e -i {}", worst.gpu->pci_address()),
                   .note = "Shows the counters. Drain the node and reset the GPUs. If the errors "
                           "come back, the GPU or its board needs a repair."})},
           worst.gpu->pci_address());
}

}  // namespace

extern const Rule nvlinks_active = {
    .id = "nvlinks_active",
    .title = "No GPU of a node has fewer active NVLinks than the others of its model",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Jobs within the node fail, or run at the speed of the slowest GPU: NCCL goes around the "
        "missing link over PCIe or the network. The symptom is a slow or hanging collective.",
    .source = "NVIDIA management library reference (NVLink methods); Fabric Manager user guide",
    .needs = {Input::kGpus},
    .profile = {v1::Expectations::kNvlinksFieldNumber},
    .reads = {{.field = Field::kNvlinks,
               .applies = HasGpusInUse,
               .profile = v1::Expectations::kNvlinksFieldNumber},
              {.field = Field::kNvlinks, .applies = HasGpusInUse}},
    .fix = "nvidia-smi nvlink -s; Fabric Manager; reset the GPUs",
    .evaluate_node = JudgeActive,
};

extern const Rule nvlinks_equal = {
    .id = "nvlinks_equal",
    .title = "GPUs of all nodes of one product have the same number of active NVLinks",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Where no GPU of a node has its NVLinks, Fabric Manager does not run or does not fit the "
        "driver. Programs that need peer access fail, and collectives within the node are slow.",
    .source = "NVIDIA management library reference (NVLink methods); Fabric Manager user guide",
    .needs = {Input::kGpus},
    .reads = {{.field = Field::kNvlinks, .applies = HasGpusInUse}},
    .fix = "Start Fabric Manager in the version of the driver",
    .equality_rules = kActiveLinks,
};

extern const Rule nvlink_errors_like_equals = {
    .id = "nvlink_errors_like_equals",
    .title = "No NVLink has a hundred times the errors of the others in the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Each error is a packet that the link sends again. A link far above all others is failing: "
        "collectives over it are slow, and the next step is an inactive link.",
    .source = "NVIDIA management library reference (NVLink methods); the limits are our choice",
    .needs = {Input::kGpus},
    .reads = {{.field = Field::kNvlinks, .applies = HasGpusInUse}},
    .fix = "nvidia-smi nvlink -e; reset the GPUs; repair",
    .evaluate_node = JudgeNvlinkErrors,
};

}  // namespace fabric::rules
