// Sessions of the connected agents, by session and by node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

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
  bool reported = false;              // The first snapshot has arrived.
  bool snapshot_requested = false;    // And has not arrived yet
  bool silent = false;                // The node counts as lost until the next message.
  SteadyTime stored_at;               // Last write of the snapshot to the store
  bool to_be_stored = false;          // Settings changed since then
  // Sessions of the same node that were replaced, each while it was connected, since a time.
  std::uint64_t replaced = 0;
  SteadyTime replaced_since;
  std::optional<std::uint64_t> probe_memory_max;  // Of all its probes; absent: an older agent
};

class Sessions {
 public:
  explicit Sessions(AgentSink& sink) : sink_(sink) {}

  // A node has one session: remove the older one first.
  Session& Add(SessionId id, const v1::Hello& hello, Moment now);
  void Remove(SessionId id);

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
};

}  // namespace fabric::control
