#include <algorithm>
#include <map>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/job/job_settings.h"
#include "agents/inspect/job/job_view.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRdmaProcessesName = "rdma_processes";
constexpr std::size_t kProcessesMax = 256;

using DevicesByPid = std::map<std::uint32_t, std::set<std::string>>;

DevicesByPid FromRdmaNetlink(const Host& host, const Gaps& gaps) {
  DevicesByPid found;
  for (const auto& [name, device] : NetlinkDevices(host)) {
    const auto pids = host.rdma.Processes(device.index);
    if (!pids.ok()) {
      gaps.Add("netlink rdma resource pd " + name, pids.status());
      continue;
    }
    for (const std::uint32_t pid : *pids) found[pid].insert(name);
  }
  return found;
}

// A capture has no RDMA netlink: processes that have a verbs device mapped.
DevicesByPid FromMaps(const Host& host) {
  DevicesByPid found;
  const Result<Dir> processes = host.root.Sub("proc");
  const auto names = processes.ok() ? processes->Names() : processes.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto pid = ParseNumber<std::uint32_t>(name);
    if (!pid.ok()) continue;
    const Result<std::string> maps = processes->Whole(name + "/maps");
    if (maps.ok() && maps->find("/dev/infiniband/uverbs") != std::string::npos) found[*pid];
  }
  return found;
}

// The process sees other netdevs, and so other GIDs and P_Keys than the agent.
bool HasOwnNetwork(const Host& host, std::uint32_t pid) {
  const auto there = host.root.Info(Format("proc/{}/ns/net", pid));
  const auto here = host.root.Info("proc/self/ns/net");
  return !host.captured && there.ok() && here.ok() && there->inode != here->inode;
}

// Without what can be judged in the network namespace of the process only. `inspect --pid` does
// that.
void KeepClasses(v1::RdmaProcess& process) {
  auto& variables = *process.mutable_variables();
  variables.erase(std::remove_if(variables.begin(), variables.end(),
                                 [](const v1::JobVariable& variable) {
                                   return !variable.name().ends_with("_TC") &&
                                          !variable.name().ends_with("_TRAFFIC_CLASS") &&
                                          !variable.name().ends_with("_HOP_LIMIT");
                                 }),
                  variables.end());
  process.set_environment_known(false);
}

bool IsSame(const v1::RdmaProcess& a, v1::RdmaProcess b) {
  b.set_pid(a.pid());
  b.set_processes(a.processes());
  return a.SerializeAsString() == b.SerializeAsString();
}

v1::RdmaProcess Read(const Host& host, std::uint32_t pid, const std::set<std::string>& devices,
                     Status& environment) {
  v1::RdmaProcess process;
  const std::string directory = Format("proc/{}/", pid);
  if (const auto name = host.root.Text(directory + "comm"); name.ok()) process.set_name(*name);
  process.set_pid(pid);
  process.set_processes(1);
  const JobSettings settings = ReadJobSettings(host, pid);
  process.set_environment_known(settings.environment.ok());
  if (!settings.environment.ok()) environment = settings.environment;
  for (const v1::JobVariable& variable : settings.variables) *process.add_variables() = variable;
  for (const v1::JobLibrary& library : settings.libraries) *process.add_libraries() = library;
  for (const std::string& device : devices) process.add_rdma_devices(device);
  if (HasOwnNetwork(host, pid)) KeepClasses(process);
  if (const auto cgroup = host.root.Text(directory + "cgroup"); cgroup.ok())
    if (const std::string uid = PodUid(*cgroup); !uid.empty()) process.set_pod_uid(uid);
  return process;
}

void Add(v1::RdmaProcess process, v1::NodeSnapshot& out) {
  for (v1::RdmaProcess& known : *out.mutable_rdma_processes()) {
    if (!IsSame(known, process)) continue;
    known.set_processes(known.processes() + 1);
    return;
  }
  *out.add_rdma_processes() = std::move(process);
}

// Services that use RDMA in passing; their settings matter to no job.
bool IsService(std::string_view name) {
  return name == "fabric-agent" || name == "nv-hostengine" || name == "dcgm-exporter" ||
         name == "opensm";
}

Status InspectProcesses(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kRdmaProcessesName, .subject = ""};
  const DevicesByPid found = host.captured ? FromMaps(host) : FromRdmaNetlink(host, gaps);
  std::size_t read = 0;
  Status environment;
  for (const auto& [pid, devices] : found) {
    const auto name = host.root.Text(Format("proc/{}/comm", pid));
    if (!name.ok() || IsService(*name)) continue;  // Ended by now, or in another namespace
    if (++read > kProcessesMax) break;
    Add(Read(host, pid, devices, environment), out);
  }
  if (!environment.ok()) gaps.Add("proc/PID/environ", environment);
  std::stable_sort(
      out.mutable_rdma_processes()->begin(), out.mutable_rdma_processes()->end(),
      [](const v1::RdmaProcess& a, const v1::RdmaProcess& b) { return a.name() < b.name(); });
  return {};
}

}  // namespace

extern const Inspector rdma_processes = {
    .name = kRdmaProcessesName,
    .doc = "Processes that use RDMA: variables of NCCL and UCX, versions of their libraries.",
    .inspect = InspectProcesses,
};

}  // namespace fabric::inspect
