// Lines of the kernel log about a GPU library of another version than the kernel module.
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

// The module lets no client of another version in, so neither GPU programs nor GPUDirect RDMA work.
bool UsesGpudirect(const fleet::NodeView& node, const v1::KernelLogLine&) {
  const v1::Expectations& expected = node.expected();
  return HasGpuInUse(node.node->snapshot) && (!expected.has_gpudirect() || expected.gpudirect());
}

constexpr LogFault kOtherVersion = {
    .topic = LogTopic::kGpuVersion,
    .what = "the GPU driver refused a program whose library has another version",
    .remedies = UpdateLibraryOrModule,
    .applies = UsesGpudirect};

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
        "without a reboot, and a container with its own library. Not judged where the profile says "
        "that jobs do not use GPUDirect.",
    .source = "NVIDIA open GPU kernel modules, check of the version of a client (API mismatch)",
    .needs = {Input::kKernelLog, Input::kGpus},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reboot after an update of the driver; remove the library from the container",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kOtherVersion, out); },
};

}  // namespace fabric::rules
