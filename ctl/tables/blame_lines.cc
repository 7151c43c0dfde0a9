#include "ctl/tables/blame_lines.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/coverage.h"

namespace fabric::ctl {
namespace {

// Lines beyond these are shown with -o json only.
constexpr int kNotCoveredMax = 5;
constexpr int kProbesMax = 3;

std::string_view SuspectWord(v1::SuspectKind kind) {
  switch (kind) {
    case v1::SUSPECT_KIND_PORT: return "port ";
    case v1::SUSPECT_KIND_HOST: return "node ";
    case v1::SUSPECT_KIND_LEAF: return "leaf switch ";
    case v1::SUSPECT_KIND_LEAF_PAIR: return "path between ";
    case v1::SUSPECT_KIND_PAIR: return "pair ";
    default: return "";  // The name includes the kind: "rail 3", "fabric".
  }
}

std::string Doing(const v1::Suspect& suspect) {
  const std::string part =
      suspect.severity() > 0 ? Format(" ({:.3g} %)", 100 * suspect.severity()) : std::string();
  const std::string_view what = suspect.direction() == v1::DIRECTION_OUT  ? " that it sends"
                                : suspect.direction() == v1::DIRECTION_IN ? " sent to it"
                                                                          : "";
  if (!suspect.expected().empty())
    return Format(": {} {}, expected {}",
                  suspect.fault() == v1::FAULT_KIND_LOW_BANDWIDTH ? "bandwidth" : "latency",
                  suspect.seen(), suspect.expected());
  switch (suspect.fault()) {
    case v1::FAULT_KIND_HOST_STALLED: return " did not run: its host is paused or overloaded";
    case v1::FAULT_KIND_AGENT_SILENT: return ": its agent stopped answering";
    case v1::FAULT_KIND_TOTAL_LOSS:
      return suspect.direction() == v1::DIRECTION_OUT  ? " transmits no packets"
             : suspect.direction() == v1::DIRECTION_IN ? " receives no packets"
                                                       : " forwards no packets";
    case v1::FAULT_KIND_PACKET_LOSS: return Format(" loses packets{}{}", part, what);
    case v1::FAULT_KIND_LOW_BANDWIDTH:
      return Format(" is slower than its peers{}{}", part,
                    suspect.direction() == v1::DIRECTION_OUT  ? " when sending"
                    : suspect.direction() == v1::DIRECTION_IN ? " when receiving"
                                                              : "");
    case v1::FAULT_KIND_HIGH_LATENCY: return " has a higher latency than its peers";
    default: return " has an unknown fault";
  }
}

std::string PlugOf(const v1::Suspect& suspect) {
  if (suspect.leaf().empty() || suspect.kind() != v1::SUSPECT_KIND_PORT) return {};
  return suspect.leaf_port().empty()
             ? Format(" (on {})", suspect.leaf())
             : Format(" (on {} port {})", suspect.leaf(), suspect.leaf_port());
}

std::string PortOf(const std::string& node, const std::string& device, std::uint32_t port) {
  return Format("{}/{}/{}", node, device, port);
}

void AddSuspect(const v1::Suspect& suspect, std::string_view indent, std::string& lines) {
  lines += Format("{}{}: confidence {:.1f} %\n", indent, SuspectWords(suspect),
                  100 * suspect.confidence());
  for (const std::string& evidence : suspect.evidence())
    lines += Format("{}  {}\n", indent, evidence);
  for (const std::string& finding : suspect.findings())
    lines += Format("{}  see finding {}\n", indent, finding);
}

std::string_view Verdict(const v1::BlameReport& report) {
  switch (report.state()) {
    case v1::BLAME_STATE_HEALTHY: return "no fault found";
    case v1::BLAME_STATE_DECIDED: return "located";
    case v1::BLAME_STATE_UNDECIDED: return "not located";
    case v1::BLAME_STATE_INSUFFICIENT_DATA: return "not enough results to locate a fault";
    default: return {};
  }
}

}  // namespace

std::string SuspectWords(const v1::Suspect& suspect) {
  const std::string of_class = suspect.traffic_class() == 0
                                   ? std::string()
                                   : Format(" in class {}", suspect.traffic_class_name());
  return Format("{}{}{}{}{}", SuspectWord(suspect.kind()), suspect.name(), PlugOf(suspect),
                Doing(suspect), of_class);
}

std::string BlameLines(const v1::BlameReport& report) {
  const std::string_view verdict = Verdict(report);
  if (verdict.empty()) return {};
  std::string lines =
      Format("blame: {} ({})\n", verdict, Plural(report.observations(), "observation"));
  if (report.observations_explained() > 0)
    lines += Format("  left out: {} that open findings explain\n",
                    Plural(report.observations_explained(), "result"));
  for (const v1::Suspect& suspect : report.suspects()) AddSuspect(suspect, "  ", lines);
  for (const v1::UndecidedGroup& group : report.undecided()) {
    lines += "  one of these (not distinguishable yet):\n";
    for (const v1::Suspect& suspect : group.suspects()) AddSuspect(suspect, "    ", lines);
    for (int n = 0; n < std::min(group.probes_size(), kProbesMax); ++n) {
      const v1::SuggestedProbe& probe = group.probes(n);
      lines += Format("    next probe: {} to {}{}\n",
                      PortOf(probe.from_node(), probe.from_device(), probe.from_port()),
                      PortOf(probe.to_node(), probe.to_device(), probe.to_port()),
                      probe.reason().empty() ? "" : Format(": {}", probe.reason()));
    }
  }
  for (int n = 0; n < std::min(report.not_covered_size(), kNotCoveredMax); ++n)
    lines += Format("  not covered: {}\n", ToString(report.not_covered(n)));
  if (report.not_covered_size() > kNotCoveredMax)
    lines += Format("  not covered: {} more\n", report.not_covered_size() - kNotCoveredMax);
  return lines;
}

}  // namespace fabric::ctl
