// Rule kind of this folder: lines of the kernel log that mean a fault.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/kernel_log/log_lines.h"
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
};

// Written in the last day before the snapshot. A capture may be read years later: there, in the
// last day before its last dated line, and lines without a date count.
bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line);
// The port on the card that the line names; nullptr if there is none or it is unknown.
const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line);
// Lines by what they name. Both functions of a card log the same line, by address or by name.
using LinesByPlace = std::map<std::string, std::vector<const v1::KernelLogLine*>>;
void AddByPlace(const fleet::NodeView& node, const v1::KernelLogLine& line, LinesByPlace& lines);
// "mlx5_1 (0000:18:00.0)"; empty if the line names nothing.
std::string WhereOf(const fleet::NodeView& node, const v1::KernelLogLine& line);
std::vector<v1::Evidence> LogEvidence(const fleet::NodeView& node,
                                      const std::vector<const v1::KernelLogLine*>& lines);
// True if no port of the card that the line names is up.
bool HasNoLink(const fleet::NodeView& node, const v1::KernelLogLine& line);
// True if the line names a card with RDMA ports.
bool IsOfRdmaCard(const fleet::NodeView& node, const v1::KernelLogLine& line);

// One finding for each device that lines of the last day name. A node with a log and without such
// lines passes.
void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out);

}  // namespace fabric::rules
