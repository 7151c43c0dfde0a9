// Rule kind of this folder: lines of the kernel log that mean a fault.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/kernel_log/log_lines.h"
#include "daemon/rules/kernel_log/log_place.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// What a line names.
struct LogPlace {
  std::string_view address;               // Empty: the line names none
  const fleet::PortView* port = nullptr;  // nullptr: none, or not known
};

struct LogFault {
  LogTopic topic = LogTopic::kNone;  // Of the lines
  std::string_view what;             // Title of the finding
  std::vector<v1::Remedy> (*remedies)(const LogPlace&) = nullptr;
  // Whether a line that matches is a fault on this node; nullptr: always.
  bool (*applies)(const fleet::NodeView& node, const v1::KernelLogLine& line) = nullptr;
  bool without_ports = false;  // Also judges nodes without RDMA ports.
  // Lines of this topic about the same card are evidence too.
  LogTopic with = LogTopic::kNone;
  // The rule skips cards with lines of this topic: another rule reports them.
  LogTopic left_to = LogTopic::kNone;
  // Lines of this topic about the same card, after the fault, mean that it has recovered. The
  // finding says so, and is a warning.
  LogTopic recovered_by = LogTopic::kNone;
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;  // If not that of the rule
};

// In seconds: when the snapshot was taken; of a capture, its last dated line.
std::int64_t LogReferenceTime(const v1::NodeSnapshot& snapshot);
// Written in the last day before the snapshot. A capture may be read years later: there, in the
// last day before its last dated line, and lines without a date count.
bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line);
// Lines by what they name. Both functions of a card log the same line, by address or by name.
using LinesByPlace = std::map<std::string, std::vector<const v1::KernelLogLine*>>;
void AddByPlace(const fleet::NodeView& node, const v1::KernelLogLine& line, LinesByPlace& lines);
std::vector<v1::Evidence> LogEvidence(const fleet::NodeView& node,
                                      const std::vector<const v1::KernelLogLine*>& lines);
// One finding for each device that lines of the last day name; UNKNOWN for devices that are not of
// the fabric. A node with a log and without such lines passes.
void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out);

}  // namespace fabric::rules
