#include "agents/session/outbox.h"

#include <algorithm>
#include <utility>

namespace fabric::agent {
namespace {

bool IsState(const v1::AgentMessage& message) {
  return message.has_snapshot() || message.has_change() || message.has_counter_table() ||
         message.has_counter_sample();
}
bool IsHeartbeat(const v1::AgentMessage& message) {
  return message.has_heartbeat();
}
bool IsAboutProbe(const v1::AgentMessage& message) {
  return message.has_probe_ready() || message.has_probe_armed() || message.has_probe_outcome();
}

}  // namespace

bool Outbox::Put(v1::AgentMessage message) {
  if (message.has_heartbeat()) {
    const auto waiting = std::find_if(messages_.begin(), messages_.end(), IsHeartbeat);
    if (waiting != messages_.end()) {
      bytes_ -= waiting->ByteSizeLong();
      bytes_ += message.ByteSizeLong();
      *waiting = std::move(message);
      return true;
    }
  }
  const std::size_t bytes = message.ByteSizeLong();
  bool dropped = false;
  while (!messages_.empty() && (messages_.size() >= max_ || bytes_ + bytes > bytes_max_)) {
    const auto probe = std::find_if(messages_.begin(), messages_.end(), IsAboutProbe);
    Drop(probe != messages_.end() ? probe : messages_.begin());
    dropped = true;
  }
  bytes_ += bytes;
  messages_.push_back(std::move(message));
  return !dropped;
}

void Outbox::Drop(std::deque<v1::AgentMessage>::iterator at) {
  bytes_ -= at->ByteSizeLong();
  messages_.erase(at);
}

std::optional<v1::AgentMessage> Outbox::Take() {
  if (messages_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.ByteSizeLong();
  return message;
}

bool Outbox::HasState() const {
  return std::any_of(messages_.begin(), messages_.end(), IsState);
}

}  // namespace fabric::agent
