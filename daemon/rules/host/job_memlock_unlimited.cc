#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
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
           {ToRemedy({.command = "docker run --ulimit memlock=-1 ...",
                      .interrupts_traffic = true,
                      .note = "Kubernetes: LimitMEMLOCK=infinity of containerd's unit, or "
                              "CAP_IPC_LOCK in the container; Slurm: LimitMEMLOCK=infinity of "
                              "slurmd's unit. The job has to start anew."})});
}

}  // namespace

extern const Rule job_memlock_unlimited = {
    .id = "job_memlock_unlimited",
    .title = "A job that uses RDMA may lock as much memory as it wants",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A container has the limit of the service that started it, whatever the host allows its "
        "users: creating queues and registering memory then fails, now and then or at once.",
    .source =
        "kernel drivers/infiniband/core/umem.c (RLIMIT_MEMLOCK); "
        "github.com/NVIDIA/cudf-spark/pull/7632",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .profile = {v1::Expectations::kMemlockUnlimitedFieldNumber},
    .fix = "--ulimit memlock=-1, or LimitMEMLOCK=infinity of the service that starts jobs",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
