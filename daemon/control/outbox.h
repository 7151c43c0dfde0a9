// Outputs of the controller's parts: the store and the event bus. The controller continues when
// writes fail; they are counted and the last failure is kept.
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "proto/timestamps.h"

namespace fabric::control {

class Outbox {
 public:
  Outbox(store::Store& store, EventBus& events) : store_(store), events_(events) {}

  store::Store& store() { return store_; }

  // Counts the status of a write if it failed; then returns false.
  bool Stored(const Status& status) {
    if (status.ok()) return true;
    ++failures_;
    last_failure_ = status;
    return false;
  }

  // Publishes the event that `fill` completes.
  template <class Fill>
  void Publish(Moment now, Fill fill) {
    Publish(ToProto(now.wall), fill);
  }
  template <class Fill>
  void Publish(const google::protobuf::Timestamp& at, Fill fill) {
    v1::Event event;
    *event.mutable_at() = at;
    fill(event);
    events_.Publish(std::move(event));
  }

  std::uint64_t failures() const { return failures_; }
  const Status& last_failure() const { return last_failure_; }

 private:
  store::Store& store_;
  EventBus& events_;
  std::uint64_t failures_ = 0;
  Status last_failure_;
};

}  // namespace fabric::control
