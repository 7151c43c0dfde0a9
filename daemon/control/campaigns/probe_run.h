// One probe between two agents, from the assignment to the end of both. The order of messages is in
// agent.proto.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/sessions.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// It is decided once it has a result, and over once neither end uses its port; it is never over
// before it is decided. A timeout that blames no node waits for the report of the other end, whose
// host may have been late. Messages that do not fit the phase are ignored. Both ends may be on one
// node: messages name the end.
class ProbeRun {
 public:
  // `held`: the initiator waits for Go() once both ends are ready.
  ProbeRun(ProbeId id, const v1::ProbePort& from, const v1::ProbePort& to,
           const v1::ProbeSpec& spec, bool held = false);

  // Assigns both ends, or decides at once: an agent is not connected or cannot run this kind.
  void Start(Sessions& agents, Moment now);

  void OnReady(const std::string& node, const v1::ProbeReady& ready, Sessions& agents);
  void OnArmed(const std::string& node, Sessions& agents);
  bool armed() const { return phase_ == Phase::kArmed; }  // And held
  void Go(Sessions& agents);
  void OnOutcome(const std::string& node, const v1::ProbeOutcome& outcome, Sessions& agents,
                 Moment now);
  // What the node reported cannot be used: the probe fails because of it.
  void Reject(const std::string& node, v1::ProbeRole role, const std::string& reason,
              Sessions& agents, Moment now);
  void OnLost(const std::string& node, const std::string& reason, Sessions& agents, Moment now);
  void Cancel(const std::string& reason, Sessions& agents, Moment now);
  void Tick(Sessions& agents, Moment now);

  bool decided() const { return result_.status() != v1::PROBE_STATUS_UNSPECIFIED; }
  bool over() const { return decided() && !initiator_.busy && !responder_.busy; }
  // Whether that end may still use its port.
  bool initiator_busy() const { return initiator_.busy; }
  bool responder_busy() const { return responder_.busy; }
  const v1::ProbeResult& result() const { return result_; }
  // Counter readings of the responder, once it is over; empty when it reported none.
  const v1::PortCounterDeltas& responder_deltas() const { return responder_deltas_; }
  Moment started() const { return started_; }
  SteadyTime decided_at() const { return decided_at_; }

 private:
  enum class Phase { kReadying, kArming, kArmed, kRunning };

  struct End {
    v1::ProbePort port;
    v1::ProbeRole role;
    bool busy = false;  // Assigned, and its outcome has not come.
    bool ready = false;
    v1::ProbeEndpoint endpoint = {};
    std::string late = {};  // Its report that its own host was late
  };

  // nullptr: no such end, or ambiguous because the message does not name the role.
  End* EndOf(const std::string& node, v1::ProbeRole role);
  void Assign(End& end, const End& other, Sessions& agents);
  void Continue(const End& end, const End& other, Sessions& agents);
  void Explain(v1::ProbeResult timed_out, const End& other, Sessions& agents, Moment now);
  void Decide(v1::ProbeResult result, Sessions& agents, Moment now);
  void StopEnds(const std::string& reason, Sessions& agents);
  void Fail(v1::ProbeStatus status, const std::string& reason, const std::string& blamed,
            Sessions& agents, Moment now);
  void TimeOut(Sessions& agents, Moment now);

  const ProbeId id_;
  const v1::ProbeSpec spec_;
  const bool held_;
  const Duration ready_within_;
  End initiator_, responder_;
  Phase phase_ = Phase::kReadying;
  Moment started_;
  SteadyTime deadline_;  // Of the phase; once decided, of the ends to let go.
  SteadyTime decided_at_;
  std::optional<v1::ProbeResult> unexplained_;  // A timeout, until the other end has reported
  v1::ProbeResult result_;
  v1::PortCounterDeltas responder_deltas_;
};

}  // namespace fabric::control
