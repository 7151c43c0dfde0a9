// A discrete simulation for campaign_bench and certify_bench: agents take their time on a simulated
// clock, messages take theirs, and the controller is one server whose work takes as long as it
// really takes here, in time of the processor, with its store on disk.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"

namespace fabric::control {

// Not the clock's: others may be at work on this machine.
inline Duration CpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

class CampaignWorld final : public AgentSink {
 public:
  static constexpr Duration kMessageTakes = std::chrono::microseconds(100);  // One way
  // Of a queue pair, at each end at the same time
  static constexpr Duration kSetUpTakes = std::chrono::milliseconds(2);
  static constexpr Duration kHeartbeatEvery = std::chrono::seconds(1);
  static constexpr Duration kTickEvery = std::chrono::milliseconds(100);

  // Result that the initiator of a probe reports; also used for quick probes.
  using Measure = std::function<v1::ProbeResult(const v1::ProbeAssignment&)>;

  // n1 ... n<nodes>, connected and judged. `probe_takes`: beyond the set-up.
  CampaignWorld(std::uint32_t nodes, std::uint32_t rails, const ControllerOptions& options,
                Duration probe_takes, Measure measure)
      : nodes_(nodes), probe_takes_(probe_takes), measure_(std::move(measure)) {
    store_ = *store::OpenSqlite(directory_.path() + "/state.db");
    controller_ = std::make_unique<Controller>(options, *store_, *this, events_, Now());
    for (std::uint32_t n = 1; n <= nodes; ++n) {
      v1::AgentMessage hello, snapshot;
      *snapshot.mutable_snapshot() = testing::RoceNode({.number = n, .rails = rails, .gpu = false});
      *hello.mutable_hello()->mutable_node() = snapshot.snapshot().node();
      hello.mutable_hello()->mutable_node()->set_machine_id(Format("machine-{}", n));
      Say(n, hello);
      Say(n, snapshot);
    }
    controller_->Tick(Now());
  }

  Controller& controller() { return *controller_; }
  Moment Now() const {
    return {SteadyTime(std::chrono::seconds(1000) + now_),
            WallTime(std::chrono::seconds(1'800'000'000) + now_)};
  }
  double seconds() const { return std::chrono::duration<double>(now_).count(); }  // Simulated
  Duration busy() const { return busy_; }        // The controller, since the start
  bool idle() const { return coming_.empty(); }  // No message is on its way.

  // The controller does one thing at a time, and what it does takes its time.
  template <class Work>
  void Serve(Work work) {
    now_ = std::max(now_, free_at_);
    const Duration begun = CpuTime();
    const Duration at = now_;
    work();
    const Duration took = CpuTime() - begun;
    busy_ += took;
    free_at_ = at + took;
  }

  // The next message or tick. True: it was a tick.
  bool Step() {
    if (!coming_.empty() && coming_.top().at < next_tick_) {
      const Coming next = coming_.top();
      coming_.pop();
      now_ = std::max(now_, next.at);
      Serve([&] { Say(next.node, next.message); });
      return false;
    }
    now_ = std::max(now_, next_tick_);
    next_tick_ += kTickEvery;
    if (now_ >= next_heartbeat_) {
      next_heartbeat_ += kHeartbeatEvery;
      v1::AgentMessage heartbeat;
      heartbeat.mutable_heartbeat();
      Serve([&] {
        for (std::uint32_t n = 1; n <= nodes_; ++n) Say(n, heartbeat);
      });
    }
    Serve([&] { controller_->Tick(Now()); });
    return true;
  }

  void Send(SessionId session, const v1::ControllerMessage& message) override {
    const auto node = static_cast<std::uint32_t>(session.value());
    v1::AgentMessage answer;
    Duration takes = 2 * kMessageTakes;
    if (message.has_probe_assignment()) {
      const v1::ProbeAssignment& assignment = message.probe_assignment();
      ends_[{assignment.probe_id(), node}] = assignment;
      answer.mutable_probe_ready()->set_probe_id(assignment.probe_id());
      takes += kSetUpTakes;
    } else if (message.has_probe_start()) {
      const std::uint64_t id = message.probe_start().probe_id();
      const v1::ProbeAssignment& assignment = ends_[{id, node}];
      if (assignment.role() == v1::PROBE_ROLE_RESPONDER) {
        answer.mutable_probe_armed()->set_probe_id(id);
      } else {
        answer.mutable_probe_outcome()->set_probe_id(id);
        *answer.mutable_probe_outcome()->mutable_result() = measure_(assignment);
        takes += IsQuick(assignment.spec()) ? kSetUpTakes : probe_takes_;
        ends_.erase({id, node});
      }
    } else if (message.has_probe_stop()) {
      const std::uint64_t id = message.probe_stop().probe_id();
      answer.mutable_probe_outcome()->set_probe_id(id);
      answer.mutable_probe_outcome()->mutable_result()->set_status(v1::PROBE_STATUS_OK);
      ends_.erase({id, node});
    } else {
      return;
    }
    coming_.push({now_ + takes, order_++, node, std::move(answer)});
  }
  void Close(SessionId, const Status&) override {}

 private:
  struct Coming {
    Duration at;
    std::uint64_t order;
    std::uint32_t node;
    v1::AgentMessage message;
    bool operator<(const Coming& other) const {  // The first is the largest.
      return std::pair(other.at, other.order) < std::pair(at, order);
    }
  };
  struct Hash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint32_t>& key) const {
      return std::hash<std::uint64_t>()(key.first * 0x9e3779b97f4a7c15U + key.second);
    }
  };

  static bool IsQuick(const v1::ProbeSpec& spec) {
    return spec.rc_write_latency().iterations() == 16;
  }

  void Say(std::uint32_t node, const v1::AgentMessage& message) {
    (void)controller_->OnMessage(SessionId(node), message, Now());
  }

  const std::uint32_t nodes_;
  const Duration probe_takes_;
  const Measure measure_;
  testing::TempTree directory_;
  EventBus events_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Controller> controller_;
  std::priority_queue<Coming> coming_;
  std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, v1::ProbeAssignment, Hash> ends_;
  std::uint64_t order_ = 0;
  Duration now_{}, free_at_{}, next_tick_{}, next_heartbeat_{}, busy_{};
};

}  // namespace fabric::control
