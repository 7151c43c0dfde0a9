// Event bus: numbers events, keeps the newest ones once for all watchers, and passes each to
// listeners.
//
// A watcher is a cursor. If the events after it are not kept, or are those of another run of the
// controller, the next event is a gap: the watcher lists again what it shows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/listing/filter.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/affected.h"

namespace fabric::control {

// Called with every event, from any thread, in order, under the locks of the bus and of the
// controller. Must not block, and must not call back into the bus.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void OnEvent(const v1::Event& event) = 0;
};

// Position in the events of all runs of the controller. As text: "1f03c2a9-40".
struct EventCursor {
  std::uint64_t epoch = 0;     // The run of the controller
  std::uint64_t sequence = 0;  // The last event that was seen

  std::string Text() const;
  friend bool operator==(const EventCursor&, const EventCursor&) = default;
};
// INVALID_ARGUMENT for anything else than the text of a cursor.
Result<EventCursor> ParseEventCursor(std::string_view text);

// What one watcher asked for, and how far it is.
struct EventWatch {
  EventCursor cursor;
  NodeSet nodes;  // Empty: all
  Filter filter;
};

// Bounds of the events that are kept. When one is exceeded, the oldest events are discarded.
struct EventBounds {
  std::size_t events = 65'536;
  std::size_t bytes = 32 << 20;
};

// Safe to call from any thread.
class EventBus {
 public:
  // `epoch` differs between runs of the controller.
  explicit EventBus(std::uint64_t epoch = 1, const EventBounds& bounds = {})
      : epoch_(epoch), bounds_(bounds) {}

  // Numbers the event, passes it to every listener and keeps it.
  void Publish(v1::Event event);

  // The listener must live until Unsubscribe returns.
  void Subscribe(EventListener& listener);
  void Unsubscribe(EventListener& listener);

  // Where this watcher starts. INVALID_ARGUMENT for an invalid cursor or filter. Durations in the
  // filter count from `now`.
  Result<EventWatch> Start(const v1::WatchEventsRequest& request, Moment now) const;

  struct Step {
    std::optional<v1::Event> event;  // Or a gap
    bool more = false;               // Without event: call again, else none follows yet.
  };
  // The next event that the watcher asked for; moves its cursor behind it. A call looks at a
  // limited number of events, so that it is short.
  Step Next(EventWatch& watch) const;

  std::size_t kept_bytes() const;

 private:
  struct Kept {
    v1::Event event;
    std::size_t bytes;
  };
  std::uint64_t FirstKept() const REQUIRES(mutex_) { return sequence_ + 1 - kept_.size(); }
  // The event after the cursor, or a gap; moves the cursor behind it. Empty: none yet.
  std::optional<v1::Event> NextOfAll(EventCursor& cursor) const;
  v1::Event Gap(EventCursor& cursor) const REQUIRES(mutex_);

  const std::uint64_t epoch_;
  const EventBounds bounds_;
  mutable Mutex mutex_;
  std::uint64_t sequence_ GUARDED_BY(mutex_) = 0;
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);  // Without holes: the last one is `sequence_`.
  std::vector<EventListener*> listeners_ GUARDED_BY(mutex_);
};

}  // namespace fabric::control
