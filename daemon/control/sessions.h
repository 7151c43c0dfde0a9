// The agents that are connected now: which session speaks for which node.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/agent_sink.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::control {

struct Session {
  SessionId id;
  v1::NodeIdentity node;              // As its Hello said
  std::set<std::string> probe_kinds;  // Empty: not told
  SteadyTime heard_at;                // Of its last message; later when nobody could be heard.
  bool reported = false;              // Its whole snapshot has come.
  bool asked = false;                 // For a whole snapshot, which has not come yet
  bool silent = false;                // Counts as lost until it is heard of again.
  SteadyTime stored_at;               // Its snapshot was written to the store.
};

class Sessions {
 public:
  explicit Sessions(AgentSink& sink) : sink_(sink) {}

  // One session speaks for a node: add it after the older one was removed.
  Session& Add(SessionId id, const v1::Hello& hello, Moment now);
  void Remove(SessionId id);

  Session* Find(SessionId id);                           // nullptr: no such session
  const Session* OfNode(const std::string& node) const;  // nullptr: not connected
  // Heard of, reported, and not silent: what a probe may be given to.
  const Session* Usable(const std::string& node) const;
  std::map<SessionId, Session>& all() { return sessions_; }

  void Send(SessionId id, const v1::ControllerMessage& message) { sink_.Send(id, message); }
  // Dropped when the node is not connected.
  void Send(const std::string& node, const v1::ControllerMessage& message);

 private:
  AgentSink& sink_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId> by_node_;
};

}  // namespace fabric::control
