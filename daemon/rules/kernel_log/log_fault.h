// Rule kind of this folder: lines of the kernel log that mean a fault.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

struct LogPattern {
  std::string_view category;  // Of KernelLogLine
  std::string_view text;      // Part of the line
};

// What a line names.
struct LogPlace {
  std::string_view address;               // Empty: the line names none
  const fleet::PortView* port = nullptr;  // nullptr: none, or not known
};

struct LogFault {
  std::span<const LogPattern> patterns;
  std::string_view except = {};  // A line that also contains this belongs to another rule.
  std::string_view what;         // Title of the finding
  std::vector<v1::Remedy> (*remedies)(const LogPlace&) = nullptr;
  // Whether a line that matches is a fault on this node; nullptr: always.
  bool (*applies)(const fleet::NodeView& node, const v1::KernelLogLine& line) = nullptr;
  bool without_ports = false;  // Also judges nodes without RDMA ports.
};

// One finding for each device that lines of the last day name. A node with a log and without such
// lines passes.
void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out);

}  // namespace fabric::rules
