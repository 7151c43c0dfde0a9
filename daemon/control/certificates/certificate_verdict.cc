#include "daemon/control/certificates/certificate_verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "daemon/plan/plan.h"

namespace fabric::control {
namespace {

// Partners with successful probes that a port needs to pass
constexpr std::uint32_t kPartnersMin = 2;
// Maximum number of lines in not_covered, which may have one for each port
constexpr std::size_t kLinesMax = 1000;

// Findings worse than a warning fail now or under load.
bool Fails(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.severity() >= v1::SEVERITY_ERROR &&
         !finding.has_silenced();
}

std::string_view TroubleName(v1::TroubleKind trouble) {
  switch (trouble) {
    case v1::TROUBLE_KIND_DEAD: return "dead";
    case v1::TROUBLE_KIND_LOSSY: return "lossy";
    case v1::TROUBLE_KIND_SLOW: return "slow";
    case v1::TROUBLE_KIND_LATE: return "late";
    default: return "bad";
  }
}

std::string Said(const v1::Suspect& suspect) {
  return Format("{} is {}: {}", suspect.name(), TroubleName(suspect.trouble()),
                Join({suspect.evidence().begin(), suspect.evidence().end()}, ", "));
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
  }

  void Run() {
    for (const NodeDoubt& doubt : facts_.doubts) Doubt(doubt.node, doubt.why);
    AddFindings();
    for (const v1::Suspect& suspect : certificate_.blame().suspects()) AddSuspect(suspect);
    for (const v1::UndecidedGroup& group : certificate_.blame().undecided()) AddUndecided(group);
    AddOpen();
    for (const AskedPort& asked : facts_.work.ports()) AddPort(asked);
    AddFailures();
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
        if (!nodes_.contains(node)) continue;
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
    for (const auto& [rule, nodes] : not_judged)
      not_covered_.push_back(
          Format("rule {} on {}: the required settings could not be read", rule, Counted(nodes)));
  }

  // The requested ports that the suspect covers.
  std::vector<std::size_t> Concerned(const v1::Suspect& suspect) const {
    std::vector<std::size_t> ports;
    for (std::size_t i = 0; i < facts_.work.ports().size(); ++i) {
      const AskedPort& asked = facts_.work.ports()[i];
      const v1::ProbePort& port = asked.port;
      const bool node = suspect.node().empty() || port.node() == suspect.node();
      const bool device = suspect.kind() != v1::SUSPECT_KIND_PORT ||
                          (port.device() == suspect.device() && port.port() == suspect.port());
      const bool rail = !suspect.has_rail() || suspect.rail() == port.rail();
      // A port suspect also names its leaf, for information.
      const bool leaf = !suspect.node().empty() || suspect.leaf().empty() ||
                        asked.leaf == suspect.leaf() ||
                        (!suspect.other_leaf().empty() && asked.leaf == suspect.other_leaf());
      const bool pair = suspect.kind() != v1::SUSPECT_KIND_PAIR || IsNamed(asked, suspect);
      if (node && device && rail && leaf && pair) ports.push_back(i);
    }
    return ports;
  }

  // A suspected pair has a name only: "n1/mlx5_0/1 and n2/mlx5_0/1".
  static bool IsNamed(const AskedPort& asked, const v1::Suspect& pair) {
    const std::string name = plan::PortName(asked.port);
    return pair.name().starts_with(Format("{} and ", name)) ||
           pair.name().ends_with(Format(" and {}", name));
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

  void AddSuspect(const v1::Suspect& suspect) {
    const bool of_node = suspect.kind() == v1::SUSPECT_KIND_PORT ||
                         suspect.kind() == v1::SUSPECT_KIND_HOST ||
                         suspect.kind() == v1::SUSPECT_KIND_LEAF;
    const std::vector<std::size_t> ports = Concerned(suspect);
    const bool unseen = OnlyAway(ports);
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
    for (const v1::Suspect& suspect : group.between()) names.push_back(suspect.name());
    if (names.empty()) return;
    unknown_ = true;
    const std::string why =
        Format("undecided: {} is {}", Join(names, " or "), TroubleName(group.between(0).trouble()));
    for (const v1::Suspect& suspect : group.between())
      for (const std::size_t port : Concerned(suspect)) Doubt(NodeOf(port), why);
  }

  // The question that blame left open, unless it only lacks probes.
  void AddOpen() {
    const std::string_view open = facts_.open;
    constexpr std::string_view kSuspicious = " is suspicious";
    if (!open.ends_with(kSuspicious)) return;
    unknown_ = true;
    const std::string_view name = open.substr(0, open.size() - kSuspicious.size());
    const std::string why = Format("{}, but not confirmed", open);
    not_covered_.push_back(why);
    for (const AskedPort& asked : facts_.work.ports())
      if (plan::PortName(asked.port) == name || asked.port.node() == name || asked.leaf == name)
        Doubt(asked.port.node(), why);
  }

  void AddPort(const AskedPort& asked) {
    v1::CertifiedNode& node = nodes_[asked.port.node()];
    const std::string name = plan::PortName(asked.port);
    if (asked.passed > 0 || asked.failed > 0) {
      node.set_ports(node.ports() + 1);
      rails_.insert(asked.port.rail());
    }
    // One partner would not show which of the two ports is slow.
    const std::uint32_t enough = facts_.work.alone() ? 1 : std::min(asked.partners, kPartnersMin);
    if (asked.obstacle.empty() && asked.passed >= std::max(enough, 1u)) return;
    std::string why = asked.obstacle;
    if (why.empty()) why = asked.probe_failure;
    if (why.empty() && asked.passed + asked.failed > 0)
      why = Format(
          "passed with {}, expected at least {}{}",
          asked.passed == 1 ? std::string("one partner") : Format("{} partners", asked.passed),
          enough, facts_.cut_off.empty() ? std::string() : Format(": {}", facts_.cut_off));
    if (why.empty()) why = facts_.cut_off;
    if (why.empty()) why = "was not probed";
    const std::string line = why.starts_with(name) ? why : Format("{}: {}", name, why);
    Doubt(asked.port.node(), line);
    if (asked.passed + asked.failed == 0) not_covered_.push_back(line);
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
      certificate_.add_not_covered(Format("pairs: {} of {} possible ones were not probed",
                                          work.pairs_possible() - work.pairs_probed(),
                                          work.pairs_possible()));
    if (work.alone())
      certificate_.add_not_covered(
          "paths to other nodes: the request names one node, so its ports were probed with "
          "themselves");
    for (const std::string& line : facts_.not_covered) certificate_.add_not_covered(line);
    for (const NodeDoubt& doubt : facts_.doubts)
      not_covered_.push_back(Format("{}: {}", doubt.node, doubt.why));
    for (std::size_t i = 0; i < std::min(not_covered_.size(), kLinesMax); ++i)
      certificate_.add_not_covered(not_covered_[i]);
    if (not_covered_.size() > kLinesMax)
      certificate_.add_not_covered(Format("and {} more", not_covered_.size() - kLinesMax));
  }

  void Finish() {
    for (auto& [name, node] : nodes_) {
      if (node.verdict() == v1::VERDICT_UNSPECIFIED) node.set_verdict(v1::VERDICT_PASS);
      failed_ = failed_ || node.verdict() == v1::VERDICT_FAIL;
      unknown_ = unknown_ || node.verdict() == v1::VERDICT_UNKNOWN;
      *certificate_.add_nodes() = node;
    }
    certificate_.set_verdict(failed_    ? v1::VERDICT_FAIL
                             : unknown_ ? v1::VERDICT_UNKNOWN
                                        : v1::VERDICT_PASS);
    certificate_.mutable_rails()->Assign(rails_.begin(), rails_.end());
  }

  const CertificateFacts& facts_;
  v1::Certificate& certificate_;
  std::map<std::string, v1::CertifiedNode> nodes_;
  std::set<std::size_t> explained_;  // Ports whose failures have a suspect
  std::set<std::uint32_t> rails_;
  std::vector<std::string> not_covered_;
  bool failed_ = false, unknown_ = false;
};

}  // namespace

void Judge(const CertificateFacts& facts, v1::Certificate& certificate) {
  Verdicts(facts, certificate).Run();
}

}  // namespace fabric::control
