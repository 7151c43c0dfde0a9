#include "base/text.h"
#include "daemon/rules/kernel_log/kernel_lines.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Xids after which RDMA cannot reach the GPU's memory, or not what it was. Others end a program, or
// are NVLink's.
constexpr Trouble kTroubles[] = {
    {"xid", "): 79,"},   // Fallen off the bus
    {"xid", "): 95,"},   // Memory error that is not contained
    {"xid", "): 119,"},  // GSP does not answer
    {"xid", "): 120,"},  // GSP error
};

std::vector<v1::Remedy> Remedies(std::string_view address) {
  return {ToRemedy({.command = Format("nvidia-smi --gpu-reset -i {}", address),
                    .interrupts_traffic = true,
                    .note = "Drain the node first. A GPU that fell off the bus needs a cold boot; "
                            "one that does it again a repair."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node,
           {.troubles = kTroubles,
            .what = "Xid after which RDMA cannot reach the GPU's memory",
            .remedies = Remedies},
           out);
}

}  // namespace

extern const Rule log_gpu_reachable = {
    .id = "log_gpu_reachable",
    .title = "No GPU has got lost to RDMA in the last day (Xid 79, 95, 119, 120)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Peers of a GPU that fell off the bus, or whose firmware or memory failed, see remote "
        "access and transport errors, and search for them in the fabric. The cause is here.",
    .source = "NVIDIA XID errors (docs.nvidia.com/deploy/xid-errors)",
    .needs = {Input::kKernelLog},
    .fix = "reset the GPU; boot the node cold",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
