// Agents without machines: many sessions over gRPC with mTLS, each on a connection of its own.
// Run by tests/bench/session_load.
//
// Each agent is a healthy node with nine RoCE ports. It reconnects like a real one, sends a
// heartbeat as fabricd asks for, and a counter window every 30 s. Meanwhile one agent after the
// other reports a link that goes down or up, and a client waits until the API shows it. Prints one
// line of JSON a second. A line on standard input begins a new measurement; its end ends the
// program.
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/issuer.h"
#include "fabric/v1/agent.grpc.pb.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "proto/settings_digest.h"
#include "proto/snapshot_change.h"
#include "proto/timestamps.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
using Time = Steady::time_point;

constexpr std::uint32_t kRails = 9;
constexpr Duration kWindow = 30s;
constexpr Duration kPollEvery = 10ms;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty()) return text;
  std::fprintf(stderr, "agent_load: cannot read %s\n", path.c_str());
  std::exit(1);
}

// Times in milliseconds of one measurement.
class Times {
 public:
  void Add(double milliseconds) {
    const std::lock_guard lock(mutex_);
    values_.push_back(milliseconds);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    values_.clear();
  }
  // "\"NAME\": {...}"
  std::string Json(const char* name) {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return Format("\"{}\": {{\"count\": 0}}", name);
    std::sort(values_.begin(), values_.end());
    const auto at = [&](double share) {
      return values_[static_cast<std::size_t>(share * static_cast<double>(values_.size() - 1))];
    };
    return Format(
        "\"{}\": {{\"count\": {}, \"p50_ms\": {:.1f}, \"p99_ms\": {:.1f}, \"max_ms\": {:.1f}}}",
        name, values_.size(), at(0.5), at(0.99), values_.back());
  }

 private:
  std::mutex mutex_;
  std::vector<double> values_;
};

double MillisecondsSince(Time begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

struct Measurement {
  Times welcome;  // From the dial to the Welcome
  Times report;   // From a report to the API
  std::atomic<std::uint64_t> failures = 0;
  std::atomic<int> connected = 0;
};

// One stream. Destroyed by its agent after OnDone.
class Stream final : public grpc::ClientBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  Stream(v1::AgentLink::Stub& stub, v1::AgentMessage hello, Measurement& measured)
      : measured_(measured), began_(Steady::now()) {
    stub.async()->Connect(&context_, this);
    AddHold();
    StartRead(&incoming_);
    Send(std::move(hello));
    StartCall();
  }

  void Send(v1::AgentMessage message) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    outgoing_.push(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }
  bool welcomed() const { return welcomed_; }
  bool wants_snapshot() { return wants_snapshot_.exchange(false); }
  bool resumes() { return resumes_.exchange(false); }  // The controller knows its settings.
  Duration beat() const { return std::chrono::milliseconds(beat_ms_.load()); }
  Duration spread() const { return std::chrono::milliseconds(spread_ms_.load()); }
  bool done() const { return done_; }

  void OnReadDone(bool ok) override {
    if (!ok) return Close();
    if (incoming_.has_welcome()) {
      measured_.welcome.Add(MillisecondsSince(began_));
      ++measured_.connected;
      const v1::Welcome& welcome = incoming_.welcome();
      spread_ms_ = welcome.reconnect_spread_ms();
      beat_ms_ = welcome.heartbeat_interval_ms();
      resumes_ = welcome.settings_known();
      wants_snapshot_ = !welcome.settings_known() && !welcome.wait_for_request();
      welcomed_ = true;
    }
    if (incoming_.has_snapshot_request()) wants_snapshot_ = true;
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Close();
    const std::lock_guard lock(mutex_);
    outgoing_.pop();
    if (!outgoing_.empty() && !closed_) StartWrite(&outgoing_.front());
  }
  void OnDone(const grpc::Status& status) override {
    if (welcomed_) --measured_.connected;
    if (!status.ok()) ++measured_.failures;
    done_ = true;  // Last
  }

 private:
  void Close() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(closed_, true)) RemoveHold();
  }

  Measurement& measured_;
  const Time began_;
  grpc::ClientContext context_;
  v1::ControllerMessage incoming_;
  std::mutex mutex_;
  std::queue<v1::AgentMessage> outgoing_;
  bool closed_ = false;
  std::atomic<bool> welcomed_ = false, wants_snapshot_ = false, resumes_ = false, done_ = false;
  std::atomic<std::uint32_t> spread_ms_ = 0, beat_ms_ = 0;
};

struct Load {
  std::string controller;
  tls::KeyAndCertificate ca;
  tls::Validity validity;
  Measurement measured;
};

// What all nodes report: counters that all change within a window.
struct Window {
  v1::CounterTable table;
  v1::CounterSample sample;
};

Window MakeWindow() {
  testing::Pair pair = testing::PairOf({testing::RoceNode({.number = 1, .rails = kRails})});
  for (std::uint32_t rail = 0; rail < kRails; ++rail) testing::Busy(pair, 0, rail);
  Window window;
  window.table.set_table_id(1);
  window.sample.set_table_id(1);
  std::uint32_t index = 0, last = 0;
  for (int s = 0; s < pair.before[0].counters_size(); ++s) {
    const v1::CounterSet& before = pair.before[0].counters(s);
    *window.table.add_sets() = before;
    for (int c = 0; c < before.counters_size(); ++c, ++index) {
      const std::uint64_t delta =
          pair.after[0].counters(s).counters(c).value() - before.counters(c).value();
      if (delta == 0) continue;
      window.sample.add_index_steps(index - last);
      window.sample.add_deltas(static_cast<std::int64_t>(delta));
      last = index;
    }
  }
  return window;
}

class LoadAgent {
 public:
  LoadAgent(std::uint32_t number, Load& load, const Window& window)
      : load_(load),
        window_(window),
        snapshot_(testing::RoceNode({.number = number, .rails = kRails})),
        random_(number) {
    snapshot_.clear_counters();
    const std::string& name = snapshot_.node().name();
    const auto issued = tls::Issue(
        load.ca, {.common_name = name, .uris = {"spiffe://fabric/node/" + name}}, load.validity);
    if (!issued.ok()) std::abort();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    const auto credentials =
        tls::MakeChannelCredentials({.certificate_pem = issued->certificate_pem,
                                     .key_pem = issued->key_pem,
                                     .ca_pem = load.ca.certificate_pem});
    stub_ =
        v1::AgentLink::NewStub(grpc::CreateCustomChannel(load.controller, credentials, arguments));
  }

  const std::string& name() const { return snapshot_.node().name(); }

  // Called about every 50 ms by one thread.
  void Tick(Time now) {
    if (stream_ != nullptr && stream_->done()) {
      backoff_ = stream_->welcomed() ? Duration(500ms) : std::min<Duration>(backoff_ * 2, 30s);
      if (stream_->welcomed()) spread_ = stream_->spread();
      stream_.reset();
      std::uniform_int_distribution<Duration::rep> jitter(backoff_.count() / 2,
                                                          std::max(backoff_, spread_).count());
      dial_at_ = now + Duration(jitter(random_));
    }
    if (stream_ == nullptr) {
      if (now >= dial_at_) Dial();
      return;
    }
    if (!stream_->welcomed()) return;
    if (stream_->wants_snapshot()) SendAll(now, true);
    if (stream_->resumes()) SendAll(now, false);
    if (now >= beat_at_) {
      v1::AgentMessage message;
      message.mutable_heartbeat()->set_sequence(++beats_);
      stream_->Send(std::move(message));
      beat_at_ = now + stream_->beat();
    }
    if (now >= sample_at_) {
      v1::AgentMessage message;
      *message.mutable_counter_sample() = window_.sample;
      *message.mutable_counter_sample()->mutable_taken_at() = ToProto(SystemClock().Now().wall);
      stream_->Send(std::move(message));
      sample_at_ = now + kWindow;
    }
  }

  void DialAt(Time at) { dial_at_ = at; }

  // False if it is not connected. The link of rail 0 goes down or up.
  bool Toggle(bool down) {
    if (stream_ == nullptr || !stream_->welcomed() || !sent_) return false;
    v1::NodeSnapshot after = snapshot_;
    if (down)
      testing::LinkDown(after, 0);
    else
      after = testing::RoceNode({.number = NumberOf(name()), .rails = kRails});
    after.clear_counters();
    auto change = Difference(snapshot_, after);
    if (!change) return false;
    v1::AgentMessage message;
    *message.mutable_change() = *change;
    Apply(*std::move(change), snapshot_);
    stream_->Send(std::move(message));
    return true;
  }

 private:
  static std::uint32_t NumberOf(const std::string& name) {
    return static_cast<std::uint32_t>(std::strtoul(name.c_str() + 1, nullptr, 10));
  }
  void Dial() {
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = snapshot_.node();
    hello.mutable_hello()->set_protocol_version(2);
    if (sent_) hello.mutable_hello()->set_settings_digest(SettingsDigest(snapshot_));
    stream_ = std::make_unique<Stream>(*stub_, std::move(hello), load_.measured);
  }
  // The whole snapshot, or that its settings are as they were.
  void SendAll(Time now, bool whole) {
    *snapshot_.mutable_taken_at() = ToProto(SystemClock().Now().wall);
    v1::AgentMessage message;
    if (whole)
      *message.mutable_snapshot() = snapshot_;
    else
      *message.mutable_change()->mutable_taken_at() = snapshot_.taken_at();
    sent_ = true;
    stream_->Send(message);
    *message.mutable_counter_table() = window_.table;
    stream_->Send(std::move(message));
    beat_at_ = now + stream_->beat();
    const double share = std::uniform_real_distribution(0.1, 1.0)(random_);
    sample_at_ = now + std::chrono::duration_cast<Duration>(kWindow * share);
  }

  Load& load_;
  const Window& window_;
  v1::NodeSnapshot snapshot_;
  std::mt19937_64 random_;
  std::unique_ptr<v1::AgentLink::Stub> stub_;
  std::unique_ptr<Stream> stream_;
  Duration backoff_ = 500ms, spread_{};
  bool sent_ = false;  // The controller had its snapshot once.
  Time dial_at_{}, beat_at_{}, sample_at_{};
  std::uint64_t beats_ = 0;
};

// Waits until the API shows what one agent after the other reports.
class ReportWatch {
 public:
  ReportWatch(const std::string& controller, const std::string& folder) {
    const auto credentials =
        tls::MakeChannelCredentials({.certificate_pem = ReadAll(folder + "/cert.pem"),
                                     .key_pem = ReadAll(folder + "/key.pem"),
                                     .ca_pem = ReadAll(folder + "/ca.pem")});
    stub_ = v1::Fabric::NewStub(grpc::CreateChannel(controller, credentials));
  }

  // Milliseconds until the first port of the node is in this state; none within 10 s: empty.
  std::optional<double> Await(const std::string& node, bool down) {
    const Time begin = Steady::now();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    while (Steady::now() - begin < 10s) {
      v1::ListDevicesRequest request;
      request.set_node(node);
      v1::ListDevicesResponse response;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::time_point(
          std::chrono::duration_cast<std::chrono::system_clock::duration>(
              SystemClock().Now().wall.time_since_epoch() + 5s)));
      if (stub_->ListDevices(&context, request, &response).ok() && response.devices_size() > 0) {
        const bool is_down = response.devices(0).state() != v1::PORT_STATE_ACTIVE;
        if (is_down == down) return MillisecondsSince(begin);
      }
      never.wait_for(lock, kPollEvery);
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<v1::Fabric::Stub> stub_;
};

int Run(const std::string& controller, const std::string& pki, std::uint32_t nodes,
        double spread_seconds) {
  const WallTime now = SystemClock().Now().wall;
  Load load{
      .controller = controller,
      .ca = {.key_pem = ReadAll(pki + "/ca-key.pem"), .certificate_pem = ReadAll(pki + "/ca.pem")},
      .validity = {.not_before = now - 1h, .not_after = now + 24h}};
  const Window window = MakeWindow();
  std::vector<std::unique_ptr<LoadAgent>> agents;
  for (std::uint32_t n = 1; n <= nodes; ++n)
    agents.push_back(std::make_unique<LoadAgent>(n, load, window));
  const Time start = Steady::now();
  for (std::uint32_t n = 0; n < nodes; ++n)
    agents[n]->DialAt(start + std::chrono::duration_cast<Duration>(
                                  std::chrono::duration<double>(spread_seconds * n / nodes)));
  std::mutex mutex;  // Of the agents
  std::jthread driver([&](const std::stop_token& stop) {
    std::mutex idle_mutex;
    std::unique_lock idle(idle_mutex);
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      {
        const std::lock_guard lock(mutex);
        for (const auto& agent : agents) agent->Tick(Steady::now());
      }
      never.wait_for(idle, stop, 50ms, [] { return false; });
    }
  });
  std::jthread reports([&](const std::stop_token& stop) {
    ReportWatch watch(controller, pki + "/admin/bench");
    std::mt19937 random(1);
    std::mutex idle_mutex;
    std::unique_lock idle(idle_mutex);
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      never.wait_for(idle, stop, 200ms, [] { return false; });
      LoadAgent& agent = *agents[random() % agents.size()];
      for (const bool down : {true, false}) {
        bool sent = false;
        {
          const std::lock_guard lock(mutex);
          sent = agent.Toggle(down);
        }
        if (!sent) continue;
        const auto took = watch.Await(agent.name(), down);
        if (took)
          load.measured.report.Add(*took);
        else
          ++load.measured.failures;
      }
    }
  });
  while (true) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, 1'000) > 0) {
      char line[64];
      if (read(STDIN_FILENO, line, sizeof(line)) <= 0) break;
      load.measured.welcome.Clear();
      load.measured.report.Clear();
      load.measured.failures = 0;
    }
    std::printf("{\"connected\": %d, \"failures\": %llu, %s, %s}\n", load.measured.connected.load(),
                static_cast<unsigned long long>(load.measured.failures.load()),
                load.measured.welcome.Json("welcome").c_str(),
                load.measured.report.Json("report").c_str());
    std::fflush(stdout);
  }
  std::_Exit(0);  // Thousands of streams are still open.
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: agent_load CONTROLLER PKI_FOLDER NODES SPREAD_SECONDS\n");
    return 2;
  }
  return fabric::Run(argv[1], argv[2],
                     static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)),
                     std::strtod(argv[4], nullptr));
}
