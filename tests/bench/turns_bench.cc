// Longest turns of the controller by kind, with a large fleet and a real state file. Run by hand,
// on a release build: turns_bench [NODES [cpu]] (docs/BENCHMARKS.md). "cpu": turns are measured in
// CPU time of the thread, without waits for the disk and time of other programs.
//
// Ten minutes of a fleet on a simulated clock: all nodes connect, then each sends a heartbeat every
// 10 s and a counter window every 30 s, one in a hundred has a port that goes down and up, one in
// twenty has a wrong MTU, each pings eight of its targets in the mesh, and a client asks for
// everything that a person asks for, with certificates over all nodes. No agent answers probes;
// campaigns over all ports are cancelled. At the end the controller restarts.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "proto/snapshot_change.h"
#include "proto/timestamps.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRails = 9;

// Keeps a few targets of each node's newest mesh order.
class MeshAgents final : public AgentSink {
 public:
  static constexpr int kTargets = 8;

  void Send(SessionId session, const v1::ControllerMessage& message) override {
    if (!message.has_mesh_assignment()) return;
    v1::MeshWindow& window = windows[session];
    window.Clear();
    window.set_assignment(message.mesh_assignment().number());
    for (const v1::MeshPortAssignment& port : message.mesh_assignment().ports())
      for (const v1::MeshTarget& target : port.targets()) {
        if (window.paths_size() == kTargets) return;
        v1::MeshPath& path = *window.add_paths();
        *path.mutable_from() = port.local();
        *path.mutable_to() = target.remote();
        path.mutable_ping()->set_sent(100);
        path.mutable_ping()->set_answered(100);
      }
  }
  void Close(SessionId, const Status&) override {}

  std::map<SessionId, v1::MeshWindow> windows;  // Without times
};

class CpuClock final : public Clock {
 public:
  Moment Now() const override {
    timespec used{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const Duration time = std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
    return {SteadyTime(time), WallTime(time)};
  }
};

class LargeFleet {
 public:
  // `clock`: measures turns.
  LargeFleet(std::uint32_t nodes, const Clock& clock) : nodes_(nodes), clock_(clock) {
    testing::Pair pair = testing::PairOf({testing::RoceNode({.number = 1, .rails = kRails})});
    for (std::uint32_t rail = 0; rail < kRails; ++rail) testing::Busy(pair, 0, rail);
    table_.set_table_id(1);
    sample_.set_table_id(1);
    std::uint32_t index = 0, last = 0;
    for (int s = 0; s < pair.before[0].counters_size(); ++s) {
      const v1::CounterSet& before = pair.before[0].counters(s);
      *table_.add_sets() = before;
      for (int c = 0; c < before.counters_size(); ++c, ++index) {
        const std::uint64_t after = pair.after[0].counters(s).counters(c).value();
        if (after == before.counters(c).value()) continue;
        sample_.add_index_steps(index - last);
        sample_.add_deltas(static_cast<std::int64_t>(after - before.counters(c).value()));
        last = index;
      }
    }
    Open();
  }

  void Run() {
    for (std::uint32_t n = 1; n <= nodes_; ++n) {
      Connect(n);
      if (n % 50 == 0) Pass(100ms);
    }
    Report("connected");
    const std::vector<std::function<void()>> calls = Calls();
    for (std::uint32_t tick = 0; tick < 6'000; ++tick) {
      for (std::uint32_t n = 1 + tick % 100; n <= nodes_; n += 100) Beat(n);
      for (std::uint32_t n = 1 + tick % 100; n <= nodes_; n += 100) Ping(n);
      for (std::uint32_t n = 1 + tick % 300; n <= nodes_; n += 300) Sample(n);
      for (std::uint32_t n = 100 * (1 + tick % 600); n <= nodes_; n += 60'000) Toggle(n);
      if (tick % 50 == 0) calls[tick / 50 % calls.size()]();
      Pass(100ms);
    }
    Report("ten minutes");
    controller_.reset();
    store_.reset();
    Open();
    (void)controller_->Load(now_);
    for (std::uint32_t n = 1; n <= nodes_; ++n) {
      Connect(n);
      if (n % 50 == 0) Pass(100ms);
    }
    for (int tick = 0; tick < 100; ++tick) Pass(100ms);
    Report("restarted");
  }

 private:
  static constexpr std::uint32_t kNodesOfLeaf = 32;

  void Open() {
    agents_.windows.clear();
    store_ = *store::OpenSqlite(directory_.path() + "/state.db");
    ControllerOptions options;
    options.nodes_max = nodes_;
    options.lost_after = 60s;
    options.mesh.on = true;
    options.background = background_.get();
    options.certificates.key = key_;
    options.turn_clock = &clock_;
    options.on_long_turn = [](const LongTurn& turn) {
      std::printf("%s %s: %.0f ms\n", std::string(TurnKindName(turn.kind)).c_str(),
                  std::string(turn.detail).c_str(),
                  std::chrono::duration<double, std::milli>(turn.length).count());
    };
    controller_ = std::make_unique<Controller>(options, *store_, agents_, events_, now_);
  }
  void Pass(Duration duration) {
    now_ = {.steady = now_.steady + duration, .wall = now_.wall + duration};
    controller_->Tick(now_);
  }
  void Send(std::uint32_t n, v1::AgentMessage message) {
    (void)controller_->OnMessage(SessionId(n), std::move(message), now_);
  }
  v1::NodeSnapshot Node(std::uint32_t n) const {
    v1::NodeSnapshot node = testing::RoceNode({.number = n, .rails = kRails});
    if (n % 20 == 7) testing::SetMtu(node, 0, 1500);
    for (std::uint32_t rail = 0; rail < kRails; ++rail)
      testing::Hear(node, rail, Format("leaf{}-{}", n / kNodesOfLeaf, rail),
                    Format("swp{}", n % kNodesOfLeaf));
    *node.mutable_taken_at() = ToProto(now_.wall);
    return node;
  }
  void Connect(std::uint32_t n) {
    v1::AgentMessage hello, snapshot, table;
    *snapshot.mutable_snapshot() = Node(n);
    *hello.mutable_hello()->mutable_node() = snapshot.snapshot().node();
    *table.mutable_counter_table() = table_;
    Send(n, std::move(hello));
    Send(n, std::move(snapshot));
    Send(n, std::move(table));
    v1::AgentMessage endpoints;
    const v1::NodeSnapshot node = Node(n);
    for (const v1::RdmaDevice& device : node.rdma_devices()) {
      v1::MeshEndpoint& one = *endpoints.mutable_mesh_endpoints()->add_endpoints();
      one.mutable_port()->set_node(node.node().name());
      one.mutable_port()->set_device(device.name());
      one.mutable_port()->set_port(1);
      one.mutable_endpoint()->set_queue_pair_number(77);
      one.mutable_endpoint()->set_gid(device.name());
    }
    Send(n, std::move(endpoints));
  }
  void Ping(std::uint32_t n) {
    const auto window = agents_.windows.find(SessionId(n));
    if (window == agents_.windows.end()) return;
    v1::AgentMessage message;
    *message.mutable_mesh_window() = window->second;
    *message.mutable_mesh_window()->mutable_started_at() = ToProto(now_.wall - 10s);
    *message.mutable_mesh_window()->mutable_ended_at() = ToProto(now_.wall);
    Send(n, std::move(message));
  }
  void Beat(std::uint32_t n) {
    v1::AgentMessage message;
    message.mutable_heartbeat();
    Send(n, std::move(message));
  }
  void Sample(std::uint32_t n) {
    v1::AgentMessage message;
    *message.mutable_counter_sample() = sample_;
    *message.mutable_counter_sample()->mutable_taken_at() = ToProto(now_.wall);
    Send(n, std::move(message));
  }
  void Toggle(std::uint32_t n) {
    v1::NodeSnapshot up = Node(n), down = up;
    testing::LinkDown(down, n % kRails);
    v1::AgentMessage message;
    if (auto change = (now_.steady.time_since_epoch() / 1min) % 2 == 0 ? Difference(up, down)
                                                                       : Difference(down, up))
      *message.mutable_change() = *std::move(change);
    *message.mutable_change()->mutable_taken_at() = ToProto(now_.wall);
    Send(n, std::move(message));
  }
  template <class Response, class Request>
  std::function<void()> Caller(Request request) {
    return [this, request] {
      Response response;
      (void)controller_->Call(request, response, now_);
    };
  }
  std::vector<std::function<void()>> Calls() {
    v1::ListDevicesRequest devices;
    devices.set_filter("node=~\"n9.*\" rail=3 state=down");
    v1::GetNodeRequest unknown, node;
    unknown.set_name("m17");
    node.set_name("n17");
    v1::StartCampaignRequest campaign;
    campaign.mutable_spec()->add_nodes("n1");
    campaign.mutable_spec()->add_nodes("n2");
    v1::StartCampaignRequest all;
    all.mutable_spec()->set_pattern(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
    all.mutable_spec()->set_include_busy(true);
    const auto start = [this, all] {
      v1::Campaign started;
      (void)controller_->Call(all, started, now_);
      to_cancel_ = started.id();
    };
    const auto cancel = [this] {
      v1::CancelCampaignRequest request;
      request.set_id(to_cancel_);
      v1::Campaign cancelled;
      (void)controller_->Call(request, cancelled, now_);
    };
    v1::StartCertificateRequest certificate;
    for (std::uint32_t n = 1; n <= nodes_; ++n)
      certificate.mutable_request()->add_nodes(Format("n{}", n));
    return {Caller<v1::ListNodesResponse>(v1::ListNodesRequest()),
            Caller<v1::ListDevicesResponse>(devices),
            Caller<v1::ListFindingsResponse>(v1::ListFindingsRequest()),
            Caller<v1::GetNodeResponse>(unknown),
            Caller<v1::GetNodeResponse>(node),
            Caller<v1::ValidateResponse>(v1::ValidateRequest()),
            Caller<v1::InferProfileResponse>(v1::InferProfileRequest()),
            Caller<v1::Campaign>(campaign),
            start,
            Caller<v1::Backup>(v1::CreateBackupRequest()),
            cancel,
            Caller<v1::Certificate>(certificate),
            Caller<v1::ListCertificatesResponse>(v1::ListCertificatesRequest())};
  }
  void Report(const char* when) {
    std::printf("-- %s\n%-18s %10s %10s %10s\n", when, "turn", "count", "mean us", "longest ms");
    for (const auto& [kind, counts] : controller_->Turns()) {
      std::uint64_t count = 0;
      for (const std::uint64_t bucket : counts.lengths.buckets) count += bucket;
      std::printf("%-18s %10llu %10.1f %10.2f\n", std::string(TurnKindName(kind)).c_str(),
                  static_cast<unsigned long long>(count),
                  counts.lengths.sum_seconds * 1e6 / static_cast<double>(count),
                  std::chrono::duration<double, std::milli>(counts.longest).count());
    }
    std::fflush(stdout);
  }

  const std::uint32_t nodes_;
  const Clock& clock_;
  std::string to_cancel_;  // Campaign
  testing::TempTree directory_;
  MeshAgents agents_;
  EventBus events_;
  Moment now_{SteadyTime(1'000s), WallTime(1'790'000'000s)};
  v1::CounterTable table_;
  v1::CounterSample sample_;
  std::unique_ptr<store::Store> store_;
  const SigningKey key_ = *SigningKey::Generate();
  const std::unique_ptr<Background> background_ = StartBackground();
  std::unique_ptr<Controller> controller_;
};

}  // namespace
}  // namespace fabric::control

int main(int argc, char** argv) {
  const unsigned long nodes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  const fabric::SystemClock wall;
  const fabric::control::CpuClock cpu;
  const bool measure_cpu = argc > 2 && argv[2] == std::string_view("cpu");
  const fabric::Clock& clock = measure_cpu ? static_cast<const fabric::Clock&>(cpu) : wall;
  fabric::control::LargeFleet(static_cast<std::uint32_t>(nodes), clock).Run();
}
