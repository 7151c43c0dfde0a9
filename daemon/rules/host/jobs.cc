#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// job_devices_usable

bool Lists(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string WhyNot(const v1::JobView& job, const v1::RdmaDevice& device) {
  if (!Lists(job.rdma_devices(), device.name())) return "not visible in the job";
  for (const v1::JobDevice& file : job.character_devices()) {
    const std::string name = file.path().substr(file.path().rfind('/') + 1);
    if (!Lists(device.character_devices(), name) || !name.starts_with("uverbs")) continue;
    if (!file.present()) return file.path() + " is missing";
    if (file.has_accessible() && !file.accessible())
      return Format("{} cannot be opened: {}", file.path(), file.reason());
  }
  return "no GID that is usable in the job";
}

// A job without devices does not use RDMA, and a job may request some of many devices. A device
// that it sees and cannot use is a fault.
void JudgeDevices(const fleet::NodeView& node, Verdicts& out) {
  const v1::JobView& job = node.node->snapshot.job();
  if (job.rdma_devices().empty()) return;
  std::vector<std::string> broken;
  std::vector<v1::Evidence> evidence;
  for (const fleet::PortView& port : node.ports) {
    const std::string& name = port.device->name();
    if (!port.rail || !IsUp(port) || !Lists(job.rdma_devices(), name) ||
        Lists(job.usable_rdma_devices(), name) ||
        std::find(broken.begin(), broken.end(), name) != broken.end())
      continue;
    broken.push_back(name);
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(ToEvidence(*node.node, {.what = name + " in the job",
                                                 .expected = "usable",
                                                 .seen = WhyNot(job, *port.device),
                                                 .source = Format("job {}", job.pid()),
                                                 .basis = "the job sees it"}));
  }
  if (broken.empty()) return out.Pass();
  const std::string reason = evidence[0].seen();
  out.Fail(
      SubjectOf(node),
      Format("job {} ({}) cannot use {}, expected usable: {}", job.pid(), job.process(),
             Listed(broken), reason),
      std::move(evidence),
      {Advice("Restart the job with all devices. Docker: --device=/dev/infiniband. Kubernetes: "
              "request the devices of the RDMA device plugin, and its network. With 'rdma "
              "system netns exclusive', move the device into the container's network "
              "namespace.")});
}

// rdma_cgroup_ample

// A rank of NCCL opens every device and creates hundreds of objects on each.
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
      const std::uint64_t minimum = word.starts_with("hca_handle") ? kHandlesMin : kObjectsMin;
      if (*value < minimum) return Format("{} {}", words[0], word);
    }
  }
  return {};
}

void JudgeCgroup(const fleet::NodeView& node, Verdicts& out) {
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
                                    .basis = "needs of a NCCL rank"})},
           {Change({.command = Format("echo '{} hca_handle=max hca_object=max' "
                                      "> /sys/fs/cgroup{}/rdma.max",
                                      low.substr(0, low.find(' ')), job.cgroup()),
                    .affects = v1::REMEDY_REACH_JOB,
                    .interrupts = kInterruptsNothing,
                    .lasts = UntilReboot("set it in Slurm's cgroup.conf, or in "
                                         "linux.resources.rdma of the container runtime; the next "
                                         "job has the old limit otherwise"),
                    .undo = Format("echo '{}' > /sys/fs/cgroup{}/rdma.max", low, job.cgroup())})});
}

}  // namespace

extern const Rule job_devices_usable = {
    .id = "job_devices_usable",
    .title = "A job can use every RDMA device that it sees",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL uses the devices that it can open. If one container can open fewer devices than its "
        "peers, the ranks disagree about the number of rails, and the job hangs with GPUs at 100 "
        "%.",
    .source = "github.com/NVIDIA/nccl/issues/2428; kernel Documentation/infiniband/user_verbs.rst",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .reads = {{.field = Field::kJob}},
    .fix = "give the container /dev/infiniband and the network of the port",
    .evaluate_node = JudgeDevices,
};

extern const Rule rdma_cgroup_ample = {
    .id = "rdma_cgroup_ample",
    .title = "The cgroup of a job allows enough RDMA objects",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The rdma controller counts handles and objects of each device. At its limit, creation of "
        "queue pairs and memory registration fail, which looks like a failing NIC.",
    .source = "kernel Documentation/admin-guide/cgroup-v2.rst (RDMA)",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .reads = {{.field = Field::kJob}},
    .fix = "rdma.max: hca_handle=max hca_object=max",
    .evaluate_node = JudgeCgroup,
};

}  // namespace fabric::rules
