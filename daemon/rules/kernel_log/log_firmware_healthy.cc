#include "base/text.h"
#include "daemon/rules/kernel_log/kernel_lines.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr Trouble kTroubles[] = {
    {"mlx5", "health compromised"},      {"mlx5", "Fatal error"},
    {"mlx5", "Health issue observed"},   {"mlx5", "handling bad device"},
    {"mlx5", "PCI slot is unavailable"}, {"bnxt", "Firmware heartbeat stalled"},
    {"bnxt", "FW fatal error"},          {"bnxt", "Firmware fatal reset"}};

std::vector<v1::Remedy> Remedies(std::string_view address) {
  return {ToRemedy({.command = Format("devlink health show pci/{}", address),
                    .note = "'state error' on reporter fw or fw_fatal confirms it."}),
          ToRemedy({.platform = "mlx5",
                    .command = Format("mlxfwreset -d {} reset", address),
                    .interrupts_traffic = true,
                    .note = "Drain the node first; a cold boot where it does not help. Ask the "
                            "vendor with the lines, and update the firmware."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node,
           {.troubles = kTroubles,
            .except = "emperature",  // log_no_overtemperature
            .what = "the NIC's firmware reported that it is ill",
            .remedies = Remedies},
           out);
}

}  // namespace

extern const Rule log_firmware_healthy = {
    .id = "log_firmware_healthy",
    .title = "The kernel has not found the firmware of a NIC ill in the last day",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A NIC whose firmware stops is reset by its driver, or lost until the next boot: all "
        "connections of jobs on it break.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/health.c; "
        "drivers/net/ethernet/broadcom/bnxt/bnxt.c",
    .needs = {Input::kKernelLog},
    .fix = "devlink health show; reset or update the firmware",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
