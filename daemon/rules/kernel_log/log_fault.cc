#include "daemon/rules/kernel_log/log_fault.h"

#include <algorithm>

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

// Empty if the line names none, or a device that is not known.
std::string_view NamedCard(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  if (line.has_pci_address()) return CardOf(line.pci_address());
  const fleet::PortView* const port = PortOf(node, line);
  return port == nullptr ? std::string_view() : CardOf(port->device->pci_address());
}

}  // namespace

bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line) {
  if (!line.has_last_at()) return snapshot.captured();
  return line.last_at().seconds() + kRecentSeconds >= ReferenceTime(snapshot);
}

const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  for (const fleet::PortView& port : node.ports)
    if ((line.has_pci_address() && port.device->pci_address() == line.pci_address()) ||
        (line.has_device() &&
         (port.device->name() == line.device() || port.port->netdev() == line.device())))
      return &port;
  return nullptr;
}

std::string WhereOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const fleet::PortView* const port = PortOf(node, line);
  const std::string& address = line.pci_address();
  if (port == nullptr) return address.empty() ? line.device() : address;
  return address.empty() ? port->device->name() : Format("{} ({})", port->device->name(), address);
}

std::vector<v1::Evidence> LogEvidence(const fleet::NodeView& node,
                                      const std::vector<const v1::KernelLogLine*>& lines) {
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
  return evidence;
}

void AddByPlace(const v1::KernelLogLine& line, LinesByPlace& lines) {
  const std::string_view place =
      line.has_pci_address() ? CardOf(line.pci_address()) : std::string_view(line.device());
  lines[std::string(place)].push_back(&line);
}

bool HasNoLink(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const std::string_view card = NamedCard(node, line);
  return std::none_of(node.ports.begin(), node.ports.end(), [&](const fleet::PortView& port) {
    return port.port->state() == v1::PORT_STATE_ACTIVE &&
           CardOf(port.device->pci_address()) == card;
  });
}

bool IsOfRdmaCard(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const std::string_view card = NamedCard(node, line);
  if (card.empty()) return false;
  return std::any_of(node.ports.begin(), node.ports.end(), [&](const fleet::PortView& port) {
    return CardOf(port.device->pci_address()) == card;
  });
}

void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.kernel_log().empty()) return;
  if (node.ports.empty() && !fault.without_ports) return;
  LinesByPlace by_place;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    if (!IsAbout(line, fault.topic) || !IsRecent(snapshot, line)) continue;
    if (fault.applies != nullptr && !fault.applies(node, line)) continue;
    AddByPlace(line, by_place);
  }
  if (by_place.empty()) return out.Pass();
  for (const auto& [place, lines] : by_place) {
    const fleet::PortView* const port = PortOf(node, *lines[0]);
    const std::string& address = lines[0]->pci_address();
    const std::string where = WhereOf(node, *lines[0]);
    out.Fail(port != nullptr ? DeviceSubject(*port) : SubjectOf(node),
             Format("{}, expected none{}{}", fault.what, where.empty() ? "" : ": ", where),
             LogEvidence(node, lines),
             fault.remedies({.address = address.empty() && port != nullptr
                                            ? std::string_view(port->device->pci_address())
                                            : std::string_view(address),
                             .port = port}),
             port != nullptr ? std::string_view() : std::string_view(place));
  }
}

}  // namespace fabric::rules
