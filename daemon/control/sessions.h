// Sessions of the connected agents, by session and by node.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/agent_sink.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::control {

struct Session {
  SessionId id;
  v1::NodeIdentity node;              // From Hello
  std::set<std::string> probe_kinds;  // Empty: not reported
  SteadyTime heard_at;                // Last message; moved on by time in which none could arrive
  bool reads_subnets = false;         // It may open a umad device.
  bool reported = false;              // The first snapshot has arrived.
  bool snapshot_requested = false;    // Or to be requested, and has not arrived yet
  bool silent = false;                // The node counts as lost until the next message.
  SteadyTime lost_check_at;           // When it wakes to see whether the agent is silent
  SteadyTime stored_at;               // Last write of the snapshot to the store
  bool to_be_stored = false;          // Settings changed since then
  // Sessions of the same node that were replaced, each while it was connected, since a time.
  std::uint64_t replaced = 0;
  SteadyTime replaced_since;
  std::optional<std::uint64_t> probe_memory_max;  // Of all its probes; absent: an older agent
};

class Sessions {
 public:
  // Complete snapshots that are on their way at one time. Others are requested when these have
  // arrived: a fleet that comes back at once must not fill the memory or delay heartbeats.
  static constexpr std::size_t kSnapshotsAtOnce = 32;
  // After this time, a snapshot that did not arrive does not delay others.
  static constexpr Duration kSnapshotWithin = std::chrono::seconds(10);

  explicit Sessions(AgentSink& sink) : sink_(sink) {}

  // A node has one session: remove the older one first.
  Session& Add(SessionId id, const v1::Hello& hello, Moment now);
  void Remove(SessionId id, Moment now);

  // The session needs a complete snapshot: now (true), or when it is asked by a SnapshotRequest.
  bool Invite(Session& session, Moment now);
  // Requests a complete snapshot, now or later. At most one request is open.
  void RequestSnapshot(Session& session, Moment now);
  // A snapshot has arrived, or time has passed: requests those that can be sent now.
  void OnSnapshot(SessionId id, Moment now);
  void RequestNext(Moment now);

  // TakeDue() returns the session at this time, or a little later.
  void WakeAt(SessionId id, SteadyTime time) { due_.emplace(time, id); }
  // A session whose time has come; each time is returned once.
  std::optional<SessionId> TakeDue(SteadyTime now);

  Session* Find(SessionId id);                           // nullptr: no such session
  const Session* OfNode(const std::string& node) const;  // nullptr: not connected
  // The session if it can take a probe: it has reported and is not silent; else nullptr.
  const Session* Usable(const std::string& node) const;
  std::map<SessionId, Session>& all() { return sessions_; }

  void Send(SessionId id, const v1::ControllerMessage& message) { sink_.Send(id, message); }
  bool MayOrder() const { return sink_.MayOrder(); }
  // Drops the message when the node is not connected.
  void Send(const std::string& node, const v1::ControllerMessage& message);

 private:
  AgentSink& sink_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId> by_node_;
  std::map<SessionId, SteadyTime> invited_;  // Whose snapshots are on their way, and since when
  std::deque<SessionId> to_invite_;
  using Due = std::pair<SteadyTime, SessionId>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace fabric::control
