#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "agents/inspect/attributes.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPodsName = "pods";
constexpr std::size_t kPodsMax = 512;
constexpr int kResourcesMax = 64;  // Of a pod
constexpr int kIdsMax = 256;       // Of a resource

using PodsByName = std::map<std::pair<std::string, std::string>, v1::KubernetesPod>;

v1::KubernetesPod& Entry(PodsByName& pods, const host::Pod& pod) {
  v1::KubernetesPod& entry = pods[{pod.name_space, pod.name}];
  entry.set_namespace_(pod.name_space);
  entry.set_name(pod.name);
  return entry;
}

void AddDevicesTo(v1::KubernetesPod& entry, const std::vector<host::PodDevice>& devices) {
  std::map<std::string, std::set<std::string>> ids;
  for (const host::PodDevice& device : devices) ids[device.resource].insert(device.id);
  for (const auto& [resource, names] : ids) {
    if (entry.devices_size() == kResourcesMax) return;
    v1::PodDevices& of_resource = *entry.add_devices();
    of_resource.set_resource(resource);
    for (const std::string& id : names)
      if (of_resource.ids_size() < kIdsMax) of_resource.add_ids(id);
  }
}

// The pod of each process that uses RDMA, by its UID.
void NameProcesses(v1::NodeSnapshot& snapshot) {
  for (v1::RdmaProcess& process : *snapshot.mutable_rdma_processes())
    for (const v1::KubernetesPod& pod : snapshot.pods()) {
      if (!process.has_pod_uid() || pod.uid() != process.pod_uid()) continue;
      process.set_pod_namespace(pod.namespace_());
      process.set_pod_name(pod.name());
    }
}

// The pods that hold a device or have a process that uses RDMA: a node has many others, which come
// and go.
Status InspectPods(const Host& host, v1::NodeSnapshot& out) {
  if (host.pods == nullptr) return {};
  const Gaps gaps{.snapshot = out, .inspector = kPodsName, .subject = ""};
  const host::PodSockets& sockets = host.pods->sockets();
  PodsByName pods;
  if (!sockets.kubelet.empty()) {
    const auto listed = host.pods->OfKubelet();
    if (!listed.ok()) gaps.Add(sockets.kubelet.substr(1), listed.status());
    for (const host::Pod& pod : listed.ok() ? *listed : std::vector<host::Pod>())
      if (!pod.devices.empty()) AddDevicesTo(Entry(pods, pod), pod.devices);
  }
  if (!sockets.runtime.empty()) {
    std::set<std::string> uids;
    for (const v1::RdmaProcess& process : out.rdma_processes()) uids.insert(process.pod_uid());
    const auto listed = host.pods->OfRuntime();
    if (!listed.ok()) gaps.Add(sockets.runtime.substr(1), listed.status());
    for (const host::Pod& pod : listed.ok() ? *listed : std::vector<host::Pod>())
      if (uids.contains(pod.uid) || pods.contains({pod.name_space, pod.name}))
        Entry(pods, pod).set_uid(pod.uid);
  }
  if (pods.size() > kPodsMax)
    gaps.Add("pods", Status(Code::kResourceExhausted,
                            Format("{} pods hold devices or use RDMA; the first {} are listed",
                                   pods.size(), kPodsMax)));
  for (auto& [name, pod] : pods)
    if (out.pods_size() < static_cast<int>(kPodsMax)) out.add_pods()->Swap(&pod);
  NameProcesses(out);
  return {};
}

void KeepPods(v1::NodeSnapshot&, v1::NodeSnapshot& snapshot) {
  NameProcesses(snapshot);
}

}  // namespace

extern const Inspector pods = {
    .name = kPodsName,
    .doc = "Pods of Kubernetes that hold devices or use RDMA, when the agent may ask for them.",
    .inspect = InspectPods,
    .wakes = EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kPodsFieldNumber},
    .keep = KeepPods,
};

}  // namespace fabric::inspect
