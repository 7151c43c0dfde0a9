#include "base/text.h"
#include "daemon/rules/kernel_log/kernel_lines.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr Trouble kTroubles[] = {{"peermem", "detected invalid context"}};

std::vector<v1::Remedy> Remedies(std::string_view) {
  return {ToRemedy({.command = "cat /sys/module/nvidia/version",
                    .interrupts_traffic = true,
                    .note = "Update the GPU driver; meanwhile end the job and load "
                            "nvidia_peermem again, or let jobs use dma-buf."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node,
           {.troubles = kTroubles,
            .what = "nvidia-peermem detected an invalid context",
            .remedies = Remedies},
           out);
}

}  // namespace

extern const Rule log_peermem_context_valid = {
    .id = "log_peermem_context_valid",
    .title = "nvidia-peermem has not met an invalid context in the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The module lost track of GPU memory that a NIC has registered, a known fault of older "
        "drivers: what follows are hanging processes, and memory that stays pinned.",
    .source = "NVIDIA open GPU kernel modules, nvidia-peermem.c (nv_get_p2p_free_callback)",
    .needs = {Input::kKernelLog},
    .fix = "update the GPU driver",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
