#include "daemon/rules/kernel_log/log_fault.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

using LogLines = LinesByPlace::mapped_type;

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

// nullptr if the lines name no function that the snapshot has.
const v1::PciFunction* NamedFunction(const fleet::NodeView& node, const LogLines& lines) {
  const fleet::PortView* const port = PortOf(node, *lines[0]);
  const std::string& address = lines[0]->pci_address();
  return FindFunction(node.node->snapshot, address.empty() && port != nullptr
                                               ? std::string_view(port->device->pci_address())
                                               : std::string_view(address));
}

bool IsBelow(const v1::PciFunction* function, const std::string& bridge) {
  return function != nullptr &&
         std::ranges::find(function->path(), bridge) != function->path().end();
}

// Bridges that lines name, the deepest first.
std::vector<std::string> NamedBridges(const fleet::NodeView& node, const LinesByPlace& by_place) {
  std::vector<const v1::PciFunction*> bridges;
  for (const auto& [place, lines] : by_place)
    if (const v1::PciFunction* const function = NamedFunction(node, lines);
        function != nullptr && IsBridge(*function))
      bridges.push_back(function);
  std::ranges::stable_sort(bridges, [](const v1::PciFunction* a, const v1::PciFunction* b) {
    return a->path_size() > b->path_size();
  });
  std::vector<std::string> addresses;
  for (const v1::PciFunction* const bridge : bridges) addresses.push_back(bridge->address());
  return addresses;
}

void MoveLines(LinesByPlace::iterator from, LinesByPlace::iterator to, LinesByPlace& by_place) {
  to->second.insert(to->second.end(), from->second.begin(), from->second.end());
  by_place.erase(from);
}

// A PCIe error is logged by the card and by the ports above it. It is the fault of the card, or of
// the port if several cards below have it: `of_bridges` gives the port their lines too.
void FoldBridges(const fleet::NodeView& node, bool of_bridges, LinesByPlace& by_place) {
  for (const std::string& bridge : NamedBridges(node, by_place)) {
    std::vector<LinesByPlace::iterator> below;
    for (auto at = by_place.begin(); at != by_place.end(); ++at)
      if (IsBelow(NamedFunction(node, at->second), bridge)) below.push_back(at);
    const auto at = by_place.find(std::string(CardOf(bridge)));
    if (at == by_place.end()) continue;
    if (below.size() == 1) MoveLines(at, below[0], by_place);
    if (below.size() > 1 && of_bridges)
      for (const auto& card : below) MoveLines(card, at, by_place);
  }
}

bool HasLineAbout(const LogLines& lines, LogTopic topic) {
  return std::ranges::any_of(lines,
                             [&](const v1::KernelLogLine* line) { return IsAbout(*line, topic); });
}

// Whether the place has a fault that the rule reports.
bool IsReported(const fleet::NodeView& node, const LogFault& fault, const LogLines& lines) {
  if (!HasLineAbout(lines, fault.topic)) return false;
  if (fault.left_to == LogTopic::kNone || !HasLineAbout(lines, fault.left_to)) return true;
  const v1::PciFunction* const function = NamedFunction(node, lines);
  return function != nullptr && IsBridge(*function);
}

LinesByPlace FaultsOf(const fleet::NodeView& node, const LogFault& fault) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const LogTopic related = fault.with != LogTopic::kNone ? fault.with : fault.left_to;
  LinesByPlace by_place;
  bool any = false;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    const bool own = IsAbout(line, fault.topic);
    if (!own && (related == LogTopic::kNone || !IsAbout(line, related))) continue;
    if (!IsRecent(snapshot, line)) continue;
    if (own && fault.applies != nullptr && !fault.applies(node, line)) continue;
    any = any || own;
    AddByPlace(node, line, by_place);
  }
  if (!any) return {};
  FoldBridges(node, fault.with == LogTopic::kNone, by_place);
  std::erase_if(by_place,
                [&](const auto& entry) { return !IsReported(node, fault, entry.second); });
  return by_place;
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

void AddByPlace(const fleet::NodeView& node, const v1::KernelLogLine& line, LinesByPlace& lines) {
  const std::string_view card = NamedCard(node, line);
  lines[std::string(card.empty() ? std::string_view(line.device()) : card)].push_back(&line);
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
  const LinesByPlace by_place = FaultsOf(node, fault);
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
