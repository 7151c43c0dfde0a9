#include "daemon/control/events.h"

#include <utility>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::control {

std::string EventCursor::Text() const {
  return Format("{:x}-{}", epoch, sequence);
}

Result<EventCursor> ParseEventCursor(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto epoch = ParseNumber<std::uint64_t>(text.substr(0, dash), 16);
  const auto sequence =
      ParseNumber<std::uint64_t>(dash == text.npos ? std::string_view() : text.substr(dash + 1));
  if (!epoch.ok() || !sequence.ok())
    return Status(
        Code::kInvalidArgument,
        Format("expected the cursor of an event, such as 1f03c2a9-40, saw {}", Quoted(text)));
  return EventCursor{.epoch = *epoch, .sequence = *sequence};
}

void EventBus::Publish(v1::Event event) {
  const std::size_t bytes = event.SpaceUsedLong();
  const MutexLock lock(mutex_);
  event.set_sequence(++sequence_);
  for (EventListener* listener : listeners_) listener->OnEvent(event);
  kept_.push_back({.event = std::move(event), .bytes = bytes});
  bytes_ += bytes;
  while (kept_.size() > bounds_.events || bytes_ > bounds_.bytes) {
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

void EventBus::Subscribe(EventListener& listener) {
  const MutexLock lock(mutex_);
  listeners_.push_back(&listener);
}

void EventBus::Unsubscribe(EventListener& listener) {
  const MutexLock lock(mutex_);
  std::erase(listeners_, &listener);
}

Result<EventCursor> EventBus::Start(const v1::WatchEventsRequest& request) const {
  if (!request.after_cursor().empty()) return ParseEventCursor(request.after_cursor());
  const MutexLock lock(mutex_);
  const std::uint64_t after = request.after_sequence();
  return EventCursor{.epoch = epoch_, .sequence = after == 0 ? sequence_ : after};
}

std::optional<v1::Event> EventBus::Next(EventCursor& cursor) const {
  const MutexLock lock(mutex_);
  if (cursor.epoch != epoch_ || cursor.sequence > sequence_ || cursor.sequence + 1 < FirstKept())
    return Gap(cursor);
  if (cursor.sequence == sequence_) return {};
  const std::uint64_t index = ++cursor.sequence - FirstKept();
  std::optional<v1::Event> event(kept_[static_cast<std::size_t>(index)].event);
  event->set_cursor(cursor.Text());
  return event;
}

v1::Event EventBus::Gap(EventCursor& cursor) const {
  const std::uint64_t last_discarded = FirstKept() - 1;
  v1::Event event;
  v1::EventGap& gap = *event.mutable_gap();
  if (cursor.epoch != epoch_) {
    gap.set_reason("the controller restarted");
  } else if (cursor.sequence > sequence_) {
    gap.set_reason(
        Format("expected an event up to {}, saw {}: it is of another run of the "
               "controller",
               sequence_, cursor.sequence));
  } else {
    gap.set_missed(last_discarded - cursor.sequence);
    gap.set_reason(Plural(gap.missed(), "event") + " discarded");
  }
  cursor = {.epoch = epoch_, .sequence = last_discarded};
  event.set_sequence(last_discarded);
  event.set_cursor(cursor.Text());
  if (!kept_.empty()) *event.mutable_at() = kept_.front().event.at();
  return event;
}

std::size_t EventBus::kept_bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace fabric::control
