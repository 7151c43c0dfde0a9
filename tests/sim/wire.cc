#include "tests/sim/wire.h"

#include <algorithm>
#include <utility>

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWriteTakes = 20us;

}  // namespace

Wire::Stream* Wire::Find(SessionId session) {
  const auto found = streams_.find(session);
  return found == streams_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> Wire::AgentOf(SessionId session) const {
  const auto found = streams_.find(session);
  return found == streams_.end() ? std::nullopt : std::optional(found->second.agent);
}

Duration Wire::StalledUntil(const Stream& stream) const {
  return std::max(stream.stalled_until, controller_stalled_until_);
}

SessionId Wire::Dial(std::uint32_t agent) {
  const SessionId session(++last_session_);
  Stream& stream = streams_[session];
  stream.agent = agent;
  if (!listening_) {
    stream.controller_ended = stream.gone = true;
    EndAgent(session, {Code::kUnavailable, "connection refused"}, queue_.now() + Takes());
  }
  return session;
}

void Wire::Write(SessionId session, v1::AgentMessage message) {
  Stream* const stream = Find(session);
  if (stream == nullptr || stream->agent_ended) return;
  stream->up.push_back(std::move(message));
  stream->up_at = std::max(stream->up_at, queue_.now() + Takes());
  queue_.At(stream->up_at, [this, session] { ArriveUp(session); });
  queue_.After(kWriteTakes, [this, session] { Written(session); });
}

// A stream that stalls takes nothing more.
void Wire::Written(SessionId session) {
  const Stream* const stream = Find(session);
  if (stream == nullptr || stream->agent_ended) return;
  if (queue_.now() < StalledUntil(*stream))
    return queue_.At(StalledUntil(*stream), [this, session] { Written(session); });
  ends_.OnWritten(stream->agent, session);
}

void Wire::ArriveUp(SessionId session) {
  Stream* const stream = Find(session);
  if (stream == nullptr) return;
  if (queue_.now() < StalledUntil(*stream))
    return queue_.At(StalledUntil(*stream), [this, session] { ArriveUp(session); });
  const v1::AgentMessage message = std::move(stream->up.front());
  stream->up.pop_front();
  if (stream->controller_ended || stream->lost) return;
  const Status status = ends_.OnAgentMessage(session, message);
  if (!status.ok()) Close(session, status);
}

void Wire::Send(SessionId session, const v1::ControllerMessage& message) {
  Stream* const stream = Find(session);
  if (stream == nullptr || stream->controller_ended) return;
  if (stream->down.size() >= kQueuedMax) {
    stream->lost = true;
    return Close(session, {Code::kResourceExhausted, "the agent does not read what it is sent"});
  }
  stream->down.push_back(message);
  stream->down_at = std::max(stream->down_at, queue_.now() + Takes());
  queue_.At(stream->down_at, [this, session] { ArriveDown(session); });
}

void Wire::ArriveDown(SessionId session) {
  Stream* const stream = Find(session);
  if (stream == nullptr) return;
  if (queue_.now() < stream->stalled_until)
    return queue_.At(stream->stalled_until, [this, session] { ArriveDown(session); });
  v1::ControllerMessage message = std::move(stream->down.front());
  stream->down.pop_front();
  if (stream->agent_ended || stream->lost) return;
  ends_.OnControllerMessage(stream->agent, session, std::move(message));
}

void Wire::Close(SessionId session, const Status& status) {
  Stream* const stream = Find(session);
  if (stream == nullptr || stream->controller_ended) return;
  stream->controller_ended = true;
  EndAgent(session, status, std::max(stream->down_at, queue_.now()) + Takes());
  EndController(session, status.message(), std::max(stream->down_at, queue_.now()) + Takes());
}

void Wire::HangUp(SessionId session) {
  Stream* const stream = Find(session);
  if (stream == nullptr || stream->agent_ended) return;
  EndAgent(session, {Code::kCancelled, "hung up"}, queue_.now());
  if (!stream->lost)
    EndController(session, "the agent's connection broke", stream->up_at + Takes());
}

void Wire::Abandon(SessionId session, bool quiet) {
  Stream* const stream = Find(session);
  if (stream == nullptr) return;
  stream->agent_ended = true;
  stream->lost |= quiet;
  EndController(
      session, "the agent's connection broke",
      quiet ? queue_.now() + kKeepalive : std::max(stream->up_at, queue_.now()) + Takes());
}

void Wire::StopListening() {
  listening_ = false;
  for (auto& [session, stream] : streams_) {
    stream.controller_ended = stream.gone = true;
    EndAgent(session, {Code::kUnavailable, "connection reset by peer"}, queue_.now() + Takes());
  }
}

void Wire::Stall(SessionId session, Duration until) {
  if (Stream* const stream = Find(session))
    stream->stalled_until = std::max(stream->stalled_until, until);
}

void Wire::Cut(SessionId session, CutKind kind) {
  Stream* const stream = Find(session);
  if (stream == nullptr) return;
  stream->lost = true;
  const Duration now = queue_.now();
  const bool agent = kind == CutKind::kBothKnow || kind == CutKind::kAgentKnows;
  const bool controller = kind == CutKind::kBothKnow || kind == CutKind::kControllerKnows;
  EndAgent(session, {Code::kUnavailable, "the connection broke"},
           now + (agent ? Takes() : kKeepalive));
  EndController(session, "the agent's connection broke", now + (controller ? Takes() : kKeepalive));
}

// A connection that ends is known to have ended, however the stream stalls.
void Wire::EndAgent(SessionId session, const Status& why, Duration when) {
  queue_.At(when, [this, session, why] {
    Stream* const stream = Find(session);
    if (stream == nullptr) return;
    if (!std::exchange(stream->agent_ended, true)) ends_.OnStreamEnded(stream->agent, session, why);
    Forget(session);
  });
}

void Wire::EndController(SessionId session, const std::string& reason, Duration when) {
  queue_.At(when, [this, session, reason] {
    Stream* const stream = Find(session);
    if (stream == nullptr) return;
    if (controller_stalled()) return EndController(session, reason, controller_stalled_until_);
    stream->controller_ended = true;
    if (!std::exchange(stream->gone, true)) ends_.OnAgentGone(session, reason);
    Forget(session);
  });
}

void Wire::Forget(SessionId session) {
  const Stream* const stream = Find(session);
  if (stream != nullptr && stream->agent_ended && stream->gone) streams_.erase(session);
}

}  // namespace fabric::sim
