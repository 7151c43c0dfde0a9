#include "daemon/api/event_queue.h"

#include <iterator>
#include <utility>
#include <vector>

namespace fabric::api {

EventQueue::EventQueue(control::EventBus& bus, std::uint64_t after_sequence,
                       std::function<void()> wake)
    : bus_(bus), wake_(std::move(wake)) {
  std::vector<v1::Event> kept = bus_.Subscribe(*this, after_sequence);
  bool something = false;
  {
    const MutexLock lock(mutex_);
    events_.insert(events_.begin(), std::make_move_iterator(kept.begin()),
                   std::make_move_iterator(kept.end()));
    ready_ = true;
    something = !events_.empty() || overflowed_;
  }
  if (something) wake_();
}

EventQueue::~EventQueue() {
  bus_.Unsubscribe(*this);
}

void EventQueue::OnEvent(const v1::Event& event) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    if (overflowed_) return;
    wake = ready_ && events_.empty();
    if (events_.size() < kQueuedMax) {
      events_.push_back(event);
    } else {
      overflowed_ = true;
      events_.clear();
      wake = ready_;
    }
  }
  if (wake) wake_();
}

std::optional<v1::Event> EventQueue::Pop() {
  const MutexLock lock(mutex_);
  if (!ready_ || events_.empty()) return {};
  v1::Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

bool EventQueue::overflowed() const {
  const MutexLock lock(mutex_);
  return overflowed_;
}

}  // namespace fabric::api
