// Outputs of the controller's parts: the store and the event bus.
#pragma once

#include <utility>

#include "base/clock.h"
#include "daemon/control/events.h"
#include "daemon/store/buffered_store.h"
#include "proto/timestamps.h"

namespace fabric::control {

class Outbox {
 public:
  Outbox(store::Store& store, EventBus& events) : store_(store), events_(events) {}

  store::BufferedStore& store() { return store_; }

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

 private:
  store::BufferedStore store_;
  EventBus& events_;
};

}  // namespace fabric::control
