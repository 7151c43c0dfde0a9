#include "daemon/control/certificates/certificate_verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "daemon/control/probing/expectation_tally.h"
#include "daemon/plan/plan.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

// Partners with successful probes that a port needs to pass
constexpr std::uint32_t kPartnersMin = 2;
// Maximum number of gaps about nodes, ports and rules; there may be one for each port.
constexpr std::size_t kGapsMax = 1000;

// Findings worse than a warning fail now or under load.
bool Fails(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.severity() >= v1::SEVERITY_ERROR &&
         !finding.has_silenced();
}

std::string_view FaultText(v1::FaultKind fault) {
  switch (fault) {
    case v1::FAULT_KIND_TOTAL_LOSS: return "loses all packets";
    case v1::FAULT_KIND_PACKET_LOSS: return "loses packets";
    case v1::FAULT_KIND_LOW_BANDWIDTH: return "is slower than its peers";
    case v1::FAULT_KIND_HIGH_LATENCY: return "has a higher latency than its peers";
    case v1::FAULT_KIND_HOST_STALLED: return "did not run: its host is paused or overloaded";
    case v1::FAULT_KIND_AGENT_SILENT: return "is silent: its agent stopped answering";
    default: return "has an unknown fault";
  }
}

// The host, not the fabric: no result about its ports.
bool IsOfHost(v1::FaultKind fault) {
  return fault == v1::FAULT_KIND_HOST_STALLED || fault == v1::FAULT_KIND_AGENT_SILENT;
}

std::string Evidence(const v1::Suspect& suspect) {
  return Join({suspect.evidence().begin(), suspect.evidence().end()}, ", ");
}

std::string Said(const v1::Suspect& suspect) {
  const std::string plug = suspect.leaf_port().empty()
                               ? std::string()
                               : Format(" (on {} port {})", suspect.leaf(), suspect.leaf_port());
  const std::string of_class = suspect.traffic_class() == 0
                                   ? std::string()
                                   : Format(" in class {}", suspect.traffic_class_name());
  if (!suspect.expected().empty())
    return Format("{}{}{}: {}, expected {}: {}", suspect.name(), plug, of_class, suspect.seen(),
                  suspect.expected(), Evidence(suspect));
  return Format("{}{} {}{}: {}", suspect.name(), plug, FaultText(suspect.fault()), of_class,
                Evidence(suspect));
}

// "12 nodes (n1, n2, n3, ...)"
std::string Counted(const std::set<std::string>& nodes) {
  constexpr std::size_t kNamedMax = 3;
  std::vector<std::string> named;
  for (const std::string& node : nodes)
    if (named.size() < kNamedMax) named.push_back(node);
  if (nodes.size() == 1) return named.front();
  return Format("{} nodes ({}{})", nodes.size(), Join(named, ", "),
                nodes.size() > kNamedMax ? ", ..." : "");
}

class Verdicts {
 public:
  Verdicts(const CertificateFacts& facts, v1::Certificate& certificate)
      : facts_(facts), certificate_(certificate) {
    for (const std::string& name : certificate.request().nodes()) nodes_[name].set_name(name);
    for (const AskedPort& asked : facts.work.ports()) {
      devices_.emplace(asked.port.node(), asked.port.device());
      leaves_.insert(asked.leaf);
    }
  }

  void Run() {
    for (const v1::CoverageGap& doubt : facts_.doubts) Doubt(doubt.node(), doubt.text());
    AddFindings();
    for (const v1::Suspect& suspect : certificate_.blame().suspects()) AddSuspect(suspect);
    for (const v1::UndecidedGroup& group : certificate_.blame().undecided()) AddUndecided(group);
    if (facts_.suspicious) AddSuspicious(*facts_.suspicious);
    for (const AskedPort& asked : facts_.work.ports()) AddPort(asked);
    AddFailures();
    for (const CertificateMemory::Problem& problem : facts_.memory.Problems())
      Say(problem.node, problem.fails ? v1::VERDICT_FAIL : v1::VERDICT_UNKNOWN, problem.text);
    Cover();
    Finish();
  }

 private:
  void Say(const std::string& node, v1::Verdict verdict, const std::string& why) {
    const auto at = nodes_.find(node);
    if (at == nodes_.end()) return;
    v1::CertifiedNode& said = at->second;
    if (said.verdict() != v1::VERDICT_FAIL) said.set_verdict(verdict);
    if (std::find(said.reasons().begin(), said.reasons().end(), why) == said.reasons().end())
      said.add_reasons(why);
  }
  void Fail(const std::string& node, const std::string& why) { Say(node, v1::VERDICT_FAIL, why); }
  void Doubt(const std::string& node, const std::string& why) {
    Say(node, v1::VERDICT_UNKNOWN, why);
  }

  void AddFindings() {
    std::map<std::string, std::set<std::string>> not_judged;
    for (const FindingWithNodes& about : facts_.findings) {
      const v1::Finding& finding = about.finding;
      for (const std::string& node : about.nodes) {
        if (!nodes_.contains(node) || !ConcernsRails(finding, node) || IsOwn(finding)) continue;
        if (finding.verdict() == v1::VERDICT_UNKNOWN) {
          if (finding.severity() >= v1::SEVERITY_ERROR) not_judged[finding.rule()].insert(node);
          continue;
        }
        if (about.held) {
          if (Fails(finding))
            Doubt(node, Format("{} ({}): not judged yet: the machine booted recently",
                               finding.title(), finding.rule()));
          continue;
        }
        nodes_[node].add_findings(finding.id());
        if (Fails(finding)) Fail(node, Format("{} ({})", finding.title(), finding.rule()));
      }
    }
    for (const auto& [rule, nodes] : not_judged) {
      not_covered_.push_back(
          CoverageGapOf(v1::COVERAGE_GAP_REASON_RULE_INPUT_MISSING,
                        Format("required settings could not be read on {}", Counted(nodes))));
      not_covered_.back().set_rule(rule);
    }
  }

  // The blame of the certificate's own campaign is judged by AddSuspect().
  bool IsOwn(const v1::Finding& finding) const {
    return finding.has_suspect() &&
           finding.located_by() == Format("campaign {}", certificate_.campaign());
  }

  // False when the finding is only about ports of the node on rails that were not requested.
  bool ConcernsRails(const v1::Finding& finding, const std::string& node) const {
    const auto& rails = certificate_.request().rails();
    if (rails.empty()) return true;
    bool named = false;
    for (const v1::Subject& subject : finding.affected()) {
      if (subject.node() != node) continue;
      named = true;
      if (subject.has_rail() && std::ranges::find(rails, subject.rail()) != rails.end())
        return true;
      if (!subject.has_rail() && (subject.device().empty() || IsAsked(node, subject.device())))
        return true;
    }
    return !named;
  }

  bool IsAsked(const std::string& node, const std::string& device) const {
    return devices_.contains({node, device});
  }

  // The requested ports that the suspect covers.
  std::vector<std::size_t> Concerned(const v1::Suspect& suspect) const {
    std::vector<std::size_t> ports;
    const v1::Suspect part = WithMembers(suspect, leaves_);
    for (std::size_t i = 0; i < facts_.work.ports().size(); ++i)
      if (Holds(part, facts_.work.ports()[i].port, facts_.work.ports()[i].leaf)) ports.push_back(i);
    return ports;
  }

  const std::string& NodeOf(std::size_t port) const {
    return facts_.work.ports()[port].port.node();
  }

  // Agents were away and nothing else failed: no result about their fabric.
  bool OnlyAway(const std::vector<std::size_t>& ports) const {
    bool away = false;
    for (const std::size_t port : ports) {
      const AskedPort& asked = facts_.work.ports()[port];
      if (asked.failed > asked.late) return false;
      away = away || asked.away > 0;
    }
    return away;
  }

  // A fault of it is a fault of the nodes that it concerns.
  bool IsOfNodes(const v1::Suspect& suspect) const {
    const bool is_leaf = !suspect.leaf().empty() && leaves_.contains(suspect.leaf());
    return suspect.kind() == v1::SUSPECT_KIND_PORT || suspect.kind() == v1::SUSPECT_KIND_HOST ||
           suspect.kind() == v1::SUSPECT_KIND_LEAF ||
           (suspect.kind() == v1::SUSPECT_KIND_SWITCH && is_leaf);
  }

  void AddSuspect(const v1::Suspect& suspect) {
    const bool of_node = IsOfNodes(suspect);
    const std::vector<std::size_t> ports = Concerned(suspect);
    const bool unseen = IsOfHost(suspect.fault()) || OnlyAway(ports);
    failed_ = failed_ || !unseen;
    for (const std::size_t port : ports) {
      explained_.insert(port);  // Explains failures of its partners.
      if (unseen)
        Doubt(NodeOf(port), Format("{}; no result about its fabric", Said(suspect)));
      else if (of_node)
        Fail(NodeOf(port), Said(suspect));
      else
        Doubt(NodeOf(port), Format("{}, which it uses", Said(suspect)));
    }
  }

  void AddUndecided(const v1::UndecidedGroup& group) {
    std::vector<std::string> names;
    for (const v1::Suspect& suspect : group.suspects()) names.push_back(suspect.name());
    if (names.empty()) return;
    unknown_ = true;
    const std::string why =
        Format("undecided: {} {}", Join(names, " or "), FaultText(group.suspects(0).fault()));
    for (const v1::Suspect& suspect : group.suspects()) {
      certificate_.add_evidence(
          Format("{}: confidence {:.0f} %, needs 95 %", Said(suspect), 100 * suspect.confidence()));
      for (const std::size_t port : Concerned(suspect)) {
        Doubt(NodeOf(port), why);
        AddEvidence(NodeOf(port), Said(suspect));
      }
    }
  }

  void AddSuspicious(const v1::Suspect& suspect) {
    unknown_ = true;
    v1::CoverageGap gap = CoverageGapOf(suspect.node(), v1::COVERAGE_GAP_REASON_NOT_CONFIRMED,
                                        "may have a fault; no result confirms it");
    if (suspect.kind() == v1::SUSPECT_KIND_PORT) {
      gap.set_device(suspect.device());
      gap.set_port(suspect.port());
    } else if (suspect.kind() != v1::SUSPECT_KIND_HOST) {
      gap.clear_node();
      gap.set_text(Format("{} may have a fault; no result confirms it", suspect.name()));
    }
    const std::string doubt =
        Format("{} may have a fault; no result confirms it{}", suspect.name(),
               suspect.evidence().empty() ? std::string() : ": " + Evidence(suspect));
    certificate_.add_evidence(doubt);
    for (const std::size_t port : Concerned(suspect)) {
      Doubt(NodeOf(port), ToString(gap));
      AddEvidence(NodeOf(port), doubt);
    }
    not_covered_.push_back(std::move(gap));
  }

  void AddEvidence(const std::string& node, const std::string& text) {
    const auto at = nodes_.find(node);
    if (at == nodes_.end()) return;
    v1::CertifiedNode& doubted = at->second;
    if (std::ranges::find(doubted.evidence(), text) == doubted.evidence().end())
      doubted.add_evidence(text);
  }

  void AddPort(const AskedPort& asked) {
    v1::CertifiedNode& node = nodes_[asked.port.node()];
    if (asked.passed > 0 || asked.failed > 0) {
      node.set_ports(node.ports() + 1);
      rails_.insert(asked.port.rail());
    }
    // One partner would not show which of the two ports is slow.
    const std::uint32_t enough = facts_.work.alone() ? 1 : std::min(asked.partners, kPartnersMin);
    if (!asked.obstacle && asked.passed >= std::max(enough, 1u)) return;
    v1::CoverageGap gap = GapOf(asked, enough);
    Doubt(asked.port.node(), ToString(gap));
    if (asked.passed + asked.failed == 0) not_covered_.push_back(std::move(gap));
  }

  // Why too few partners passed.
  v1::CoverageGap GapOf(const AskedPort& asked, std::uint32_t enough) const {
    if (asked.obstacle) return *asked.obstacle;
    if (!asked.probe_failure.empty())
      return CoverageGapOf(asked.port, v1::COVERAGE_GAP_REASON_PROBE_NOT_RUN, asked.probe_failure);
    const v1::CoverageGap cut_off = facts_.cut_off.value_or(
        CoverageGapOf(v1::COVERAGE_GAP_REASON_NOT_PROBED, "was not probed"));
    if (asked.passed + asked.failed == 0)
      return CoverageGapOf(asked.port, cut_off.reason(), cut_off.text());
    return CoverageGapOf(
        asked.port, cut_off.reason(),
        Format("passed with {}, expected at least {}{}",
               asked.passed == 1 ? std::string("one partner") : Format("{} partners", asked.passed),
               enough, facts_.cut_off ? Format(": {}", cut_off.text()) : std::string()));
  }

  // Failures that no suspect explains and that cannot be attributed.
  void AddFailures() {
    std::map<std::string, std::pair<std::size_t, std::string>> open;  // Number and the first
    std::set<std::size_t> own;
    for (const FailedPair& pair : facts_.work.failed()) {
      const std::string from = plan::PortName(facts_.work.ports()[pair.from].port);
      if (pair.from == pair.to) {
        Fail(NodeOf(pair.from), Format("{} does not reach itself: {}", from, pair.reason));
        continue;
      }
      if (explained_.contains(pair.from) || explained_.contains(pair.to)) continue;
      if (pair.blamed) {
        if (own.insert(*pair.blamed).second) Doubt(NodeOf(*pair.blamed), pair.reason);
        continue;
      }
      const std::string to = plan::PortName(facts_.work.ports()[pair.to].port);
      for (const std::size_t port : {pair.from, pair.to}) {
        auto& [count, first] = open[NodeOf(port)];
        if (count++ == 0) first = Format("{} with {}: {}", from, to, pair.reason);
      }
    }
    for (const auto& [node, said] : open)
      Doubt(node, Format("{} pair{} failed; the fault cannot be attributed; first: {}", said.first,
                         said.first == 1 ? "" : "s", said.second));
  }

  void Cover() {
    const CertificateWork& work = facts_.work;
    certificate_.set_pairs_probed(static_cast<std::uint32_t>(work.pairs_probed()));
    certificate_.set_pairs_failed(static_cast<std::uint32_t>(work.failed().size()));
    certificate_.set_pairs_possible(static_cast<std::uint32_t>(work.pairs_possible()));
    if (!work.alone() && work.pairs_probed() < work.pairs_possible())
      *certificate_.add_not_covered() =
          CoverageGapOf(v1::COVERAGE_GAP_REASON_PAIRS_NOT_PROBED,
                        Format("pairs: {} of {} possible ones were not probed",
                               work.pairs_possible() - work.pairs_probed(), work.pairs_possible()));
    if (work.alone())
      *certificate_.add_not_covered() = CoverageGapOf(
          v1::COVERAGE_GAP_REASON_SINGLE_NODE,
          "paths to other nodes: the request names one node, so its ports were probed with "
          "themselves");
    for (const v1::CoverageGap& gap : certificate_.blame().not_covered())
      if (gap.reason() == v1::COVERAGE_GAP_REASON_PAIRS_NOT_PROBED)
        *certificate_.add_not_covered() = gap;  // Cables between switches
    certificate_.mutable_not_covered()->Add(facts_.not_covered.begin(), facts_.not_covered.end());
    not_covered_.insert(not_covered_.end(), facts_.doubts.begin(), facts_.doubts.end());
    const std::size_t kept = std::min(not_covered_.size(), kGapsMax);
    certificate_.mutable_not_covered()->Add(
        not_covered_.begin(), not_covered_.begin() + static_cast<std::ptrdiff_t>(kept));
    certificate_.set_not_covered_omitted(static_cast<std::uint32_t>(not_covered_.size() - kept));
  }

  void Finish() {
    for (auto& [name, node] : nodes_) {
      if (node.verdict() == v1::VERDICT_UNSPECIFIED) node.set_verdict(v1::VERDICT_PASS);
      failed_ = failed_ || node.verdict() == v1::VERDICT_FAIL;
      unknown_ = unknown_ || node.verdict() == v1::VERDICT_UNKNOWN;
      for (v1::CertifiedMemory& memory : facts_.memory.Of(name))
        *node.add_memory() = std::move(memory);
      *certificate_.add_nodes() = node;
    }
    certificate_.set_verdict(failed_    ? v1::VERDICT_FAIL
                             : unknown_ ? v1::VERDICT_UNKNOWN
                                        : v1::VERDICT_PASS);
    certificate_.mutable_rails()->Assign(rails_.begin(), rails_.end());
    for (const auto& [reason, probes] : facts_.not_judged)
      *certificate_.add_not_judged() =
          CoverageGapOf(v1::COVERAGE_GAP_REASON_NO_EXPECTATION,
                        Format("{} probe{}: {}", probes, probes == 1 ? "" : "s", reason));
  }

  const CertificateFacts& facts_;
  v1::Certificate& certificate_;
  std::map<std::string, v1::CertifiedNode> nodes_;
  std::set<std::pair<std::string_view, std::string_view>> devices_;  // Of the requested ports
  std::set<std::string> leaves_;                                     // Likewise
  std::set<std::size_t> explained_;  // Ports whose failures have a suspect
  std::set<std::uint32_t> rails_;
  std::vector<v1::CoverageGap> not_covered_;
  bool failed_ = false, unknown_ = false;
};

}  // namespace

void Judge(const CertificateFacts& facts, v1::Certificate& certificate) {
  Verdicts(facts, certificate).Run();
}

}  // namespace fabric::control
