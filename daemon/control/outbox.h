// Outputs of the controller's parts: the store and the event bus.
#pragma once

#include <deque>
#include <exception>
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
    if (in_batch_)
      held_.push_back(std::move(event));
    else
      events_.Publish(std::move(event));
  }

 private:
  friend class WriteBatch;

  void BeginBatch() {
    store_.BeginBatch();
    in_batch_ = true;
  }
  void EndBatch() {
    in_batch_ = false;
    store_.EndBatch();
    for (; !held_.empty(); held_.pop_front()) events_.Publish(std::move(held_.front()));
  }

  store::BufferedStore store_;
  EventBus& events_;
  bool in_batch_ = false;
  std::deque<v1::Event> held_;
};

// All that a turn writes is one transaction, and is written before the events of the turn are
// published.
class WriteBatch {
 public:
  explicit WriteBatch(Outbox& outbox) : outbox_(outbox) { outbox_.BeginBatch(); }
  ~WriteBatch() {
    try {
      outbox_.EndBatch();
    } catch (const std::exception&) {
      // No memory: the rest is written and published with the next turn.
    }
  }
  WriteBatch(const WriteBatch&) = delete;
  WriteBatch& operator=(const WriteBatch&) = delete;

 private:
  Outbox& outbox_;
};

}  // namespace fabric::control
