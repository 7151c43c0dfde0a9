#include "agents/session/inbox.h"

#include <utility>

#include "proto/bounds.h"

namespace fabric::agent {
namespace {

std::size_t MemoryOf(const Event& event) {
  const auto* const message = std::get_if<v1::ControllerMessage>(&event);
  return message == nullptr ? 0 : message->SpaceUsedLong();
}

}  // namespace

void Inbox::OnSnapshot(v1::NodeSnapshot snapshot) {
  MutexLock lock(mutex_);
  snapshot_ = std::move(snapshot);
  changed_.notify_one();
}
void Inbox::OnCounterTable(counters::Table table) {
  MutexLock lock(mutex_);
  table_ = std::move(table);
  changed_.notify_one();
}
void Inbox::OnCounterSample(counters::Sample sample) {
  MutexLock lock(mutex_);
  sample_ = std::move(sample);
  changed_.notify_one();
}
void Inbox::OnConnected() {
  Put(Connected{});
}
void Inbox::OnIdle() {
  Put(Idle{});
}
void Inbox::OnDisconnected(const Status& why) {
  Put(Disconnected{why});
}
void Inbox::OnMessage(v1::ControllerMessage message) {
  Put(std::move(message));
}

void Inbox::Put(Event event) {
  const std::size_t memory = MemoryOf(event);
  MutexLock lock(mutex_);
  const bool full = events_.size() >= Limit("agent_inbox_messages") ||
                    memory_ + memory > Limit("agent_inbox_memory");
  if (full && memory > 0) return;
  memory_ += memory;
  events_.push_back(std::move(event));
  changed_.notify_one();
}

std::optional<Event> Inbox::Next(const std::stop_token& stop, Duration patience) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, stop, patience, [&]() REQUIRES(mutex_) {
    return snapshot_ || table_ || sample_ || !events_.empty();
  });
  if (stop.stop_requested()) return std::nullopt;
  if (snapshot_) return std::exchange(snapshot_, std::nullopt);
  if (table_) return std::exchange(table_, std::nullopt);
  if (sample_) return std::exchange(sample_, std::nullopt);
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  memory_ -= MemoryOf(event);
  return event;
}

}  // namespace fabric::agent
