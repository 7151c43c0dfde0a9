#include "daemon/rules/kernel_log/log_fault.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

constexpr std::int64_t kRecentSeconds = 24 * 3600;

std::int64_t ReferenceTime(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.captured()) return snapshot.taken_at().seconds();
  std::int64_t last = 0;
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    last = std::max(last, line.last_at().seconds());
  return last;
}

// Written in the last day before the snapshot. A capture may be read years later: there, in the
// last day before its last dated line, and lines without a date count.
bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line) {
  if (!line.has_last_at()) return snapshot.captured();
  return line.last_at().seconds() + kRecentSeconds >= ReferenceTime(snapshot);
}

bool Matches(const LogFault& fault, const v1::KernelLogLine& line) {
  const std::string_view text = line.text();
  if (!fault.except.empty() && text.find(fault.except) != std::string_view::npos) return false;
  return std::any_of(fault.patterns.begin(), fault.patterns.end(), [&](const LogPattern& pattern) {
    return line.category() == pattern.category && text.find(pattern.text) != std::string_view::npos;
  });
}

// The port on the card that the line names; nullptr if there is none or it is unknown.
const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  for (const fleet::PortView& port : node.ports)
    if ((line.has_pci_address() && port.device->pci_address() == line.pci_address()) ||
        (line.has_device() &&
         (port.device->name() == line.device() || port.port->netdev() == line.device())))
      return &port;
  return nullptr;
}

std::string_view AddressOf(const std::string& address, const fleet::PortView* port) {
  return address.empty() && port != nullptr ? std::string_view(port->device->pci_address())
                                            : std::string_view(address);
}

using Lines = std::vector<const v1::KernelLogLine*>;

void Fail(const fleet::NodeView& node, const LogFault& fault, const std::string& place,
          const Lines& lines, Verdicts& out) {
  const fleet::PortView* const port = PortOf(node, *lines[0]);
  const std::string& address = lines[0]->pci_address();
  std::string where = port != nullptr    ? port->device->name()
                      : !address.empty() ? address
                                         : lines[0]->device();
  if (port != nullptr && !address.empty()) where += Format(" ({})", address);
  std::vector<v1::Evidence> evidence;
  for (const v1::KernelLogLine* line : lines)
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(ToEvidence(
          *node.node,
          {.what = Format("kernel log, {} time{}", line->count(), line->count() == 1 ? "" : "s"),
           .expected = "no such line",
           .seen = line->text(),
           .source = "kernel log",
           .basis = "rule"}));
  out.Fail(port != nullptr ? DeviceSubject(*port) : SubjectOf(node),
           Format("{}, expected none{}{}", fault.what, where.empty() ? "" : ": ", where),
           std::move(evidence), fault.remedies({.address = AddressOf(address, port), .port = port}),
           port != nullptr ? std::string_view() : std::string_view(place));
}

}  // namespace

void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.kernel_log().empty()) return;
  if (node.ports.empty() && !fault.without_ports) return;
  std::map<std::string, Lines> by_place;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    if (!Matches(fault, line) || !IsRecent(snapshot, line)) continue;
    if (fault.applies != nullptr && !fault.applies(node, line)) continue;
    // Both functions of a card log the same line.
    const std::string_view place =
        line.has_pci_address() ? CardOf(line.pci_address()) : std::string_view(line.device());
    by_place[std::string(place)].push_back(&line);
  }
  if (by_place.empty()) return out.Pass();
  for (const auto& [place, lines] : by_place) Fail(node, fault, place, lines, out);
}

}  // namespace fabric::rules
