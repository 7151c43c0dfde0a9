#include "base/text.h"
#include "daemon/rules/kernel_log/kernel_lines.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr Trouble kTroubles[] = {{"mlx5", "High Temperature"},  // Of the cable's module
                                 {"mlx5", "High temperature"},  // Of the card
                                 {"bnxt", "temperature threshold"}};

std::vector<v1::Remedy> Remedies(std::string_view address) {
  return {ToRemedy({.command = "ethtool -m NETDEV",
                    .note = "Shows the module's temperature and limits; 'Cable error' in the line "
                            "means the module, 'sensors' the card."}),
          ToRemedy({.platform = "mlx5",
                    .command = Format("mget_temp -d {}", address),
                    .note = "Of the card. Look at fans, blanking panels and the air's way."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node,
           {.troubles = kTroubles, .what = "a NIC or its module ran too hot", .remedies = Remedies},
           out);
}

}  // namespace

extern const Rule log_no_overtemperature = {
    .id = "log_no_overtemperature",
    .title = "No NIC or cable module has run too hot in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A module that is too hot is switched off, and the link goes down in the middle of a "
        "job, most often under load; before that its bit errors rise.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/events.c (port module events, "
        "temp_warn)",
    .needs = {Input::kKernelLog},
    .fix = "cooling of the node; then the module",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
