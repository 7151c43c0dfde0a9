#include "daemon/control/sessions.h"

namespace fabric::control {

Session& Sessions::Add(SessionId id, const v1::Hello& hello, Moment now) {
  Session& session = sessions_[id];
  session.id = id;
  session.node = hello.node();
  session.probe_kinds.insert(hello.probe_kinds().begin(), hello.probe_kinds().end());
  if (hello.has_probe_memory_bytes_max()) session.probe_memory_max = hello.probe_memory_bytes_max();
  session.heard_at = now.steady;
  by_node_[hello.node().name()] = id;
  return session;
}

void Sessions::Remove(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  by_node_.erase(found->second.node.name());
  sessions_.erase(found);
}

Session* Sessions::Find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

const Session* Sessions::OfNode(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? nullptr : &sessions_.at(found->second);
}

const Session* Sessions::Usable(const std::string& node) const {
  const Session* const session = OfNode(node);
  return session != nullptr && session->reported && !session->silent ? session : nullptr;
}

void Sessions::Send(const std::string& node, const v1::ControllerMessage& message) {
  if (const Session* session = OfNode(node)) sink_.Send(session->id, message);
}

}  // namespace fabric::control
