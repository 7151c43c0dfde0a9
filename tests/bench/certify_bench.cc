// How long a certificate takes. Run by hand: see docs/BENCHMARKS.md.
//
// A discrete simulation as in campaign_bench: agents take their time on a simulated clock, messages
// take theirs, and the controller is one server whose work takes as long as it really takes here,
// with its rules on and its store on disk. One port of one node moves half of what it should.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
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

class World final : public AgentSink {
 public:
  // `probe_takes`: beyond the set-up.
  World(std::uint32_t nodes, std::uint32_t rails, std::string slow_port, Duration probe_takes)
      : nodes_(nodes), slow_port_(std::move(slow_port)), probe_takes_(probe_takes) {
    store_ = *store::OpenSqlite(directory_.path() + "/state.db");
    ControllerOptions options;
    options.certificates.key = *SigningKey::Generate();
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

  // Returns the simulated seconds until the certificate is there, of which `busy` are the
  // controller's own.
  double Run(v1::Certificate& certificate, double& busy) {
    v1::StartCertificateRequest start;
    for (std::uint32_t n = 1; n <= nodes_; ++n)
      start.mutable_request()->add_nodes(Format("n{}", n));
    Serve([&] { failed_ = !controller_->StartCertificate(start, certificate, Now()).ok(); });
    v1::GetCertificateRequest get;
    get.set_id(certificate.id());
    v1::GetCertificateResponse answer;
    *answer.mutable_certificate() = certificate;
    while (!failed_ && answer.certificate().state() != v1::CERTIFICATE_STATE_DONE)
      if (Step()) (void)controller_->GetCertificate(get, answer);
    certificate = answer.certificate();
    busy = std::chrono::duration<double>(busy_).count();
    return std::chrono::duration<double>(now_).count();
  }

  v1::Campaign Campaign(const std::string& id) {
    v1::GetCampaignRequest get;
    get.set_id(id);
    get.set_omit_results(true);
    v1::Campaign campaign;
    (void)controller_->GetCampaign(get, campaign);
    return campaign;
  }

  void Send(SessionId session, const v1::ControllerMessage& message) override {
    const auto node = static_cast<std::uint32_t>(session.value());
    v1::AgentMessage answer;
    Duration takes = 2 * kMessageTakes;
    if (message.has_probe_assignment()) {
      const auto& assignment = message.probe_assignment();
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
        *answer.mutable_probe_outcome()->mutable_result() = ResultOf(assignment);
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

  static bool IsQuick(const v1::ProbeSpec& spec) {
    return spec.rc_write_latency().iterations() == 16;
  }

  bool IsSlow(const v1::ProbePort& port) const {
    return Format("{}/{}", port.node(), port.device()) == slow_port_;
  }

  v1::ProbeResult ResultOf(const v1::ProbeAssignment& assignment) {
    v1::ProbeResult result;
    result.set_status(v1::PROBE_STATUS_OK);
    const double noise = 0.99 + 0.0001 * static_cast<double>(order_ * 7919 % 200);
    if (assignment.spec().has_rc_write_bandwidth()) {
      const bool slow = IsSlow(assignment.local()) || IsSlow(assignment.remote());
      result.mutable_bandwidth()->set_mean_bps((slow ? 48e9 : 97e9) * noise);
    } else {
      result.mutable_latency()->set_median_us(2.5 * noise);
      result.mutable_latency()->set_samples(1000);
    }
    return result;
  }

  Moment Now() const { return {SteadyTime(1000s + now_), WallTime(1'800'000'000s + now_)}; }

  void Say(std::uint32_t node, const v1::AgentMessage& message) {
    (void)controller_->OnMessage(SessionId(node), message, Now());
  }

  // The controller does one thing at a time, and what it does takes its time.
  template <class Work>
  void Serve(Work work) {
    now_ = std::max(now_, free_at_);
    const auto begun = std::chrono::steady_clock::now();
    const Duration at = now_;
    work();
    const Duration took = std::chrono::steady_clock::now() - begun;
    busy_ += took;
    free_at_ = at + took;
  }

  // True after a tick: only then a certificate may be done.
  bool Step() {
    const Duration next = events_in_.empty() ? next_tick_ : events_in_.top().at;
    if (next_tick_ > next) {
      const Event event = events_in_.top();
      events_in_.pop();
      now_ = std::max(now_, event.at);
      Serve([&] { Say(event.node, event.message); });
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

  const std::uint32_t nodes_;
  const std::string slow_port_;
  const Duration probe_takes_;
  testing::TempTree directory_;
  EventBus events_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Controller> controller_;
  std::priority_queue<Event> events_in_;
  std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, v1::ProbeAssignment, Hash> ends_;
  std::uint64_t order_ = 0;
  Duration now_{}, free_at_{}, next_tick_{}, next_heartbeat_{}, busy_{};
  bool failed_ = false;
};

// Nodes, rails, milliseconds that a probe takes beyond its set-up, and whether a port is slow.
void Certificate(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto rails = static_cast<std::uint32_t>(state.range(1));
  const std::string bad =
      state.range(3) == 0 ? std::string() : Format("n{}/mlx5_{}", nodes / 2 + 1, rails - 1);
  World world(nodes, rails, bad, std::chrono::milliseconds(state.range(2)));
  v1::Certificate certificate;
  double seconds = 0, busy = 0;
  for (auto _ : state) seconds = world.Run(certificate, busy);
  const v1::Campaign campaign = world.Campaign(certificate.campaign());
  std::string named;
  std::size_t failed = 0, unknown = 0;
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (node.verdict() == v1::VERDICT_UNKNOWN) ++unknown;
    if (node.verdict() != v1::VERDICT_FAIL) continue;
    ++failed;
    named = Format(", names {}: {}", node.name(), node.reasons(0));
  }
  state.counters["seconds"] = seconds;
  state.counters["controller_s"] = busy;
  state.counters["rounds"] = campaign.rounds_done();
  state.counters["pairs"] = certificate.pairs_probed();
  state.SetLabel(Format("{}, {} FAIL, {} UNKNOWN{}", v1::Verdict_Name(certificate.verdict()),
                        failed, unknown, named));
}

BENCHMARK(Certificate)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->Args({1024, 1, 10, 0})
    ->Args({1024, 1, 10, 1})
    ->Args({1024, 8, 10, 0})
    ->Args({1024, 8, 10, 1})
    ->Args({1024, 8, 40, 1});

}  // namespace
}  // namespace fabric::control
