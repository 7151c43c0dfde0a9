#include "daemon/control/events.h"

#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "proto/events.h"

namespace fabric::control {
namespace {

constexpr int kLookedAtMax = 1000;  // Events of one call of Next

bool Wants(const EventWatch& watch, const v1::Event& event) {
  if (event.has_gap()) return true;
  return (watch.nodes.empty() || IsAbout(event, watch.nodes)) && watch.filter.Matches(event);
}

}  // namespace

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
  event.set_kind(std::string(EventKind(event)));
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

Result<EventWatch> EventBus::Start(const v1::WatchEventsRequest& request, Moment now) const {
  auto filter = Filter::Parse(request.filter(), *v1::Event::descriptor(), now);
  RETURN_IF_ERROR(filter.status());
  for (const std::string& node : request.nodes())
    if (node.empty()) return Status(Code::kInvalidArgument, "nodes: expected names, saw ''");
  EventWatch watch{.cursor = {},
                   .nodes = {request.nodes().begin(), request.nodes().end()},
                   .filter = *std::move(filter)};
  if (!request.after_cursor().empty()) {
    auto cursor = ParseEventCursor(request.after_cursor());
    RETURN_IF_ERROR(cursor.status().In("after_cursor"));
    watch.cursor = *cursor;
    return watch;
  }
  const MutexLock lock(mutex_);
  const std::uint64_t after = request.after_sequence();
  watch.cursor = {.epoch = epoch_, .sequence = after == 0 ? sequence_ : after};
  return watch;
}

EventBus::Step EventBus::Next(EventWatch& watch) const {
  for (int looked_at = 0; looked_at < kLookedAtMax; ++looked_at) {
    auto event = NextOfAll(watch.cursor);
    if (!event || Wants(watch, *event)) return {.event = std::move(event)};
  }
  return {.event = {}, .more = true};
}

std::optional<v1::Event> EventBus::NextOfAll(EventCursor& cursor) const {
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
  event.set_kind("gap");
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
