#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// A rank of NCCL opens every device and makes hundreds of objects on each.
constexpr std::uint64_t kHandlesMin = 16;
constexpr std::uint64_t kObjectsMin = 2000;

// "mlx5_0 hca_handle=2 hca_object=2000;mlx5_1 hca_handle=max hca_object=max"
std::string TooLow(std::string_view limits) {
  for (const std::string_view line : Split(limits, ';')) {
    const auto words = Words(line);
    for (const std::string_view word : words) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const auto value = ParseNumber<std::uint64_t>(word.substr(equals + 1));
      if (!value.ok()) continue;  // "max"
      const std::uint64_t least = word.starts_with("hca_handle") ? kHandlesMin : kObjectsMin;
      if (*value < least) return Format("{} {}", words[0], word);
    }
  }
  return {};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::JobView& job = node.node->snapshot.job();
  if (!job.has_rdma_cgroup_limits() || node.ports.empty()) return;
  const std::string low = TooLow(job.rdma_cgroup_limits());
  if (low.empty()) return out.Pass();
  out.Fail(SubjectOf(node),
           Format("RDMA limit of the cgroup of job {} ({}) is {}, expected max", job.pid(),
                  job.process(), low),
           {ToEvidence(*node.node, {.what = "rdma.max of " + job.cgroup(),
                                    .expected = Format("hca_handle={} hca_object={} or more",
                                                       kHandlesMin, kObjectsMin),
                                    .seen = job.rdma_cgroup_limits(),
                                    .source = Format("sys/fs/cgroup{}/rdma.max", job.cgroup()),
                                    .basis = "what a rank of NCCL needs"})},
           {ToRemedy({.command = Format("echo '{} hca_handle=max hca_object=max' "
                                        "> /sys/fs/cgroup{}/rdma.max",
                                        low.substr(0, low.find(' ')), job.cgroup()),
                      .note = "And in what sets it: Slurm's cgroup.conf, or the container "
                              "runtime's linux.resources.rdma."})});
}

}  // namespace

extern const Rule rdma_cgroup_ample = {
    .id = "rdma_cgroup_ample",
    .title = "The cgroup of a job allows it as many RDMA objects as it needs",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The rdma controller counts handles and objects of each device: at its limit creating a "
        "queue pair or registering memory fails, which looks like a failing NIC.",
    .source = "kernel Documentation/admin-guide/cgroup-v2.rst (RDMA)",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .fix = "rdma.max: hca_handle=max hca_object=max",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
