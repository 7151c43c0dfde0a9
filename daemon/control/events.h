// Event bus: numbers events, passes them to listeners and keeps the newest ones for resuming
// watchers.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Called with every event, from any thread, in order. Must not block, and must not call back into
// the bus; a front copies into its own bounded queue.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void OnEvent(const v1::Event& event) = 0;
};

// Safe to call from any thread.
class EventBus {
 public:
  // Numbers the event and gives it to every listener.
  void Publish(v1::Event event);

  // Registers the listener and returns the kept events after `after_sequence` (none when it is 0),
  // so that no event is missed or repeated. The listener must live until Unsubscribe returns.
  std::vector<v1::Event> Subscribe(EventListener& listener, std::uint64_t after_sequence);
  void Unsubscribe(EventListener& listener);

 private:
  static constexpr std::size_t kKeptMax = 4096;

  Mutex mutex_;
  std::uint64_t sequence_ GUARDED_BY(mutex_) = 0;
  std::deque<v1::Event> kept_ GUARDED_BY(mutex_);
  std::vector<EventListener*> listeners_ GUARDED_BY(mutex_);
};

}  // namespace fabric::control
