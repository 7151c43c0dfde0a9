// Traffic class of jobs: DSCP and priority of their packets.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/jobs/job_settings.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// job_traffic_class_lossless

// Whether the driver replaces the traffic class of applications.
bool IsOverridden(const PortView& port) {
  return port.port->roce_defaults().has_traffic_class();
}

// "priority 0 (DSCP 0)" when this is wrong for RoCE data; empty when right or not known.
std::string WrongClass(const PortView& port, std::uint32_t dscp, std::string& expected) {
  if (port.expected().has_data_dscp()) {
    if (dscp == port.expected().data_dscp()) return {};
    expected = Format("DSCP {} ({})", port.expected().data_dscp(), ProfileBasis(*port.expectation));
    return Format("DSCP {}", dscp);
  }
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !HasPfc(port)) return {};
  const auto priority = PriorityOfDscp(*dcb, dscp);
  if (!priority || PfcMask(port)->Has(*priority)) return {};
  expected = Format("a priority with PFC ({})", ToText(*PfcMask(port)));
  return Format("priority {} (DSCP {})", *priority, dscp);
}

// DSCP that all of the ports want; nothing if they differ or it is not known.
std::optional<std::uint32_t> CommonDscp(const std::vector<const PortView*>& ports) {
  std::optional<std::uint32_t> common;
  for (const PortView* const port : ports) {
    const auto dscp =
        port->expected().has_data_dscp() ? port->expected().data_dscp() : LosslessDscp(*port);
    if (!dscp || (common && *common != *dscp)) return {};
    common = *dscp;
  }
  return common;
}

v1::Remedy LosslessAdvice(const PortView& port, std::string_view name) {
  return Advice(
      Format("Set {}=N with N = 4 * DSCP for the DSCP that the fabric uses for RoCE. On "
             "{} DSCP {} lead to a priority with PFC. State data_dscp in the profile to "
             "get the command.",
             name, port.device->name(), LosslessDscps(port)));
}

void JudgeClass(const fleet::NodeView& node, const JobSetting& setting, std::uint32_t tos,
                const std::string& what, Verdicts& out) {
  const std::string& name = setting.variable->name();
  std::vector<const PortView*> ports = PortsOf(*setting.job, name, node);
  std::erase_if(ports,
                [](const PortView* port) { return !CarriesRoce(*port) || IsOverridden(*port); });
  PortFaults faults;
  std::string first;
  std::string wanted;
  const PortView* culprit = nullptr;
  for (const PortView* const port : ports) {
    std::string expected;
    const std::string wrong = WrongClass(*port, tos >> 2, expected);
    if (wrong.empty()) continue;
    if (culprit == nullptr) {
      culprit = port;
      first = wrong;
      wanted = expected;
    }
    faults.Add(*port, {.what = Format("class of RoCE data of the job on {}", port->device->name()),
                       .expected = expected,
                       .seen = wrong,
                       .source = SourceOf(*setting.job, *setting.variable),
                       .basis = QosSource(*port)});
  }
  if (culprit == nullptr) return out.Pass(ports.size());
  const auto dscp = CommonDscp(ports);
  out.Fail(SubjectOf(node),
           Format("{}: {} on {}, expected {}", what, first, faults.Ports(), wanted),
           faults.TakeEvidence(),
           {dscp ? SetJobVariable(setting, Format("{}", TosOfDscp(*dscp)),
                                  Format("{} is 4 * DSCP {}, with the ECN bits of ECT(0).",
                                         TosOfDscp(*dscp), *dscp))
                 : LosslessAdvice(*culprit, name)},
           setting.Key());
  out.SetAffected(faults.TakeSubjects());
}

// NCCL sends with traffic class 0 by default. UCX and NVSHMEM have other defaults.
void JudgeUnset(const fleet::NodeView& node, const std::vector<Job>& jobs, Verdicts& out) {
  for (const Job& job : jobs) {
    const bool nccl = MappedLibrary(job, "libnccl") != nullptr;
    if (!nccl || !job.environment_known || FindVariable(job, "NCCL_IB_TC") != nullptr) continue;
    v1::JobVariable unset;
    unset.set_name("NCCL_IB_TC");
    unset.set_value("0");
    unset.set_source("environment");
    return JudgeClass(node, {.job = &job, .variable = &unset}, 0,
                      Format("NCCL_IB_TC of {} is not set", job.name), out);
  }
}

void JudgeClasses(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  for (const JobSetting& setting :
       SettingsOf(jobs, {"NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS", "NVSHMEM_IB_TRAFFIC_CLASS"})) {
    const auto tos = NumberIn(*setting.variable);
    if (tos && *tos >= 0 && *tos < 256)
      JudgeClass(node, setting, static_cast<std::uint32_t>(*tos), setting.Text(), out);
  }
  JudgeUnset(node, jobs, out);
}

// traffic_class_without_rules

void JudgeRules(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const auto& rules = port.port->roce_defaults().traffic_class_rules();
    if (!port.port->has_roce_defaults()) return;
    if (rules.empty()) return out.Pass();
    const std::vector<std::string> lines(rules.begin(), rules.end());
    FailOn(port,
           {.what = "rules of the traffic class override",
            .expected = "none",
            .seen = ListedAll(lines),
            .source = TrafficClassFile(port),
            .basis = "they hold for some peers only"},
           {Advice(Format("Check that the rules in /{} are wanted: traffic to other addresses has "
                          "the class of the application.",
                          TrafficClassFile(port)))},
           out);
  });
}

// gpu_initiated_traffic_class

bool IsGpuInitiated(const Job& job) {
  const v1::JobVariable* const enabled = FindVariable(job, "NVSHMEM_IB_ENABLE_IBGDA");
  return enabled != nullptr && enabled->value() != "0" && enabled->value() != "false";
}

void FailGpuInitiated(const fleet::NodeView& node, const PortView& port, const std::string& basis,
                      Verdicts& out) {
  const std::uint32_t tos = port.port->roce_defaults().traffic_class();
  out.Fail(port.Subject(),
           Format("traffic class override {} does not apply to GPU-initiated queue pairs, expected "
                  "the class in the library too",
                  tos),
           {ToEvidence(*node.node, {.what = "traffic class override of " + port.device->name(),
                                    .expected = "not set, or set in the library too",
                                    .seen = Format("{}", tos),
                                    .source = TrafficClassFile(port),
                                    .basis = basis})},
           {Change({.command = Format("export NVSHMEM_IB_TRAFFIC_CLASS={}", tos),
                    .affects = v1::REMEDY_REACH_JOB,
                    .interrupts = kInterruptsNothing,
                    .lasts = UntilReboot("set it in the job scripts"),
                    .undo = "unset NVSHMEM_IB_TRAFFIC_CLASS",
                    .note = "Libraries without such a variable need a change of their source, or "
                            "PFC and ECN on priority 0."})});
}

// Queue pairs that a GPU creates by DevX do not have the driver's override. Counters show the
// result: rdma_on_lossless_priority.
void JudgeGpuInitiated(const fleet::NodeView& node, Verdicts& out) {
  const std::vector<Job> jobs = JobsOf(node);
  const auto job = std::find_if(jobs.begin(), jobs.end(), IsGpuInitiated);
  const bool by_job = job != jobs.end();
  const bool has_class = by_job && FindVariable(*job, "NVSHMEM_IB_TRAFFIC_CLASS") != nullptr;
  ForRocePorts(node, [&](const PortView& port) {
    const bool by_profile = port.expected().gpu_initiated_networking();
    if (!by_profile && !by_job) return;
    if (!IsOverridden(port) || has_class) return out.Pass();
    FailGpuInitiated(
        node, port,
        by_job ? "NVSHMEM_IB_ENABLE_IBGDA of " + job->name : ProfileBasis(*port.expectation), out);
  });
}

}  // namespace

extern const Rule job_traffic_class_lossless = {
    .id = "job_traffic_class_lossless",
    .title = "The traffic class of a job leads to the priority of RoCE data",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Packets of the job use a priority without PFC: they are dropped under congestion, and "
        "NICs retransmit, while PFC and the map of DSCPs are right. Not judged where the driver "
        "overrides the class. NCCL without NCCL_IB_TC sends with DSCP 0.",
    .source = "NCCL, NCCL_IB_TC; UCX, UCX_IB_TRAFFIC_CLASS; RFC 2474",
    .needs = {Input::kRdmaProcesses, Input::kDcb, Input::kRoceDefaults},
    .access = Access::kJobEnvironment,
    .profile = {v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kJobEnvironment, .applies = HasJobs}},
    .fix = "export NCCL_IB_TC=N, with N = 4 * DSCP + 2",
    .evaluate_node = JudgeClasses,
};

extern const Rule traffic_class_without_rules = {
    .id = "traffic_class_without_rules",
    .title = "MLNX_OFED's traffic class override has no rules for single addresses",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "With such rules, traffic to some peers has another priority than to others, which no "
        "other setting shows.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class)",
    .needs = {Input::kRoceDefaults},
    .reads = {{.field = Field::kTrafficClass, .applies = IsRoceInUse}},
    .fix = "Remove the rules, or check that they are wanted",
    .evaluate_node = JudgeRules,
};

extern const Rule gpu_initiated_traffic_class = {
    .id = "gpu_initiated_traffic_class",
    .title = "The traffic class of GPU-initiated queue pairs is set in the library",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Queue pairs that GPUs create by DevX do not have the driver's traffic class override: "
        "their packets use DSCP 0 and a lossy priority. One drop in thousands of launches ends "
        "the job with a transport error.",
    .source = "NVIDIA MLNX_OFED (tc/1/traffic_class); github.com/NVIDIA/nccl/issues/2383",
    .needs = {Input::kRdmaProcesses, Input::kRoceDefaults},
    .access = Access::kJobEnvironment,
    .profile = {v1::Expectations::kGpuInitiatedNetworkingFieldNumber},
    .reads = {{.field = Field::kTrafficClass,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kGpuInitiatedNetworkingFieldNumber}},
    .fix = "export NVSHMEM_IB_TRAFFIC_CLASS=N",
    .evaluate_node = JudgeGpuInitiated,
};

}  // namespace fabric::rules
