#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// memlock_unlimited

std::string ShowLimit(const v1::MemoryLimit& limit) {
  if (limit.unlimited()) return "unlimited";
  const std::uint64_t bytes = limit.has_soft_bytes() ? limit.soft_bytes() : limit.hard_bytes();
  return bytes >= 1U << 20 ? Format("{} MiB", bytes >> 20) : Format("{} KiB", bytes >> 10);
}

// Set by an administrator. The default of systemd does not matter: services that run jobs have
// their own limit.
bool IsSet(const v1::MemoryLimit& limit) {
  return !limit.is_default();
}

// The limit of users or services that is not unlimited; nullptr if there is none. `known`: whether
// at least one of them could be read.
const v1::MemoryLimit* TooSmall(const v1::HostFacts& host, bool* known) {
  *known = false;
  if (host.has_default_user_memlock()) {
    *known = true;
    if (!host.default_user_memlock().unlimited()) return &host.default_user_memlock();
  }
  if (host.has_default_service_memlock() && IsSet(host.default_service_memlock())) {
    *known = true;
    if (!host.default_service_memlock().unlimited()) return &host.default_service_memlock();
  }
  return nullptr;
}

v1::Remedy MemlockRemedy(bool of_users) {
  constexpr std::string_view kServices =
      "Slurm jobs and containers inherit the limit of slurmd, containerd or docker: set "
      "LimitMEMLOCK=infinity in their units, too.";
  if (!of_users)
    return Advice(
        Format("Set LimitMEMLOCK=infinity in the units that start jobs, or "
               "DefaultLimitMEMLOCK=infinity in /etc/systemd/system.conf, and restart "
               "the services when no job runs. {}",
               kServices));
  constexpr std::string_view kFile = "/etc/security/limits.d/99-rdma.conf";
  return Change({.command = Format("printf '* soft memlock unlimited\\n* hard memlock "
                                   "unlimited\\n' > {}",
                                   kFile),
                 .affects = v1::REMEDY_REACH_NODE,
                 .interrupts = kInterruptsNothing,
                 .lasts = Permanently(),
                 .undo = Format("rm {}", kFile),
                 .note = Format("Takes effect for new logins. A file in limits.d that sorts later "
                                "wins. {}",
                                kServices)});
}

void JudgeHost(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const bool by_profile = node.expected().memlock_unlimited();
  const bool wanted = node.expected().has_memlock_unlimited() ? by_profile : HasGpuInUse(snapshot);
  // With a job, job_memlock_unlimited judges the limit that the job has.
  if (!wanted || node.ports.empty() || snapshot.job().has_memlock()) return;
  bool known = false;
  const v1::MemoryLimit* const limit = TooSmall(snapshot.host(), &known);
  if (!known) return;
  if (limit == nullptr) return out.Pass();
  const bool of_users = limit == &snapshot.host().default_user_memlock();
  const std::string subject = of_users ? "users" : "services";
  out.Fail(SubjectOf(node),
           Format("locked memory of {} is limited to {}, expected unlimited", subject,
                  ShowLimit(*limit)),
           {ToEvidence(*node.node, {.what = Format("locked memory (memlock) of {}", subject),
                                    .expected = "unlimited",
                                    .seen = ShowLimit(*limit),
                                    .source = limit->source(),
                                    .basis = by_profile ? ProfileBasis(*node.expectation)
                                                        : "GPUs and RDMA in one node"})},
           {MemlockRemedy(of_users)});
}

// job_memlock_unlimited

void JudgeJob(const fleet::NodeView& node, Verdicts& out) {
  const v1::JobView& job = node.node->snapshot.job();
  const bool not_wanted =
      node.expected().has_memlock_unlimited() && !node.expected().memlock_unlimited();
  if (!job.has_memlock() || node.ports.empty() || not_wanted) return;
  if (job.memlock().unlimited()) return out.Pass();
  const std::uint64_t bytes = job.memlock().soft_bytes();
  const std::string seen = Format("{} KiB", bytes >> 10);
  out.Fail(SubjectOf(node),
           Format("locked memory of job {} ({}) is limited to {}, expected unlimited", job.pid(),
                  job.process(), seen),
           {ToEvidence(*node.node, {.what = "locked memory (memlock) of the job",
                                    .expected = "unlimited",
                                    .seen = seen,
                                    .source = Format("proc/{}/limits", job.pid()),
                                    .basis = "rule"})},
           {Advice("Restart the job with an unlimited limit. Docker: --ulimit memlock=-1. "
                   "Kubernetes: LimitMEMLOCK=infinity of containerd's unit, or CAP_IPC_LOCK in "
                   "the container. Slurm: LimitMEMLOCK=infinity of slurmd's unit.")});
}

bool HasJob(const Member& node) {
  return node.snapshot().has_job();
}

}  // namespace

extern const Rule memlock_unlimited = {
    .id = "memlock_unlimited",
    .title = "RLIMIT_MEMLOCK is unlimited on nodes with GPUs and RDMA",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "RDMA locks the memory that it uses. With a limit, memory registration fails with 'Cannot "
        "allocate memory', at the start of a job or at its first large message. Only limits that "
        "an administrator set are judged: services that run jobs have their own.",
    .source =
        "kernel drivers/infiniband/core/umem.c (RLIMIT_MEMLOCK); "
        "github.com/NVIDIA/nccl-tests/issues/206",
    .needs = {Input::kHostLimits},
    .profile = {v1::Expectations::kMemlockUnlimitedFieldNumber},
    .reads = {{.field = Field::kMemlock, .profile = v1::Expectations::kMemlockUnlimitedFieldNumber},
              {.field = Field::kMemlock, .applies = HasGpusInUse}},
    .fix = "memlock unlimited in limits.d; LimitMEMLOCK=infinity in services",
    .evaluate_node = JudgeHost,
};

extern const Rule job_memlock_unlimited = {
    .id = "job_memlock_unlimited",
    .title = "RLIMIT_MEMLOCK of a job that uses RDMA is unlimited",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A container has the limit of the service that started it, independent of the limit of "
        "users. Creation of queues and memory registration then fail, sometimes or always.",
    .source =
        "kernel drivers/infiniband/core/umem.c (RLIMIT_MEMLOCK); "
        "github.com/NVIDIA/cudf-spark/pull/7632",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .profile = {v1::Expectations::kMemlockUnlimitedFieldNumber},
    .reads = {{.field = Field::kJobMemlock, .applies = HasJob}},
    .fix = "--ulimit memlock=-1, or LimitMEMLOCK=infinity of the service that starts jobs",
    .evaluate_node = JudgeJob,
};

}  // namespace fabric::rules
