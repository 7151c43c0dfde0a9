#include "daemon/control/events.h"

#include <algorithm>
#include <utility>

namespace fabric::control {

void EventBus::Publish(v1::Event event) {
  const MutexLock lock(mutex_);
  event.set_sequence(++sequence_);
  for (EventListener* listener : listeners_) listener->OnEvent(event);
  kept_.push_back(std::move(event));
  if (kept_.size() > kKeptMax) kept_.pop_front();
}

std::vector<v1::Event> EventBus::Subscribe(EventListener& listener, std::uint64_t after_sequence) {
  const MutexLock lock(mutex_);
  listeners_.push_back(&listener);
  if (after_sequence == 0) return {};
  // A number ahead of ours is of an earlier run of the controller: everything is news then.
  const std::uint64_t after = after_sequence > sequence_ ? 0 : after_sequence;
  const auto first = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const v1::Event& event) { return event.sequence() > after; });
  return {first, kept_.end()};
}

void EventBus::Unsubscribe(EventListener& listener) {
  const MutexLock lock(mutex_);
  std::erase(listeners_, &listener);
}

}  // namespace fabric::control
