#include "daemon/control/campaigns/probe_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/probe_check.h"
#include "proto/names.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// The agents bound themselves by the timeout and know better what went wrong: their word may still
// be on its way when the time is over.
constexpr Duration kGrace = 1s;
// How long a port is kept from other probes while its agent winds up. The kernel may take seconds
// to give up a queue pair whose partner is gone: soft RoCE waits for packets that still wait for
// the partner's Ethernet address.
constexpr Duration kWindUpMax = 5s;
// Time for which ends that start together wait for each other, at most half of the timeout.
constexpr Duration kGatherMax = 5s;

Duration ReadyWithin(const v1::ProbeSpec& spec, bool held) {
  const Duration timeout = std::chrono::milliseconds(spec.timeout_ms());
  return held ? std::min(kGatherMax, timeout / 2) : timeout;
}

// An end knows this for itself only.
bool CallsItselfLate(const v1::ProbeResult& said, const std::string& node) {
  const bool may = said.status() == v1::PROBE_STATUS_TIMED_OUT ||
                   said.status() == v1::PROBE_STATUS_CANCELLED ||
                   said.status() == v1::PROBE_STATUS_OK;
  return may && said.blamed_node() == node;
}

}  // namespace

ProbeRun::ProbeRun(ProbeId id, const v1::ProbePort& from, const v1::ProbePort& to,
                   const v1::ProbeSpec& spec, bool held)
    : id_(id),
      spec_(spec),
      held_(held),
      ready_within_(ReadyWithin(spec, held)),
      initiator_{.port = from, .role = v1::PROBE_ROLE_INITIATOR},
      responder_{.port = to, .role = v1::PROBE_ROLE_RESPONDER} {}

void ProbeRun::Start(Sessions& agents, Moment now) {
  started_ = now;
  deadline_ = now.steady + ready_within_;
  for (const End* end : {&initiator_, &responder_}) {
    const std::string& node = end->port.node();
    const Session* const session = agents.Usable(node);
    if (session == nullptr)
      return Fail(v1::PROBE_STATUS_UNREACHABLE, node + ": the agent is not connected", node, agents,
                  now);
    const std::string kind(ProbeKindName(spec_));
    if (!session->probe_kinds.empty() && !session->probe_kinds.contains(kind))
      return Fail(v1::PROBE_STATUS_REFUSED, Format("{}: the agent cannot run {}", node, kind), node,
                  agents, now);
  }
  Assign(responder_, initiator_, agents);
  Assign(initiator_, responder_, agents);
}

void ProbeRun::OnReady(const std::string& node, const v1::ProbeReady& ready, Sessions& agents) {
  End* const end = EndOf(node, ready.role());
  if (end == nullptr || decided() || !end->busy || end->ready) return;
  end->ready = true;
  end->endpoint = ready.endpoint();
  if (phase_ != Phase::kReadying || !initiator_.ready || !responder_.ready) return;
  phase_ = Phase::kArming;
  Continue(responder_, initiator_, agents);
}

void ProbeRun::Reject(const std::string& node, v1::ProbeRole role, const std::string& reason,
                      Sessions& agents, Moment now) {
  if (EndOf(node, role) == nullptr || decided()) return;
  Fail(v1::PROBE_STATUS_SETUP_FAILED, reason, node, agents, now);
}

void ProbeRun::OnArmed(const std::string& node, Sessions& agents) {
  if (decided() || phase_ != Phase::kArming || node != responder_.port.node()) return;
  phase_ = Phase::kArmed;
  deadline_ = started_.steady + std::chrono::milliseconds(spec_.timeout_ms()) + kGrace;
  if (!held_) Go(agents);
}

void ProbeRun::Go(Sessions& agents) {
  if (decided() || phase_ != Phase::kArmed) return;
  phase_ = Phase::kRunning;
  Continue(initiator_, responder_, agents);
}

void ProbeRun::OnOutcome(const std::string& node, const v1::ProbeOutcome& outcome, Sessions& agents,
                         Moment now) {
  const v1::ProbeResult& said = outcome.result();
  End* const end = EndOf(node, outcome.role());
  if (end == nullptr || !end->busy) return;
  const End& other = end == &initiator_ ? responder_ : initiator_;
  end->busy = false;
  if (CallsItselfLate(said, node)) end->late = said.reason();
  if (end == &responder_ && said.has_counter_deltas())
    responder_deltas_ = CheckedDeltas(said.counter_deltas(), responder_.port);
  // The responder may be through before the initiator, whose figures count.
  const bool through = end == &responder_ && said.status() == v1::PROBE_STATUS_OK;
  if (decided() || (through && phase_ == Phase::kRunning && !unexplained_)) return;
  // The initiator's own word on how it ended is the better one.
  if (unexplained_ && (end == &responder_ || said.status() == v1::PROBE_STATUS_CANCELLED))
    return Explain(*std::move(unexplained_), *end, agents, now);
  v1::ProbeResult result = Checked(spec_, said, node, other.port.node());
  // An end that has done its part and gave up waiting is not the one that failed.
  const bool waited = phase_ == Phase::kReadying ? end->ready
                      : phase_ == Phase::kArming ? end == &initiator_
                                                 : phase_ == Phase::kArmed;
  if (result.status() == v1::PROBE_STATUS_TIMED_OUT && waited) return TimeOut(agents, now);
  if (said.status() == v1::PROBE_STATUS_OK && phase_ != Phase::kRunning)
    return Fail(v1::PROBE_STATUS_FAILED, node + ": reported a result before the probe started",
                node, agents, now);
  // Who refuses or cannot set up is to blame; of a failed transfer neither end knows.
  const bool own = result.status() == v1::PROBE_STATUS_REFUSED ||
                   result.status() == v1::PROBE_STATUS_SETUP_FAILED;
  if (own && result.blamed_node().empty()) result.set_blamed_node(node);
  if (phase_ == Phase::kRunning && result.status() == v1::PROBE_STATUS_TIMED_OUT &&
      result.blamed_node().empty())
    return Explain(std::move(result), other, agents, now);
  Decide(std::move(result), agents, now);
}

void ProbeRun::OnLost(const std::string& node, const std::string& reason, Sessions& agents,
                      Moment now) {
  if (initiator_.port.node() != node && responder_.port.node() != node) return;
  const auto is_busy = [&](const End& end) { return end.port.node() == node && end.busy; };
  const bool has_said = unexplained_ && !is_busy(initiator_) && !is_busy(responder_);
  // Stop is also sent to the lost end: a node that was only silent receives it later.
  if (!decided() && !has_said)
    Fail(v1::PROBE_STATUS_UNREACHABLE, Format("{}: {}", node, reason), node, agents, now);
  for (End* end : {&initiator_, &responder_})
    if (end->port.node() == node) end->busy = false;
}

void ProbeRun::Cancel(const std::string& reason, Sessions& agents, Moment now) {
  if (!decided()) Fail(v1::PROBE_STATUS_CANCELLED, reason, "", agents, now);
}

void ProbeRun::Tick(Sessions& agents, Moment now) {
  if (now.steady < deadline_) return;
  if (!decided() && !unexplained_) return TimeOut(agents, now);
  initiator_.busy = false;
  responder_.busy = false;
  if (!decided()) Decide(*std::move(unexplained_), agents, now);
}

ProbeRun::End* ProbeRun::EndOf(const std::string& node, v1::ProbeRole role) {
  const bool is_initiator = initiator_.port.node() == node;
  const bool is_responder = responder_.port.node() == node;
  if (is_initiator && is_responder)
    return role == v1::PROBE_ROLE_INITIATOR   ? &initiator_
           : role == v1::PROBE_ROLE_RESPONDER ? &responder_
                                              : nullptr;
  if (is_initiator) return &initiator_;
  return is_responder ? &responder_ : nullptr;
}

void ProbeRun::Assign(End& end, const End& other, Sessions& agents) {
  v1::ControllerMessage message;
  v1::ProbeAssignment& assignment = *message.mutable_probe_assignment();
  assignment.set_probe_id(id_.value());
  assignment.set_role(end.role);
  *assignment.mutable_spec() = spec_;
  *assignment.mutable_local() = end.port;
  *assignment.mutable_remote() = other.port;
  end.busy = true;
  agents.Send(end.port.node(), message);
}

void ProbeRun::Continue(const End& end, const End& other, Sessions& agents) {
  v1::ControllerMessage message;
  message.mutable_probe_start()->set_probe_id(id_.value());
  message.mutable_probe_start()->set_role(end.role);
  *message.mutable_probe_start()->mutable_remote() = other.endpoint;
  agents.Send(end.port.node(), message);
}

// A timeout that blames no node is not decided before the other end has reported: its host may have
// been late. The port of that end is held until then in any case.
void ProbeRun::Explain(v1::ProbeResult timed_out, const End& other, Sessions& agents, Moment now) {
  if (other.busy) {
    unexplained_ = std::move(timed_out);
    deadline_ = now.steady + kWindUpMax;
    return StopEnds("the other end gave up", agents);
  }
  if (!other.late.empty()) {
    timed_out.set_blamed_node(other.port.node());
    timed_out.set_reason(
        OneLine(Format("{}; {}: {}", timed_out.reason(), other.port.node(), other.late)));
  }
  Decide(std::move(timed_out), agents, now);
}

void ProbeRun::Decide(v1::ProbeResult result, Sessions& agents, Moment now) {
  result_ = std::move(result);
  decided_at_ = now.steady;
  deadline_ = now.steady + kWindUpMax;
  StopEnds(result_.status() == v1::PROBE_STATUS_OK ? "done" : result_.reason(), agents);
}

void ProbeRun::StopEnds(const std::string& reason, Sessions& agents) {
  v1::ControllerMessage message;
  message.mutable_probe_stop()->set_probe_id(id_.value());
  message.mutable_probe_stop()->set_reason(reason);
  // One message if both ends are on one node: it applies to both.
  const bool one_node = initiator_.port.node() == responder_.port.node();
  if (initiator_.busy || (one_node && responder_.busy))
    agents.Send(initiator_.port.node(), message);
  if (responder_.busy && !one_node) agents.Send(responder_.port.node(), message);
}

void ProbeRun::Fail(v1::ProbeStatus status, const std::string& reason, const std::string& blamed,
                    Sessions& agents, Moment now) {
  v1::ProbeResult result;
  result.set_status(status);
  result.set_reason(OneLine(reason));
  result.set_blamed_node(blamed);
  Decide(std::move(result), agents, now);
}

void ProbeRun::TimeOut(Sessions& agents, Moment now) {
  const std::string& from = initiator_.port.node();
  const std::string& to = responder_.port.node();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
      phase_ == Phase::kReadying || phase_ == Phase::kArming
          ? ready_within_
          : Duration(std::chrono::milliseconds(spec_.timeout_ms())));
  const std::string within = Format("within {} ms", ms.count());
  const auto fail = [&](const std::string& reason, const std::string& blamed) {
    Fail(v1::PROBE_STATUS_TIMED_OUT, reason, blamed, agents, now);
  };
  switch (phase_) {
    case Phase::kReadying:
      if (!initiator_.ready && !responder_.ready)
        return fail(Format("{} and {}: neither answered the assignment {}", from, to, within), "");
      return fail(
          Format("{}: did not answer the assignment {}", initiator_.ready ? to : from, within),
          initiator_.ready ? to : from);
    case Phase::kArming: return fail(Format("{}: did not connect {}", to, within), to);
    case Phase::kArmed: return fail(Format("{}: the probe was not started {}", from, within), "");
    case Phase::kRunning: return fail(Format("{}: reported no result {}", from, within), from);
  }
}

}  // namespace fabric::control
