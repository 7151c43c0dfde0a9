#include "base/text.h"
#include "daemon/rules/kernel_log/kernel_lines.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr Trouble kTroubles[] = {{"mlx5", "Will cause a leak of a command resource"},
                                 {"bnxt", "Error (timeout: "},
                                 {"bnxt", "timedout ("},
                                 {"irdma", "CQP timed out"}};

std::vector<v1::Remedy> Remedies(std::string_view address) {
  return {ToRemedy({.command = Format("devlink health show pci/{}", address),
                    .note = "Drain the node and boot it cold; when it comes back update the "
                            "firmware, and look at the PCIe errors of the card."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node,
           {.troubles = kTroubles,
            .what = "commands to the NIC's firmware timed out",
            .remedies = Remedies},
           out);
}

}  // namespace

extern const Rule log_no_command_timeouts = {
    .id = "log_no_command_timeouts",
    .title = "The firmware of no NIC has left a command unanswered in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Connections are made by commands to the firmware: one that does not answer makes jobs "
        "hang when they start or end, and what the command held is lost until the next boot. It "
        "is often the first sign of a failing card.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/cmd.c; "
        "drivers/net/ethernet/broadcom/bnxt/bnxt_hwrm.c",
    .needs = {Input::kKernelLog},
    .fix = "boot the node cold; update the firmware",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
