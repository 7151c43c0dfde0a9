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
      *waiting = std::move(message);
      return true;
    }
  }
  const bool full = messages_.size() >= max_;
  if (full) {
    const auto probe = std::find_if(messages_.begin(), messages_.end(), IsAboutProbe);
    messages_.erase(probe != messages_.end() ? probe : messages_.begin());
  }
  messages_.push_back(std::move(message));
  return !full;
}

std::optional<v1::AgentMessage> Outbox::Take() {
  if (messages_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

bool Outbox::HasState() const {
  return std::any_of(messages_.begin(), messages_.end(), IsState);
}

}  // namespace fabric::agent
