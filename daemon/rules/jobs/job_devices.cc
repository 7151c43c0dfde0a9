// RDMA devices that jobs select.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/rules/jobs/job_settings.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// job_devices_exist

void JudgeNames(const fleet::NodeView& node, const JobSetting& setting, Verdicts& out) {
  const DeviceList list =
      ParseDeviceList(setting.variable->value(), setting.variable->name() == "UCX_NET_DEVICES");
  if (list.excludes || list.items.empty()) return;
  std::vector<std::string> missing;
  for (const DeviceList::Item& item : list.items) {
    const bool device = std::any_of(node.ports.begin(), node.ports.end(),
                                    [&](const PortView& port) { return list.Names(item, port); });
    // UCX accepts netdevs, too.
    if (!device && FindNetdev(node.node->snapshot, item.name) == nullptr)
      missing.push_back(std::string(item.name));
  }
  if (missing.empty()) return out.Pass();
  std::set<std::string> devices;
  for (const PortView& port : node.ports) devices.insert(port.device->name());
  out.Fail(SubjectOf(node),
           Format("{} of {} names {}, expected devices of the node", setting.variable->name(),
                  setting.job->name, Listed(missing)),
           {ToEvidence(*node.node, {.what = setting.variable->name(),
                                    .expected = ListedAll({devices.begin(), devices.end()}),
                                    .seen = setting.variable->value(),
                                    .source = SourceOf(*setting.job, *setting.variable),
                                    .basis = "RDMA devices of the node"})},
           {Query({.command = "fabric-agent nccl-env",
                   .note = "Prints the list for this node. Names of devices can change with a "
                           "boot, and differ between products."})},
           setting.Key());
}

void JudgeDeviceNames(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty()) return;
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting :
       SettingsOf(jobs, {"NCCL_IB_HCA", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES"}))
    JudgeNames(node, setting, out);
}

// job_devices_one_link_layer

// NCCL without a list takes each port that is ACTIVE.
std::vector<const PortView*> PortsOfNccl(const fleet::NodeView& node, const DeviceList& list) {
  std::vector<const PortView*> ports;
  for (const PortView& port : node.ports)
    if (port.port->state() == v1::PORT_STATE_ACTIVE && list.Selects(port)) ports.push_back(&port);
  return ports;
}

std::string NamesOf(const std::vector<const PortView*>& ports, v1::LinkLayer layer) {
  std::vector<std::string> names;
  for (const PortView* const port : ports)
    if (port->port->link_layer() == layer) names.push_back(port->device->name());
  return Listed(names);
}

void JudgeLayers(const fleet::NodeView& node, const Job& job, Verdicts& out) {
  const v1::JobVariable* const variable = FindVariable(job, "NCCL_IB_HCA");
  const bool nccl = variable != nullptr || MappedLibrary(job, "libnccl") != nullptr ||
                    MappedLibrary(job, "librccl") != nullptr;
  if (!nccl || (variable == nullptr && !job.environment_known)) return;
  const DeviceList list = variable == nullptr ? DeviceList{} : ParseDeviceList(variable->value());
  const std::vector<const PortView*> ports = PortsOfNccl(node, list);
  const std::string infiniband = NamesOf(ports, v1::LINK_LAYER_INFINIBAND);
  const std::string ethernet = NamesOf(ports, v1::LINK_LAYER_ETHERNET);
  if (infiniband.empty() || ethernet.empty()) return out.Pass();
  const std::string seen = variable == nullptr
                               ? Format("NCCL_IB_HCA of {} is not set", job.name)
                               : Format("NCCL_IB_HCA={} of {}", variable->value(), job.name);
  out.Fail(
      SubjectOf(node),
      Format("{}: NCCL selects {} (InfiniBand) and {} (Ethernet), expected one link layer", seen,
             infiniband, ethernet),
      {ToEvidence(*node.node, {.what = "devices that NCCL selects",
                               .expected = "one link layer",
                               .seen = Format("{}; {}", infiniband, ethernet),
                               .source = variable == nullptr ? Format("proc/{}/environ", job.pid)
                                                             : SourceOf(job, *variable),
                               .basis = "link layers of the ports that are ACTIVE"})},
      {Query({.command = "fabric-agent nccl-env",
              .note = "Prints NCCL_IB_HCA with the ports of the fabric only."})},
      variable == nullptr ? "" : variable->value());
}

void JudgeLinkLayers(const fleet::NodeView& node, Verdicts& out) {
  std::set<std::string> known;
  const std::vector<Job> jobs = JobsOf(node);
  for (const Job& job : jobs) {
    const v1::JobVariable* const variable = FindVariable(job, "NCCL_IB_HCA");
    if (known.insert(variable == nullptr ? "" : variable->value()).second)
      JudgeLayers(node, job, out);
  }
}

}  // namespace

extern const Rule job_devices_exist = {
    .id = "job_devices_exist",
    .title = "The RDMA devices that a job lists exist",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A device that is not there is skipped: the job runs with fewer rails than its peers and "
        "hangs, or falls back to TCP.",
    .source = "NCCL, NCCL_IB_HCA; UCX, UCX_NET_DEVICES",
    .needs = {Input::kRdmaProcesses, Input::kRdmaDevices},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "Use the list of fabric-agent nccl-env",
    .evaluate_node = JudgeDeviceNames,
};

extern const Rule job_devices_one_link_layer = {
    .id = "job_devices_one_link_layer",
    .title = "NCCL selects ports of one link layer",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL takes every active RDMA port. An Ethernet port among InfiniBand ports becomes a rail "
        "of its own, and connections from one to the other fail with 'Invalid argument'.",
    .source = "NCCL, NCCL_IB_HCA; github.com/NVIDIA/nccl/issues/302",
    .needs = {Input::kRdmaProcesses, Input::kRdmaPorts},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "export NCCL_IB_HCA with the ports of the fabric",
    .evaluate_node = JudgeLinkLayers,
};

}  // namespace fabric::rules
