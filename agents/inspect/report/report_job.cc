#include "agents/inspect/report/field_table.h"

#include "base/text.h"

namespace fabric::inspect {
namespace {

std::string LimitText(const v1::JobView& job) {
  if (!job.has_memlock()) return std::string(kAbsent);
  if (job.memlock().unlimited()) return "unlimited";
  return Format("{} bytes, {} at most", job.memlock().soft_bytes(), job.memlock().hard_bytes());
}

std::string NamespaceText(const v1::JobView& job) {
  if (!job.has_network_namespace()) return std::string(kAbsent);
  const std::string inode = Format("net:[{}]", job.network_namespace());
  if (!job.has_own_network_namespace()) return inode;
  return inode + (job.own_network_namespace() ? ", its own" : ", that of the agent");
}

// "ml/train-0", or the UID when the name is not known.
template <class T>
std::string PodText(const T& of) {
  if (!of.has_pod_name()) return OrAbsent(of.pod_uid());
  return Format("{}/{}", of.pod_namespace(), of.pod_name());
}

std::string Together(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return words.empty() ? "none" : Join({words.begin(), words.end()}, " ");
}

}  // namespace

std::string JobText(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.has_job()) return {};
  const v1::JobView& job = snapshot.job();
  Section section("Job", {"PROCESS", job.pid() == 0 ? std::string(kAbsent)
                                                    : Format("{} {}", job.pid(), job.process())});
  section.Row({"NETWORK NAMESPACE", NamespaceText(job)});
  section.Row({"POD", PodText(job)});
  if (job.has_pod_name()) section.Row({"POD UID", job.pod_uid()});
  section.Row({"CGROUP", OrAbsent(job.cgroup())});
  section.Row({"RDMA CGROUP", OrAbsent(job.rdma_cgroup_limits())});
  section.Row({"LOCKED MEMORY", LimitText(job)});
  section.Row({"RDMA DEVICES", Together(job.rdma_devices())});
  section.Row({"USABLE", Together(job.usable_rdma_devices())});
  for (auto& row : FieldRows(job)) section.Row(std::move(row));
  Section files("Job's device files", {"FILE", "THERE", "OPENS", "WHY"});
  for (const v1::JobDevice& device : job.character_devices())
    files.Row({device.path(), device.present() ? "yes" : "no",
               !device.has_accessible() ? "?"
               : device.accessible()    ? "yes"
                                        : "no",
               OrAbsent(device.reason())});
  AddColumns(ElementsOf(job.character_devices()), files);
  return section.Text("") + files.Text("none");
}

std::string ProcessesText(const v1::NodeSnapshot& snapshot) {
  std::string text;
  Section processes("RDMA processes", {"PROCESS", "PID", "COUNT", "POD", "DEVICES"});
  for (const v1::RdmaProcess& process : snapshot.rdma_processes())
    processes.Row({process.name(), Format("{}", process.pid()), Format("{}", process.processes()),
                   PodText(process), Together(process.rdma_devices())});
  if (!snapshot.rdma_processes().empty()) text += processes.Text("");
  Section pods("Pods", {"NAMESPACE", "POD", "RESOURCE", "DEVICES"});
  for (const v1::KubernetesPod& pod : snapshot.pods()) {
    for (const v1::PodDevices& devices : pod.devices())
      pods.Row({pod.namespace_(), pod.name(), devices.resource(), Together(devices.ids())});
    if (pod.devices().empty())
      pods.Row({pod.namespace_(), pod.name(), std::string(kAbsent), std::string(kAbsent)});
  }
  if (!snapshot.pods().empty()) text += pods.Text("");
  return text;
}

}  // namespace fabric::inspect
