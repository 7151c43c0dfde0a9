#include "daemon/control/sessions.h"

namespace fabric::control {

Session& Sessions::Add(SessionId id, const v1::Hello& hello, Moment now) {
  Session& session = sessions_[id];
  session.id = id;
  session.node = hello.node();
  session.probe_kinds.insert(hello.probe_kinds().begin(), hello.probe_kinds().end());
  if (hello.has_probe_memory_bytes_max()) session.probe_memory_max = hello.probe_memory_bytes_max();
  session.reads_subnets = hello.reads_subnets();
  session.heard_at = now.steady;
  by_node_[hello.node().name()] = id;
  return session;
}

void Sessions::Remove(SessionId id, Moment now) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  by_node_.erase(found->second.node.name());
  sessions_.erase(found);
  OnSnapshot(id, now);
}

bool Sessions::Invite(Session& session, Moment now) {
  session.snapshot_requested = true;
  if (invited_.size() >= kSnapshotsAtOnce) {
    to_invite_.push_back(session.id);
    return false;
  }
  invited_[session.id] = now.steady;
  return true;
}

void Sessions::RequestSnapshot(Session& session, Moment now) {
  if (session.snapshot_requested || !Invite(session, now)) return;
  v1::ControllerMessage message;
  message.mutable_snapshot_request();
  Send(session.id, message);
}

void Sessions::OnSnapshot(SessionId id, Moment now) {
  invited_.erase(id);
  RequestNext(now);
}

void Sessions::RequestNext(Moment now) {
  std::erase_if(invited_,
                [&](const auto& one) { return now.steady - one.second >= kSnapshotWithin; });
  v1::ControllerMessage message;
  message.mutable_snapshot_request();
  while (!to_invite_.empty() && invited_.size() < kSnapshotsAtOnce) {
    const SessionId id = to_invite_.front();
    to_invite_.pop_front();
    const Session* const session = Find(id);
    if (session == nullptr || !session->snapshot_requested) continue;
    invited_[id] = now.steady;
    Send(id, message);
  }
}

std::optional<SessionId> Sessions::TakeDue(SteadyTime now) {
  if (due_.empty() || due_.top().first > now) return std::nullopt;
  const SessionId id = due_.top().second;
  due_.pop();
  return id;
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
