#include "daemon/rules/probes/located.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/rules/causes/cause_rules.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// The first evidence of a finding, which cause_rules.h refers to.
constexpr std::string_view kLoss = "packet loss";
constexpr std::string_view kBandwidth = "bandwidth";
constexpr std::string_view kLatency = "latency";
constexpr std::string_view kStall = "host stall";

constexpr double kSeriousLoss = 0.01;

std::string_view FigureOf(v1::FaultKind fault) {
  switch (fault) {
    case v1::FAULT_KIND_LOW_BANDWIDTH: return kBandwidth;
    case v1::FAULT_KIND_HIGH_LATENCY: return kLatency;
    case v1::FAULT_KIND_HOST_STALLED:
    case v1::FAULT_KIND_AGENT_SILENT: return kStall;
    default: return kLoss;
  }
}

v1::Severity SeverityOf(const v1::Suspect& suspect) {
  switch (suspect.fault()) {
    case v1::FAULT_KIND_TOTAL_LOSS: return v1::SEVERITY_CRITICAL;
    case v1::FAULT_KIND_PACKET_LOSS:
      return suspect.severity() >= kSeriousLoss ? v1::SEVERITY_CRITICAL : v1::SEVERITY_ERROR;
    case v1::FAULT_KIND_LOW_BANDWIDTH: return v1::SEVERITY_ERROR;
    default: return v1::SEVERITY_WARNING;
  }
}

std::string SeenText(const v1::Suspect& suspect) {
  if (!suspect.seen().empty()) return suspect.seen();
  const double percent = 100 * suspect.severity();
  switch (suspect.fault()) {
    case v1::FAULT_KIND_TOTAL_LOSS: return "all packets lost";
    case v1::FAULT_KIND_PACKET_LOSS: return Format("{:.3g} % packet loss", percent);
    case v1::FAULT_KIND_LOW_BANDWIDTH:
      return Format("{:.0f} % less bandwidth than comparable paths", percent);
    case v1::FAULT_KIND_HIGH_LATENCY:
      return Format("{:.1f} times the latency of comparable paths", suspect.latency_ratio());
    case v1::FAULT_KIND_HOST_STALLED: return "the host did not run";
    default: return "unknown fault";
  }
}

std::string ExpectedText(const v1::Suspect& suspect) {
  if (!suspect.expected().empty()) return suspect.expected();
  switch (suspect.fault()) {
    case v1::FAULT_KIND_TOTAL_LOSS:
    case v1::FAULT_KIND_PACKET_LOSS: return "no loss";
    case v1::FAULT_KIND_HOST_STALLED: return "runs without pauses";
    default: return "the same as comparable paths";
  }
}

std::string_view KindWord(v1::SuspectKind kind) {
  switch (kind) {
    case v1::SUSPECT_KIND_PORT: return "port ";
    case v1::SUSPECT_KIND_HOST: return "node ";
    case v1::SUSPECT_KIND_LEAF: return "leaf switch ";
    case v1::SUSPECT_KIND_LEAF_PAIR: return "path between ";
    case v1::SUSPECT_KIND_PAIR: return "pair ";
    default: return "";  // The name includes the kind.
  }
}

std::string ClassText(const v1::Suspect& suspect) {
  if (suspect.traffic_class_name().empty()) return {};
  return Format(" in class {}", suspect.traffic_class_name());
}

v1::Subject SubjectOf(const v1::Suspect& suspect) {
  v1::Subject subject;
  switch (suspect.kind()) {
    case v1::SUSPECT_KIND_PORT:
      subject.set_scope(v1::SCOPE_PORT);
      subject.set_node(suspect.node());
      subject.set_device(suspect.device());
      subject.set_port(suspect.port());
      if (suspect.has_rail()) subject.set_rail(suspect.rail());
      subject.set_switch_name(suspect.leaf());
      subject.set_switch_port(suspect.leaf_port());
      break;
    case v1::SUSPECT_KIND_HOST:
      subject.set_scope(v1::SCOPE_NODE);
      subject.set_node(suspect.node());
      break;
    case v1::SUSPECT_KIND_LEAF:
    case v1::SUSPECT_KIND_UPLINK:
    case v1::SUSPECT_KIND_LINK:
    case v1::SUSPECT_KIND_SWITCH:
      subject.set_scope(v1::SCOPE_SWITCH);
      subject.set_switch_name(suspect.leaf());
      subject.set_switch_port(suspect.leaf_port());
      break;
    default:
      if (!suspect.leaf().empty()) {
        subject.set_scope(v1::SCOPE_SWITCH);
        subject.set_switch_name(suspect.leaf());
        break;
      }
      subject.set_scope(suspect.has_rail() ? v1::SCOPE_RAIL : v1::SCOPE_FLEET);
      if (suspect.has_rail()) subject.set_rail(suspect.rail());
      break;
  }
  return subject;
}

std::vector<v1::Remedy> RemediesOf(const LocatedFault& fault) {
  const v1::Suspect& suspect = fault.suspect;
  std::vector<v1::Remedy> remedies = {Query({.command = fault.show_command,
                                             .note = "Shows the results of each pair.",
                                             .host = "a host with fabricctl"})};
  switch (suspect.kind()) {
    case v1::SUSPECT_KIND_PORT:
      remedies.push_back(Advice(Format(
          "Check the cable, the transceivers and the switch port{}. Swap the cable with that of a "
          "healthy port and probe again: the fault follows the faulty part.",
          suspect.leaf_port().empty() ? std::string()
                                      : Format(" {} of {}", suspect.leaf_port(), suspect.leaf()))));
      break;
    case v1::SUSPECT_KIND_HOST:
      remedies.push_back(Advice(
          "Check the load, the power state and the kernel log of the node: all of its ports are "
          "affected."));
      break;
    case v1::SUSPECT_KIND_LINK:
      remedies.push_back(Advice(Format(
          "Check the transceivers and the error counters at both ends of the {}, then reseat or "
          "replace it and probe again.",
          suspect.name())));
      break;
    case v1::SUSPECT_KIND_SWITCH:
      remedies.push_back(Advice(Format(
          "Check the log, the temperature and the power supplies of {}, and the counters of its "
          "ports: packets are lost on most paths through it.",
          suspect.name())));
      break;
    default:
      remedies.push_back(
          Advice("Check the counters and the settings of the switch ports on these paths."));
      break;
  }
  return remedies;
}

v1::Evidence EvidenceOf(const LocatedFault& fault, std::string_view what, std::string seen) {
  v1::Evidence evidence;
  evidence.set_what(std::string(what));
  evidence.set_seen(std::move(seen));
  evidence.set_source(fault.located_by);
  evidence.set_basis("probes");
  *evidence.mutable_read_at() = fault.at;
  return evidence;
}

std::vector<v1::Evidence> AllEvidence(const LocatedFault& fault) {
  const v1::Suspect& suspect = fault.suspect;
  std::vector<v1::Evidence> evidence = {
      EvidenceOf(fault, FigureOf(suspect.fault()), SeenText(suspect) + ClassText(suspect))};
  evidence[0].set_expected(ExpectedText(suspect));
  if (!suspect.basis().empty()) evidence[0].set_basis(suspect.basis());
  evidence.push_back(
      EvidenceOf(fault, "confidence", Format("{:.1f} %", 100 * suspect.confidence())));
  for (const std::string& text : suspect.evidence())
    evidence.push_back(EvidenceOf(fault, "results", text));
  if (suspect.affected_pairs().empty()) return evidence;
  constexpr int kShown = 4;
  std::vector<std::string> pairs;
  for (int n = 0; n < std::min(kShown, suspect.affected_pairs_size()); ++n)
    pairs.push_back(suspect.affected_pairs(n));
  std::string text = Join(pairs, ", ");
  const auto total = std::max<std::uint32_t>(suspect.affected_pairs_total(),
                                             static_cast<std::uint32_t>(pairs.size()));
  if (total > pairs.size()) text += Format(" and {} more", total - pairs.size());
  evidence.push_back(EvidenceOf(fault, "affected pairs", std::move(text)));
  return evidence;
}

}  // namespace

std::string FaultTitle(const v1::Suspect& suspect) {
  // The name of a link has both ends.
  const bool named = suspect.leaf_port().empty() || suspect.kind() == v1::SUSPECT_KIND_LINK;
  const std::string place =
      named ? std::string() : Format(" (on {} port {})", suspect.leaf(), suspect.leaf_port());
  return Format("{}{}{}: {}, expected {}{}", KindWord(suspect.kind()), suspect.name(), place,
                SeenText(suspect), ExpectedText(suspect), ClassText(suspect));
}

v1::Finding FindingOf(const LocatedFault& fault) {
  const v1::Suspect& suspect = fault.suspect;
  Verdicts out(kProbeBlame, SeverityOf(suspect));
  out.Fail(SubjectOf(suspect), FaultTitle(suspect), AllEvidence(fault), RemediesOf(fault),
           suspect.kind() == v1::SUSPECT_KIND_PORT ? "" : suspect.name());
  if (!fault.affected.empty()) out.SetAffected(fault.affected);
  v1::Finding finding = std::move(out.findings().front());
  *finding.mutable_suspect() = suspect;
  finding.set_located_by(fault.located_by);
  return finding;
}

Explained ExplainedBy(const v1::Finding& finding) {
  Explained explained;
  if (finding.verdict() != v1::VERDICT_FAIL) return explained;
  for (const CauseRule& row : CauseRules()) {
    if (std::ranges::find(row.effects, kProbeBlame) == row.effects.end()) continue;
    if (std::ranges::find(row.causes, finding.rule()) == row.causes.end()) continue;
    explained.loss |= row.counter == kLoss;
    explained.bandwidth |= row.counter == kBandwidth;
    explained.latency |= row.counter == kLatency;
  }
  return explained;
}

std::map<std::string, Explained> ExplainedPorts(std::span<const v1::Finding> findings) {
  std::map<std::string, Explained> ports;
  for (const v1::Finding& finding : findings) {
    const Explained explained = ExplainedBy(finding);
    if (!explained.any()) continue;
    for (const v1::Subject& port : finding.affected()) {
      if (port.device().empty()) continue;
      Explained& known =
          ports[Format("{}/{}/{}", port.node(), port.device(), std::max(port.port(), 1U))];
      known.loss |= explained.loss;
      known.bandwidth |= explained.bandwidth;
      known.latency |= explained.latency;
    }
  }
  return ports;
}

extern const Rule probe_blame = {
    .id = kProbeBlame,
    .title = "Campaigns and the mesh locate no fault",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Probes measured that packets are lost, or that bandwidth or latency is worse than that "
        "of comparable paths or than the expected limit. Jobs that use the part have the same "
        "problem. The finding is resolved when a later campaign or the mesh probes the part in "
        "the same class of traffic and finds no fault.",
    .source = "results of probes; docs/design/blame.md",
    .profile = {v1::Expectations::kBandwidthMinPercentFieldNumber,
                v1::Expectations::kLatencyMaxUsFieldNumber,
                v1::Expectations::kLatencyPerHopMaxUsFieldNumber,
                v1::Expectations::kJobGidIndexFieldNumber, v1::Expectations::kJobPkeyFieldNumber,
                v1::Expectations::kJobServiceLevelFieldNumber},
    .fix = "Check the named part; the evidence lists the affected pairs",
    .reported = true,
};

}  // namespace fabric::rules
