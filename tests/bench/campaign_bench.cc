// What the controller adds to a campaign. Run by hand: see docs/BENCHMARKS.md.
//
// A discrete simulation: agents take their time on a simulated clock, messages take theirs, and the
// controller is one server whose work takes as long as it really takes here, in time of the
// processor, with its store on disk. What a campaign takes beyond its probes and their messages is
// its overhead.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration kMessageTakes = 100us;  // One way
constexpr Duration kSetUpTakes = 2ms;      // Of a queue pair, at each end at the same time
constexpr Duration kHeartbeatEvery = 1s;
constexpr Duration kTickEvery = 100ms;

// Not the clock's: others may be at work on this machine.
Duration CpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

class World final : public AgentSink {
 public:
  World(std::uint32_t nodes, std::uint32_t pairs_at_once, Duration probe_takes)
      : probe_takes_(probe_takes), nodes_(nodes) {
    store_ = *store::OpenSqlite(directory_.path() + "/state.db");
    controller_ = std::make_unique<Controller>(
        ControllerOptions{.pairs_at_once_max = pairs_at_once}, *store_, *this, events_, Now());
    for (std::uint32_t n = 1; n <= nodes; ++n) {
      v1::AgentMessage hello, snapshot;
      *snapshot.mutable_snapshot() = testing::RoceNode({.number = n, .rails = 1, .gpu = false});
      *hello.mutable_hello()->mutable_node() = snapshot.snapshot().node();
      hello.mutable_hello()->mutable_node()->set_machine_id(Format("machine-{}", n));
      Say(n, hello);
      Say(n, snapshot);
    }
    controller_->Tick(Now());
  }

  // Returns the simulated seconds of the campaign, and adds to `busy` the controller's own.
  double Run(const v1::CampaignSpec& spec, Duration& busy, v1::Campaign& campaign) {
    v1::StartCampaignRequest start;
    *start.mutable_spec() = spec;
    busy_ = {};
    now_ = free_at_ = next_tick_ = next_heartbeat_ = 0ns;
    const Duration begun = now_;
    Serve([&] { failed_ = !controller_->StartCampaign(start, campaign, Now()).ok(); });
    v1::GetCampaignRequest get;
    get.set_id(campaign.id());
    get.set_omit_results(true);
    while (!failed_ && !campaign.has_ended_at()) {
      Step();
      if (events_in_.empty() || ++steps_ % 1024 == 0) (void)controller_->GetCampaign(get, campaign);
    }
    busy += busy_;
    return std::chrono::duration<double>(now_ - begun).count();
  }

  void Send(SessionId session, const v1::ControllerMessage& message) override {
    const auto node = static_cast<std::uint32_t>(session.value());
    v1::AgentMessage answer;
    Duration takes = 2 * kMessageTakes;
    if (message.has_probe_assignment()) {
      const auto& assignment = message.probe_assignment();
      responds_[{assignment.probe_id(), node}] = assignment.role() == v1::PROBE_ROLE_RESPONDER;
      quick_[{assignment.probe_id(), node}] =
          assignment.spec().rc_write_latency().iterations() == 16;
      answer.mutable_probe_ready()->set_probe_id(assignment.probe_id());
      takes += kSetUpTakes;
    } else if (message.has_probe_start()) {
      const std::uint64_t id = message.probe_start().probe_id();
      if (responds_[{id, node}]) {
        answer.mutable_probe_armed()->set_probe_id(id);
      } else {
        answer.mutable_probe_outcome()->set_probe_id(id);
        v1::ProbeResult& result = *answer.mutable_probe_outcome()->mutable_result();
        result.set_status(v1::PROBE_STATUS_OK);
        result.mutable_latency()->set_median_us(2.5);
        result.mutable_latency()->set_samples(1000);
        takes += quick_[{id, node}] ? kSetUpTakes : probe_takes_;
        Forget(id, node);
      }
    } else if (message.has_probe_stop()) {
      const std::uint64_t id = message.probe_stop().probe_id();
      answer.mutable_probe_outcome()->set_probe_id(id);
      answer.mutable_probe_outcome()->mutable_result()->set_status(v1::PROBE_STATUS_OK);
      Forget(id, node);
    } else {
      return;
    }
    events_in_.push({now_ + takes, order_++, node, std::move(answer)});
  }
  void Close(SessionId, const Status&) override {}

 private:
  struct Event {
    Duration at;
    std::uint64_t order;
    std::uint32_t node;
    v1::AgentMessage message;
    bool operator<(const Event& other) const {  // The first is the largest.
      return std::pair(other.at, other.order) < std::pair(at, order);
    }
  };
  struct Hash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint32_t>& key) const {
      return std::hash<std::uint64_t>()(key.first * 0x9e3779b97f4a7c15U + key.second);
    }
  };
  using Ends = std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, bool, Hash>;

  Moment Now() const { return {SteadyTime(1000s + now_), WallTime(1'800'000'000s + now_)}; }

  void Forget(std::uint64_t id, std::uint32_t node) {
    responds_.erase({id, node});
    quick_.erase({id, node});
  }

  void Say(std::uint32_t node, const v1::AgentMessage& message) {
    (void)controller_->OnMessage(SessionId(node), message, Now());
  }

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

  void Step() {
    const Duration next = events_in_.empty() ? next_tick_ : events_in_.top().at;
    if (next_tick_ <= next) {
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
      return Serve([&] { controller_->Tick(Now()); });
    }
    const Event event = events_in_.top();
    events_in_.pop();
    now_ = std::max(now_, event.at);
    Serve([&] { Say(event.node, event.message); });
  }

  const Duration probe_takes_;
  const std::uint32_t nodes_;
  testing::TempTree directory_;
  EventBus events_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Controller> controller_;
  std::priority_queue<Event> events_in_;
  Ends responds_, quick_;
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  Duration now_{}, free_at_{}, next_tick_{}, next_heartbeat_{}, busy_{};
  bool failed_ = false;
};

// All pairs of nodes with one rail: nodes, pairs at once, milliseconds that a probe takes.
void Campaign(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto at_once = static_cast<std::uint32_t>(state.range(1));
  const Duration probe_takes = std::chrono::milliseconds(state.range(2));
  World world(nodes, at_once, probe_takes);
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_rc_write_latency();
  v1::Campaign campaign;
  double seconds = 0;
  Duration busy{};
  for (auto _ : state) seconds = world.Run(spec, busy, campaign);
  // What it would take if the controller took no time: six messages, a set-up and the probe, for as
  // many times as the pairs of a round do not run at once.
  const double probe =
      std::chrono::duration<double>(6 * kMessageTakes + kSetUpTakes + probe_takes).count();
  const double waves = std::ceil(nodes / 2.0 / at_once);
  const double ideal = static_cast<double>(campaign.rounds()) * waves * probe;
  state.counters["rounds"] = campaign.rounds_done();
  state.counters["simulated_s"] = seconds;
  state.counters["overhead_%"] = 100 * (seconds / ideal - 1);
  state.counters["controller_us_per_probe"] =
      std::chrono::duration<double, std::micro>(busy).count() / campaign.probes_ok() /
      static_cast<double>(state.iterations());
}

BENCHMARK(Campaign)
    ->Args({64, 32, 50})
    ->Args({256, 64, 50})
    ->Args({1024, 64, 50})
    ->Args({1024, 64, 200})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::control
