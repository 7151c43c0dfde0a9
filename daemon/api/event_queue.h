// Bounded queue between the event bus and one watcher, for any transport.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "daemon/control/events.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {

// Safe to call from any thread.
class EventQueue final : public control::EventListener {
 public:
  // All that the bus keeps, and then some while the watcher reads that.
  static constexpr std::size_t kQueuedMax = 5120;

  // Subscribes. `wake` is called, from any thread, when there is something to Pop after there was
  // nothing, and when the queue overflows. It must not block, nor call into the bus.
  EventQueue(control::EventBus& bus, std::uint64_t after_sequence, std::function<void()> wake);
  ~EventQueue() override;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  void OnEvent(const v1::Event& event) override EXCLUDES(mutex_);

  // The next event, if there is one; none after an overflow.
  std::optional<v1::Event> Pop() EXCLUDES(mutex_);
  // The watcher was too slow: events are lost and none will come. Drop it.
  bool overflowed() const EXCLUDES(mutex_);

 private:
  control::EventBus& bus_;
  const std::function<void()> wake_;

  mutable Mutex mutex_;
  bool ready_ GUARDED_BY(mutex_) = false;  // Kept events are in front of what came since.
  bool overflowed_ GUARDED_BY(mutex_) = false;
  std::deque<v1::Event> events_ GUARDED_BY(mutex_);
};

}  // namespace fabric::api
