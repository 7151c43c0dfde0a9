// GIDs and P_Keys that jobs choose by index.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/jobs/job_settings.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// job_gid_index_usable

const v1::Gid* GidAt(const PortView& port, std::int64_t index) {
  for (const v1::Gid& gid : port.port->gids())
    if (gid.index() == index) return &gid;
  return nullptr;
}

// Empty for a GID that can be used, and where its type is not known.
std::string GidProblem(const v1::Gid* gid) {
  if (gid == nullptr) return "empty";
  if (gid->type() == v1::GID_TYPE_ROCE_V1) return "RoCE v1";
  if (gid->link_local()) return "link-local";
  return {};
}

// The index that is right for all of these ports; nothing if they differ.
std::optional<std::uint32_t> CommonIndex(const std::vector<const PortView*>& ports) {
  std::optional<std::uint32_t> common;
  for (const PortView* const port : ports) {
    const v1::Gid* const gid = fleet::UsableGid(*port->device, *port->port);
    if (gid == nullptr || (common && *common != gid->index())) return {};
    common = gid->index();
  }
  return common;
}

void JudgeGidIndex(const fleet::NodeView& node, const JobSetting& setting, Verdicts& out) {
  const auto index = NumberIn(*setting.variable);
  if (!index || *index < 0) return;  // -1: the library chooses.
  std::vector<const PortView*> ports = PortsOf(*setting.job, setting.variable->name(), node);
  // A port without any usable GID is a finding of roce_v2_gid_present.
  std::erase_if(ports, [](const PortView* port) {
    return !IsRoce(*port) || fleet::UsableGid(*port->device, *port->port) == nullptr;
  });
  PortFaults faults;
  std::string first;
  for (const PortView* const port : ports) {
    const std::string problem = GidProblem(GidAt(*port, *index));
    if (problem.empty()) continue;
    if (first.empty()) first = problem;
    const v1::Gid& usable = *fleet::UsableGid(*port->device, *port->port);
    faults.Add(*port, {.what = Format("GID {} of {}", *index, port->device->name()),
                       .expected = Format("RoCE v2, routable (index {} is)", usable.index()),
                       .seen = problem,
                       .source = PortFile(*port, Format("gid_attrs/types/{}", *index)),
                       .basis = Format("{} in {}", setting.Key(),
                                       SourceOf(*setting.job, *setting.variable))});
  }
  if (faults.empty()) return out.Pass(ports.size());
  const auto common = CommonIndex(ports);
  out.Fail(SubjectOf(node),
           Format("{}: GID {} is {} on {}, expected RoCE v2 with a routable address",
                  setting.Text(), *index, first, faults.Ports()),
           faults.TakeEvidence(),
           {SetJobVariable(setting, {},
                           "NCCL 2.21 and later, and UCX, choose the GID by type and address "
                           "family."),
            common ? SetJobVariable(setting, Format("{}", *common),
                                    "For older libraries. The index is right on this node now; "
                                    "it can differ on other nodes and after a reboot.")
                   : Advice("The ports have their routable RoCE v2 GIDs at different indexes, so "
                            "no fixed index is right for all.")},
           setting.Key());
  out.SetAffected(faults.TakeSubjects());
}

void JudgeGidIndexes(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting :
       SettingsOf(jobs, {"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"}))
    JudgeGidIndex(node, setting, out);
}

// job_roce_version_routable

void JudgeRoceVersion(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting : SettingsOf(jobs, {"NCCL_IB_ROCE_VERSION_NUM"})) {
    const bool roce = std::any_of(node.ports.begin(), node.ports.end(), [](const PortView& port) {
      return port.rail && IsRoce(port) && IsUp(port);
    });
    if (!roce) continue;
    if (setting.variable->value() != "1") {
      out.Pass();
      continue;
    }
    out.Fail(SubjectOf(node), Format("{}: NCCL uses RoCE v1, expected RoCE v2", setting.Text()),
             {ToEvidence(*node.node, {.what = "RoCE version of NCCL",
                                      .expected = "2",
                                      .seen = "1",
                                      .source = SourceOf(*setting.job, *setting.variable),
                                      .basis = "no router forwards RoCE v1"})},
             {SetJobVariable(setting, {}, "The default is 2.")}, setting.Key());
  }
}

// job_pkey_index_used

std::optional<std::uint32_t> PkeyAt(const v1::Port& port, std::int64_t index) {
  for (int i = 0; i < port.pkey_indexes_size() && i < port.pkeys_size(); ++i)
    if (port.pkey_indexes(i) == index) return port.pkeys(i);
  return {};
}

void JudgePkeyIndex(const fleet::NodeView& node, const JobSetting& setting, Verdicts& out) {
  const auto index = NumberIn(*setting.variable);
  if (!index) return;
  PortFaults faults;
  std::uint64_t passes = 0;
  for (const PortView* const port : PortsOf(*setting.job, setting.variable->name(), node)) {
    if (port->port->link_layer() != v1::LINK_LAYER_INFINIBAND || port->port->pkey_indexes().empty())
      continue;
    if (PkeyAt(*port->port, *index)) {
      ++passes;
      continue;
    }
    faults.Add(*port, {.what = Format("P_Key {} of {}", *index, port->device->name()),
                       .expected = "a partition",
                       .seen = "empty",
                       .source = PortFile(*port, Format("pkeys/{}", *index)),
                       .basis = Format("{} in {}", setting.Key(),
                                       SourceOf(*setting.job, *setting.variable))});
  }
  if (faults.empty()) return out.Pass(passes);
  out.Fail(
      SubjectOf(node),
      Format("{}: P_Key {} is empty on {}, expected a partition", setting.Text(), *index,
             faults.Ports()),
      faults.TakeEvidence(),
      {SetJobVariable(setting, {}, "NCCL_IB_PKEY is an index of the P_Key table, not a P_Key."),
       Advice("If jobs need the partition, add the port GUIDs to it at the subnet manager.")},
      setting.Key());
  out.SetAffected(faults.TakeSubjects());
}

void JudgePkeyIndexes(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting : SettingsOf(jobs, {"NCCL_IB_PKEY"}))
    JudgePkeyIndex(node, setting, out);
}

}  // namespace

extern const Rule job_gid_index_usable = {
    .id = "job_gid_index_usable",
    .title = "The GID index that a job sets has a routable RoCE v2 GID on every port that it uses",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "With an index that is empty, RoCE v1 or link-local, connections fail at RTR or with "
        "'retry exceeded', or work within one switch only. Indexes differ between nodes and "
        "containers: no index is right everywhere.",
    .source =
        "NCCL, NCCL_IB_GID_INDEX; github.com/NVIDIA/nccl/issues/769, "
        "github.com/NVIDIA/nccl/issues/1510",
    .needs = {Input::kRdmaProcesses, Input::kGids},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "Leave NCCL_IB_GID_INDEX unset, or set the index of the RoCE v2 GID",
    .evaluate_node = JudgeGidIndexes,
};

extern const Rule job_roce_version_routable = {
    .id = "job_roce_version_routable",
    .title = "A job does not select RoCE v1",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why = "RoCE v1 does not run over IP: jobs work within one Ethernet segment only.",
    .source = "NCCL, NCCL_IB_ROCE_VERSION_NUM",
    .needs = {Input::kRdmaProcesses, Input::kGids},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "unset NCCL_IB_ROCE_VERSION_NUM",
    .evaluate_node = JudgeRoceVersion,
};

extern const Rule job_pkey_index_used = {
    .id = "job_pkey_index_used",
    .title = "The P_Key index that a job sets is not empty on any port that it uses",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "NCCL_IB_PKEY is an index of the P_Key table. With the index of an empty slot, queue pairs "
        "cannot be set up: 'Invalid argument' at INIT.",
    .source =
        "NCCL, NCCL_IB_PKEY; kernel Documentation/infiniband/core_locking.rst (ib_query_pkey)",
    .needs = {Input::kRdmaProcesses, Input::kRdmaPorts},
    .access = Access::kJobEnvironment,
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "Set the index of the partition's P_Key, or leave NCCL_IB_PKEY unset",
    .evaluate_node = JudgePkeyIndexes,
};

}  // namespace fabric::rules
