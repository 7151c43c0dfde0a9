// Lines of the kernel's log as evidence of a fault.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/rules/facts.h"

namespace fabric::rules {

// What a line of trouble says.
struct Trouble {
  std::string_view category;  // Of KernelLogLine
  std::string_view text;      // Part of the line
};

// Written in the day before the snapshot. In a capture, whose snapshot may be years later: in the
// day before its last dated line; one without a date counts.
bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line);

struct LogFault {
  std::span<const Trouble> troubles;
  std::string_view except = {};  // A line that has this too says something else
  std::string_view what;         // "Firmware of {} stopped": {} is the device or address
  std::vector<v1::Remedy> (*remedies)(std::string_view address) = nullptr;
};

// One finding for each device that recent lines name; a pass for a node with a log and none.
void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out);

}  // namespace fabric::rules
