#include "tests/sim/fleet_checks.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kViolationsKept = 20;
// As long an end that was told to stop holds its port for sure: control::ProbeRun.
constexpr Duration kWindUpMax = 5s;

// As agents/probe/incast.cc has it: a port may be the receiver's in several probes at once.
bool Shares(const v1::ProbeAssignment& assignment) {
  return assignment.spec().has_incast() && assignment.role() == v1::PROBE_ROLE_RESPONDER;
}

}  // namespace

void FleetChecks::Violate(const std::string& what) {
  trace_.Tell(queue_.now(), "VIOLATION " + what);
  if (violations_.size() < kViolationsKept)
    violations_.push_back(
        Format("{:.3f} s: {}", std::chrono::duration<double>(queue_.now()).count(), what));
}

void FleetChecks::OnSent(const v1::ControllerMessage& message) {
  ++counts_.messages_down;
  if (message.has_probe_assignment()) {
    const v1::ProbeAssignment& assignment = message.probe_assignment();
    const Port port(assignment.local().node(), assignment.local().device());
    Given& given = given_[port];
    if (queue_.now() >= given.free_at) given = {};
    const bool shared = given.shared && Shares(assignment);
    for (const End& end : given.ends)
      if (end.first != assignment.probe_id() && !shared)
        Violate(Format("{}/{}: probe {} was assigned while {} had the port", port.first,
                       port.second, assignment.probe_id(), end.first));
    given.ends.insert({assignment.probe_id(), assignment.role()});
    given.shared = Shares(assignment);
    given.free_at = Duration::max();
    ports_[assignment.probe_id()].insert(port);
    counts_.probes += assignment.role() == v1::PROBE_ROLE_INITIATOR ? 1 : 0;
  }
  if (message.has_probe_stop()) {
    for (const Port& port : ports_[message.probe_stop().probe_id()]) {
      const auto given = given_.find(port);
      if (given == given_.end()) continue;
      given->second.free_at = std::min(given->second.free_at, queue_.now() + kWindUpMax);
    }
  }
}

void FleetChecks::OnHeard(const std::string& node, const v1::AgentMessage& message) {
  ++counts_.messages_up;
  if (!message.has_probe_outcome()) return;
  const v1::ProbeOutcome& outcome = message.probe_outcome();
  if (outcome.result().port_busy()) {
    ++counts_.refused_busy;
    trace_.Tell(queue_.now(), Format("{}: {}", node, outcome.result().reason()));
  }
  const auto ports = ports_.find(outcome.probe_id());
  if (ports == ports_.end()) return;
  bool over = true;
  for (const Port& port : ports->second) {
    const auto given = given_.find(port);
    if (given == given_.end()) continue;
    if (port.first == node) given->second.ends.erase({outcome.probe_id(), outcome.role()});
    if (given->second.ends.empty())
      given_.erase(given);
    else
      over = false;
  }
  if (over) ports_.erase(ports);
}

void FleetChecks::OnSessionEnded(const std::string& node) {
  std::erase_if(given_, [&](const auto& given) { return given.first.first == node; });
}

void FleetChecks::OnQueuePairs(std::uint32_t agent, const v1::ProbeAssignment& assignment,
                               bool open) {
  const Place place(agent, assignment.local().device());
  const End end(assignment.probe_id(), assignment.role());
  Given& held = ends_[place];
  std::set<End>& ends = held.ends;
  if (open) {
    const bool shared = held.shared && Shares(assignment);
    for (const End& other : ends)
      if (other.first != end.first && !shared)
        Violate(Format("agent {} {}: queue pairs of probe {} beside those of {}", agent,
                       place.second, end.first, other.first));
    ends.insert(end);
    held.shared = Shares(assignment);
    counts_.queue_pairs_max = std::max<std::uint64_t>(counts_.queue_pairs_max, ++open_);
    return;
  }
  if (ends.erase(end) == 0)
    Violate(Format("agent {}: probe {} gave back what it did not have", agent, end.first));
  else
    --open_;
  if (ends.empty()) ends_.erase(place);
}

std::vector<std::string> FleetChecks::QueuePairsOpen() const {
  std::vector<std::string> lines;
  for (const auto& [place, held] : ends_)
    for (const End& end : held.ends)
      lines.push_back(Format("agent {} {}: probe {}", place.first, place.second, end.first));
  return lines;
}

// The restarted controller knows the nodes, and waits for them to connect.
void FleetChecks::OnControllerCrash() {
  given_.clear();
  lost_.insert(known_.begin(), known_.end());
}

void FleetChecks::OnEvent(const v1::Event& event) {
  trace_.Number(event.sequence());
  trace_.Add(queue_.now());
  if (event.has_node()) {
    const v1::NodeSummary& node = event.node();
    const bool back = node.state() == v1::NODE_STATE_CONNECTED;
    ++(back ? counts_.nodes_back : counts_.nodes_lost);
    known_.insert(node.name());
    if (!back) OnSessionEnded(node.name());
    if (back)
      lost_.erase(node.name());
    else
      lost_.insert(node.name());
    trace_.Tell(queue_.now(),
                Format("{} {} {}", node.name(), back ? "is there" : "is lost", node.lost_reason()));
  }
  if (event.has_finding()) OnFinding(event.finding());
  if (event.has_campaign())
    trace_.Tell(queue_.now(),
                Format("campaign {} {}: {} ok, {} failed of {}, {} rounds", event.campaign().id(),
                       Name(event.campaign().state()), event.campaign().probes_ok(),
                       event.campaign().probes_failed(), event.campaign().probes_planned(),
                       event.campaign().rounds_done()));
  if (!event.has_pair_result()) return;
  ++counts_.results;
  const v1::PairResult& result = event.pair_result();
  if (result.result().status() == v1::PROBE_STATUS_UNSPECIFIED) Violate("a result without status");
  if (result.result().status() != v1::PROBE_STATUS_OK)
    trace_.Tell(queue_.now(), Format("round {} {} to {}: {} {}", result.round(),
                                     result.from().node(), result.to().node(),
                                     Name(result.result().status()), result.result().reason()));
}

void FleetChecks::OnFinding(const v1::Finding& finding) {
  const std::string line =
      Format("finding {} {} {} {}", finding.rule(), SubjectName(finding.subject()),
             Name(finding.state()), Name(finding.verdict()));
  trace_.Tell(queue_.now(), line);
  if (finding.state() != v1::FINDING_STATE_OPEN || finding.verdict() != v1::VERDICT_FAIL) return;
  ++counts_.findings;
  if (all_excused_) return;
  const std::string& node = finding.subject().node();
  if (finding.rule() == rules::kNodeConnected) {
    if (!lost_.contains(node)) Violate("it is not lost: " + line);
    return;
  }
  if (excused_.contains(finding.subject().switch_name())) return;
  if (node.empty() ? !NamesExcused(finding) : !excused_.contains(node))
    Violate("nobody did anything to it: " + line);
}

// Of one that is about no single node.
bool FleetChecks::NamesExcused(const v1::Finding& finding) const {
  for (const v1::Evidence& evidence : finding.evidence())
    for (const std::string& node : excused_)
      for (const std::string* text : {&evidence.what(), &evidence.seen(), &evidence.source()})
        if ((*text + " ").find(node) != std::string::npos) return true;
  return false;
}

}  // namespace fabric::sim
