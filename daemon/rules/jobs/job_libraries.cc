// Versions of the libraries of jobs, and settings that depend on them.
#include <algorithm>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/rules/jobs/job_settings.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// job_nccl_finds_peermem

// The first version that looks for nvidia_peermem in sys/module.
constexpr std::string_view kFirstWithModule = "2.23";

void JudgePeermem(const fleet::NodeView& node, Verdicts& out) {
  const v1::PeerMemory& memory = node.node->snapshot.peer_memory();
  if (!memory.nvidia_peermem_loaded() || !HasGpuInUse(node.node->snapshot)) return;
  const bool registered = std::any_of(
      memory.clients().begin(), memory.clients().end(),
      [](const std::string& client) { return client == "nv_mem" || client == "nv_mem_nc"; });
  std::set<std::string> judged;
  const std::vector<Job> jobs = JobsOf(node);
  for (const Job& job : jobs) {
    const v1::JobLibrary* const nccl = MappedLibrary(job, "libnccl");
    if (nccl == nullptr || !nccl->has_version() || !judged.insert(nccl->version()).second) continue;
    const v1::JobVariable* const dma_buf = FindVariable(job, "NCCL_DMABUF_ENABLE");
    const bool by_dma_buf =
        memory.dma_buf().possible() && (dma_buf == nullptr || dma_buf->value() != "0");
    if (registered || by_dma_buf || !NaturalLess(nccl->version(), kFirstWithModule)) {
      out.Pass();
      continue;
    }
    out.Fail(SubjectOf(node),
             Format("NCCL {} of {} does not find nvidia_peermem, expected {} or later: GPUDirect "
                    "RDMA is off",
                    nccl->version(), job.name, kFirstWithModule),
             {ToEvidence(*node.node, {.what = "version of NCCL",
                                      .expected = Format("{} or later", kFirstWithModule),
                                      .seen = nccl->version(),
                                      .source = nccl->path(),
                                      .basis = "it looks for nv_mem in sys/kernel/mm/memory_peers, "
                                               "which is not there"})},
             {Advice(Format("Run the job with NCCL {} or later. Or enable dma-buf: open GPU kernel "
                            "module and kernel 5.12 or later.",
                            kFirstWithModule))},
             nccl->version());
  }
}

// job_nccl_version

void JudgeVersion(const fleet::NodeView& node, Verdicts& out) {
  if (!node.expected().has_nccl_version_min()) return;
  std::set<std::string> judged;
  const std::vector<Job> jobs = JobsOf(node);
  for (const Job& job : jobs) {
    const v1::JobLibrary* const nccl = MappedLibrary(job, "libnccl");
    if (nccl == nullptr || !nccl->has_version() || !judged.insert(nccl->version()).second) continue;
    if (!NaturalLess(nccl->version(), node.expected().nccl_version_min())) {
      out.Pass();
      continue;
    }
    const std::string basis = ProfileBasis(*node.expectation);
    out.Fail(SubjectOf(node),
             Format("NCCL {} of {}, expected {} or later ({})", nccl->version(), job.name,
                    node.expected().nccl_version_min(), basis),
             {ToEvidence(*node.node, {.what = "version of NCCL",
                                      .expected = node.expected().nccl_version_min(),
                                      .seen = nccl->version(),
                                      .source = nccl->path(),
                                      .basis = basis})},
             {Advice("Use a container image with this version, or set LD_LIBRARY_PATH to it.")},
             nccl->version());
  }
}

// rdma_core_equal

std::optional<Value> RdmaCore(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (!host.has_rdma_core_version()) return {};
  return Value{.text = host.rdma_core_version()};
}

std::optional<Value> ExpectedRdmaCore(const v1::Expectations& expected) {
  if (!expected.has_rdma_core_version()) return {};
  return Value{.text = expected.rdma_core_version()};
}

std::string RdmaCoreSource(const Member&) {
  return "usr/lib/libibverbs.so.1";
}

std::vector<v1::Remedy> InstallRdmaCore(const Member&, const Value& expected) {
  return {
      Advice(Format("Install rdma-core {} (libibverbs, ibverbs-providers) on the node, from the "
                    "same repository as on the others. Running jobs keep the old one.",
                    expected.text))};
}

constexpr EqualityRule kRdmaCore[] = {{.what = "version of rdma-core",
                                       .of_nodes = true,
                                       .group = ByProduct,
                                       .value = RdmaCore,
                                       .expected = ExpectedRdmaCore,
                                       .kept_when_down = true,
                                       .show = ShowText,
                                       .source = RdmaCoreSource,
                                       .remedies = InstallRdmaCore}};

// job_hop_limit, roce_hop_limit

constexpr std::uint32_t kHopLimitMin = 2;

void JudgeJobHopLimit(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting : SettingsOf(jobs, {"UCX_IB_HOP_LIMIT"})) {
    const auto limit = NumberIn(*setting.variable);
    if (!limit) continue;
    if (*limit >= kHopLimitMin) {
      out.Pass();
      continue;
    }
    out.Fail(SubjectOf(node),
             Format("{}: packets end at the first router, expected 64 or more", setting.Text()),
             {ToEvidence(*node.node, {.what = "hop limit",
                                      .expected = "64 or more",
                                      .seen = setting.variable->value(),
                                      .source = SourceOf(*setting.job, *setting.variable),
                                      .basis = "a router discards packets with hop limit 1"})},
             {SetJobVariable(setting, {}, "The default is 255.")}, setting.Key());
  }
}

void JudgeHopLimit(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::RoceDefaults& defaults = port.port->roce_defaults();
    if (!defaults.has_ttl()) return;
    if (defaults.ttl() >= kHopLimitMin || defaults.ttl() == 0) return out.Pass();
    const std::string file =
        Format("sys/class/infiniband/{}/ttl/{}/ttl", port.device->name(), port.port->number());
    FailOn(port,
           {.what = "hop limit of RoCE",
            .expected = "64 or more",
            .seen = Format("{}", defaults.ttl()),
            .source = file,
            .basis = "a router discards packets with hop limit 1"},
           {Change({.platform = "mlx5",
                    .command = Format("echo 64 > /{}", file),
                    .affects = v1::REMEDY_REACH_PORT,
                    .interrupts = kInterruptsNothing,
                    .lasts = UntilReboot(kInBootUnit),
                    .undo = Format("echo {} > /{}", defaults.ttl(), file),
                    .note = "Applies to new queue pairs."})},
           out);
  });
}

// job_adaptive_routing

void JudgeAdaptiveRouting(const fleet::NodeView& node, Verdicts& out) {
  const bool roce = std::any_of(node.ports.begin(), node.ports.end(), CarriesRoce);
  if (!node.expected().adaptive_routing() || !roce) return;
  const std::vector<Job> jobs = JobsOf(node);
  for (const Job& job : jobs) {
    if (MappedLibrary(job, "libnccl") == nullptr || !job.environment_known) continue;
    const v1::JobVariable* const variable = FindVariable(job, "NCCL_IB_ADAPTIVE_ROUTING");
    if (variable != nullptr && variable->value() == "1") {
      out.Pass();
      continue;
    }
    const std::string seen = variable == nullptr ? "not set" : variable->value();
    const std::string basis = ProfileBasis(*node.expectation);
    out.Fail(SubjectOf(node),
             Format("NCCL_IB_ADAPTIVE_ROUTING of {} is {}, expected 1 ({})", job.name, seen, basis),
             {ToEvidence(*node.node, {.what = "NCCL_IB_ADAPTIVE_ROUTING",
                                      .expected = "1",
                                      .seen = seen,
                                      .source = Format("proc/{}/environ", job.pid),
                                      .basis = basis})},
             {Change({.command = "export NCCL_IB_ADAPTIVE_ROUTING=1",
                      .affects = v1::REMEDY_REACH_JOB,
                      .interrupts = kInterruptsNothing,
                      .lasts = UntilReboot("set it in the job scripts, or in /etc/nccl.conf"),
                      .undo = "unset NCCL_IB_ADAPTIVE_ROUTING",
                      .note = "Only if every job that shares the fabric's class does so."})});
    return;
  }
}

}  // namespace

extern const Rule job_nccl_finds_peermem = {
    .id = "job_nccl_finds_peermem",
    .title = "NCCL of a job recognizes the peer memory module that is loaded",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL before 2.23 looks for the peer memory module by its former name. It then turns "
        "GPUDirect RDMA off, and bandwidth falls to a tenth, although the module works.",
    .source = "github.com/NVIDIA/nccl/issues/1676",
    .needs = {Input::kRdmaProcesses, Input::kPeerMemory},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "NCCL 2.23 or later, or dma-buf",
    .evaluate_node = JudgePeermem,
};

extern const Rule job_nccl_version = {
    .id = "job_nccl_version",
    .title = "NCCL of a job is not older than the profile's minimum",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why = "Older versions lack what the fabric relies on: choice of GIDs, dma-buf, PXN.",
    .source = "NCCL release notes",
    .needs = {Input::kRdmaProcesses},
    .access = Access::kJobEnvironment,
    .profile = {v1::Expectations::kNcclVersionMinFieldNumber},
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "A newer container image",
    .evaluate_node = JudgeVersion,
};

extern const Rule rdma_core_equal = {
    .id = "rdma_core_equal",
    .title =
        "rdma-core has the version of the profile, or the same version on nodes of one product",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Providers of another version support other features and have other defaults: a job "
        "behaves differently on these nodes.",
    .source = "rdma-core, libibverbs/libibverbs.map and provider versions",
    .needs = {Input::kRdmaStack},
    .profile = {v1::Expectations::kRdmaCoreVersionFieldNumber},
    .reads = {{.field = Field::kRdmaCore, .profile = v1::Expectations::kRdmaCoreVersionFieldNumber},
              {.field = Field::kRdmaCore}},
    .fix = "The same packages on all nodes",
    .equality_rules = kRdmaCore,
};

extern const Rule job_hop_limit = {
    .id = "job_hop_limit",
    .title = "The hop limit of a job lets packets pass routers",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "With a hop limit of 1, packets end at the first router: nodes on one leaf reach each "
        "other, nodes on different leaves do not.",
    .source = "UCX, UCX_IB_HOP_LIMIT; github.com/ROCm/mori/pull/298",
    .needs = {Input::kRdmaProcesses},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "unset UCX_IB_HOP_LIMIT",
    .evaluate_node = JudgeJobHopLimit,
};

extern const Rule roce_hop_limit = {
    .id = "roce_hop_limit",
    .title = "The driver's hop limit of RoCE lets packets pass routers",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "MLNX_OFED's override replaces the hop limit of applications. With 1, packets end at the "
        "first router: nodes on one leaf reach each other, nodes on different leaves do not.",
    .source = "NVIDIA MLNX_OFED (ttl/1/ttl); github.com/ROCm/mori/pull/298",
    .needs = {Input::kRoceDefaults},
    .reads = {{.field = Field::kTrafficClass, .applies = IsRoceInUse}},
    .fix = "echo 64 to sys/class/infiniband/DEVICE/ttl/PORT/ttl",
    .evaluate_node = JudgeHopLimit,
};

extern const Rule job_adaptive_routing = {
    .id = "job_adaptive_routing",
    .title =
        "NCCL of a job uses adaptive routing on RoCE where the profile says that the fabric does",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "A fabric that routes adaptively delivers packets out of order. NCCL must then signal "
        "completion with a separate message, which it does on RoCE only if the variable is set.",
    .source = "NCCL, NCCL_IB_ADAPTIVE_ROUTING",
    .needs = {Input::kRdmaProcesses},
    .access = Access::kJobEnvironment,
    .profile = {v1::Expectations::kAdaptiveRoutingFieldNumber},
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "export NCCL_IB_ADAPTIVE_ROUTING=1",
    .evaluate_node = JudgeAdaptiveRouting,
};

}  // namespace fabric::rules
