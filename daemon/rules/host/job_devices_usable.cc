#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool Lists(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string WhyNot(const v1::JobView& job, const v1::RdmaDevice& device) {
  if (!Lists(job.rdma_devices(), device.name())) return "not seen inside";
  for (const v1::JobDevice& file : job.character_devices()) {
    const std::string name = file.path().substr(file.path().rfind('/') + 1);
    if (!Lists(device.character_devices(), name) || !name.starts_with("uverbs")) continue;
    if (!file.present()) return file.path() + " is missing";
    if (file.has_accessible() && !file.accessible())
      return Format("{} cannot be opened: {}", file.path(), file.reason());
  }
  return "no GID that works inside";
}

// A job is given devices on purpose: one with none at all does not use RDMA, and some of many may
// be what it asked for. A device that it sees and cannot use is a fault.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
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
    if (evidence.size() < kListedMax)
      evidence.push_back(ToEvidence(*node.node, {.what = name + " in the job",
                                                 .expected = "usable",
                                                 .seen = WhyNot(job, *port.device),
                                                 .source = Format("job {}", job.pid()),
                                                 .basis = "the job sees it"}));
  }
  if (broken.empty()) return out.Pass();
  const std::string why = evidence[0].seen();
  out.Fail(SubjectOf(node),
           Format("job {} ({}) cannot use {}, expected usable: {}", job.pid(), job.process(),
                  Listed(broken), why),
           std::move(evidence),
           {ToRemedy({.command = "docker run --device=/dev/infiniband ...",
                      .interrupts_traffic = true,
                      .note = "Kubernetes: ask for the devices of the RDMA device plugin, and for "
                              "its network; with 'rdma system netns exclusive' a device has to be "
                              "moved into the container's network namespace."})});
}

}  // namespace

extern const Rule job_devices_usable = {
    .id = "job_devices_usable",
    .title = "A job can use every RDMA device that it sees",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL takes the devices that it can open: when one container can open fewer than its "
        "peers the ranks disagree about the number of rails, and the job hangs for ever with "
        "GPUs at 100 %.",
    .source = "github.com/NVIDIA/nccl/issues/2428; kernel Documentation/infiniband/user_verbs.rst",
    .needs = {Input::kJobView},
    .access = Access::kJobNamespace,
    .fix = "give the container /dev/infiniband and the port's network",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
