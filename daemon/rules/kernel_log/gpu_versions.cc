// Lines of the kernel log about a GPU library of another version than the kernel module.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kernel_log/log_fault.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

std::vector<v1::Remedy> UpdateLibraryOrModule(const LogPlace&) {
  return {Query({.command = "cat /sys/module/nvidia/version; nvidia-smi --query-gpu=driver_version "
                            "--format=csv,noheader",
                 .note = "The line names the version of the library. If nvidia-smi works on the "
                         "host, the library is that of a container."}),
          Advice("After an update of the driver: drain the node and reboot it, or end all GPU "
                 "programs and load the modules again. In a container: remove its own copy of "
                 "libcuda, so that the container runtime supplies that of the host.")};
}

const v1::GpuDriver& DriverOf(const v1::NodeSnapshot& snapshot) {
  return snapshot.peer_memory().gpu_driver();
}

// The module was loaded again since, in the version of the library that the line names.
bool IsVersionOfModule(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line) {
  const std::string& version = DriverOf(snapshot).version();
  return !version.empty() &&
         line.text().find("client has the version " + version) != std::string::npos;
}

// The module lets no client of another version in, so neither GPU programs nor GPUDirect RDMA work.
bool IsRefused(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const v1::Expectations& expected = node.expected();
  return HasGpuInUse(node.node->snapshot) && (!expected.has_gpudirect() || expected.gpudirect()) &&
         !IsVersionOfModule(node.node->snapshot, line);
}

constexpr LogFault kOtherVersion = {
    .topic = LogTopic::kGpuVersion,
    .what = "the GPU driver refused a program whose library has another version",
    .remedies = UpdateLibraryOrModule,
    .applies = IsRefused};

// A host with a wrong library logs the line again and again: by monitoring, and by each job. So
// the line is about one container or an old program if the host's own library works, or if the
// line has not come back.
std::optional<std::string> WhyOneProgram(const v1::NodeSnapshot& snapshot,
                                         const v1::KernelLogLine& newest) {
  constexpr std::int64_t kRepeatedSeconds = 3600;
  if (DriverOf(snapshot).has_nvml_version()) return "the library of the host fits";
  if (newest.has_last_at() &&
      newest.last_at().seconds() + kRepeatedSeconds < LogReferenceTime(snapshot))
    return "no such line for the last hour";
  return {};
}

const v1::KernelLogLine* NewestRefusal(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const v1::KernelLogLine* newest = nullptr;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    if (!IsAbout(line, kOtherVersion.topic) || !IsRecent(snapshot, line) || !IsRefused(node, line))
      continue;
    if (newest == nullptr || line.last_at().seconds() >= newest->last_at().seconds())
      newest = &line;
  }
  return newest;
}

void JudgeGpuVersions(const fleet::NodeView& node, Verdicts& out) {
  const v1::KernelLogLine* const newest = node.ports.empty() ? nullptr : NewestRefusal(node);
  const auto why = newest == nullptr ? std::nullopt : WhyOneProgram(node.node->snapshot, *newest);
  if (!why) return JudgeLog(node, kOtherVersion, out);
  out.Unknown(SubjectOf(node),
              Format("{}: one container or an old program ({})", kOtherVersion.what, *why),
              LogEvidence(node, {newest}));
}

}  // namespace

extern const Rule log_gpu_libraries_fit = {
    .id = "log_gpu_libraries_fit",
    .title =
        "The kernel has logged no GPU library of another version than the GPU driver in the last "
        "day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "The driver refuses programs with another version: jobs on the node do not start, or see "
        "no GPU and use other ones than planned. Usual causes are a driver that was updated "
        "without a reboot, and a container with its own library. The verdict is UNKNOWN if the "
        "library of the host fits, or if the line has not come back for an hour: then one "
        "container has a wrong library. Not judged where the profile says that jobs do not use "
        "GPUDirect.",
    .source = "NVIDIA open GPU kernel modules, check of the version of a client (API mismatch)",
    .needs = {Input::kKernelLog, Input::kGpus, Input::kPeerMemory},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reboot after an update of the driver; remove the library from the container",
    .evaluate_node = JudgeGpuVersions,
};

}  // namespace fabric::rules
