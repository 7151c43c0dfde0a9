// Limits of actions on nodes: settings remediation, remediation-per-hour, remediation-percent.
#pragma once

#include <cstdint>

namespace fabric::control {

enum class Remediation { kOff, kApprove, kAutomatic };

struct ActionOptions {
  Remediation mode = Remediation::kOff;
  std::uint32_t per_hour = 4;        // NodeActions that are approved
  std::uint32_t nodes_percent = 10;  // Nodes with an action that is in force, rounded down
};

}  // namespace fabric::control
