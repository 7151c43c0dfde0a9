#include "daemon/rules/kernel_log/log_fault.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedy.h"
#include "proto/timestamps.h"

namespace fabric::rules {
namespace {

using LogLines = LinesByPlace::mapped_type;

constexpr std::int64_t kRecentSeconds = 24 * 3600;

bool IsBelow(const v1::PciFunction* function, const std::string& bridge) {
  return function != nullptr &&
         std::ranges::find(function->path(), bridge) != function->path().end();
}

// Bridges that lines name, the deepest first.
std::vector<std::string> NamedBridges(const fleet::NodeView& node, const LinesByPlace& by_place) {
  std::vector<const v1::PciFunction*> bridges;
  for (const auto& [place, lines] : by_place)
    if (const v1::PciFunction* const function = NamedFunction(node, *lines[0]);
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
      if (IsBelow(NamedFunction(node, *at->second[0]), bridge)) below.push_back(at);
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
  const v1::PciFunction* const function = NamedFunction(node, *lines[0]);
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

// ", last at 2026-03-01 10:02 UTC", to the minute: the time of the log drifts.
std::string LastTime(const v1::KernelLogLine& line) {
  if (!line.has_last_at()) return {};
  std::string at = ToString(line.last_at());
  constexpr std::size_t kMinutes = std::string_view("2026-03-01T10:02").size();
  if (at.size() < kMinutes) return {};
  at.resize(kMinutes);
  at[at.find('T')] = ' ';
  return Format(", last at {} UTC", at);
}

// Both have a time, and the line is not older. Lines without one are in the order of their first
// occurrence, which says something about a line that occurred once.
bool IsAfter(const v1::KernelLogLine& line, const v1::KernelLogLine& other, bool behind) {
  if (line.has_last_at() && other.has_last_at())
    return Nanoseconds(line.last_at()) >= Nanoseconds(other.last_at());
  return behind && other.count() == 1;
}

// The line that says that the fault is over; nullptr: none.
const v1::KernelLogLine* RecoveryOf(const fleet::NodeView& node, const LogFault& fault,
                                    const LogLines& lines) {
  if (fault.recovered_by == LogTopic::kNone) return nullptr;
  const std::string_view card = NamedCard(node, *lines[0]);
  if (card.empty()) return nullptr;
  std::set<const v1::KernelLogLine*> before;
  for (const v1::KernelLogLine& line : node.node->snapshot.kernel_log()) {
    before.insert(&line);
    if (!IsAbout(line, fault.recovered_by) || NamedCard(node, line) != card) continue;
    if (std::ranges::all_of(lines, [&](const v1::KernelLogLine* other) {
          return IsAfter(line, *other, before.contains(other));
        }))
      return &line;
  }
  return nullptr;
}

void AddOtherDevice(const fleet::NodeView& node, const LogFault& fault, std::string_view place,
                    const LogLines& lines, Verdicts& out) {
  out.Unknown(
      SubjectOf(node),
      Format("{} of a device that is not of the fabric: {}", fault.what, WhereOf(node, *lines[0])),
      LogEvidence(node, lines), place);
}

void FailPlace(const fleet::NodeView& node, const LogFault& fault, std::string_view place,
               const LogLines& lines, Verdicts& out) {
  const fleet::PortView* const port = PortOf(node, *lines[0]);
  const std::string_view address = AddressOf(node, *lines[0]);
  const std::string where = WhereOf(node, *lines[0]);
  const v1::KernelLogLine* const recovery = RecoveryOf(node, fault, lines);
  std::vector<v1::Evidence> evidence = LogEvidence(node, lines);
  std::vector<v1::Remedy> remedies;
  if (recovery != nullptr) {
    evidence.push_back(ToEvidence(*node.node, {.what = "kernel log, after it" + LastTime(*recovery),
                                               .expected = "recovery",
                                               .seen = recovery->text(),
                                               .source = "kernel log",
                                               .basis = "rule"}));
    remedies.push_back(Advice(
        "The device works again and needs no reset now. Job connections opened before "
        "the fault are broken. If the fault comes back, drain the node and send the lines to the "
        "vendor."));
  } else {
    remedies = fault.remedies({.address = address.empty() && port != nullptr
                                              ? std::string_view(port->device->pci_address())
                                              : address,
                               .port = port});
  }
  out.Fail(port != nullptr ? DeviceSubject(*port) : SubjectOf(node),
           Format("{}, expected none{}{}{}", fault.what, where.empty() ? "" : ": ", where,
                  recovery == nullptr ? "" : "; it has recovered since"),
           std::move(evidence), std::move(remedies), port != nullptr ? std::string_view() : place);
  if (recovery != nullptr)
    out.findings().back().set_severity(v1::SEVERITY_WARNING);
  else if (fault.severity != v1::SEVERITY_UNSPECIFIED)
    out.findings().back().set_severity(fault.severity);
}

}  // namespace

std::int64_t LogReferenceTime(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.captured()) return snapshot.taken_at().seconds();
  std::int64_t last = 0;
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    last = std::max(last, line.last_at().seconds());
  return last;
}

bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line) {
  if (!line.has_last_at()) return snapshot.captured();
  return line.last_at().seconds() + kRecentSeconds >= LogReferenceTime(snapshot);
}

std::vector<v1::Evidence> LogEvidence(const fleet::NodeView& node,
                                      const std::vector<const v1::KernelLogLine*>& lines) {
  std::vector<v1::Evidence> evidence;
  for (const v1::KernelLogLine* line : lines)
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(
          ToEvidence(*node.node, {.what = Format("kernel log, {} time{}{}", line->count(),
                                                 line->count() == 1 ? "" : "s", LastTime(*line)),
                                  .expected = "no such line",
                                  .seen = line->text(),
                                  .source = "kernel log",
                                  .basis = "rule"}));
  return evidence;
}

void AddByPlace(const fleet::NodeView& node, const v1::KernelLogLine& line, LinesByPlace& lines) {
  const std::string_view card = NamedCard(node, line);
  lines[card.empty() ? WhereOf(node, line) : std::string(card)].push_back(&line);
}

void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.kernel_log().empty()) return;
  if (node.ports.empty() && !fault.without_ports) return;
  const LinesByPlace by_place = FaultsOf(node, fault);
  if (by_place.empty()) return out.Pass();
  for (const auto& [place, lines] : by_place) {
    if (IsOfOtherDevice(node, *lines[0]))
      AddOtherDevice(node, fault, place, lines, out);
    else
      FailPlace(node, fault, place, lines, out);
  }
}

}  // namespace fabric::rules
