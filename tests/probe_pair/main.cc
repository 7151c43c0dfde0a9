// One probe between two machines without agents and controller, for the lab and by hand, as
// perftest is used:
//
//   n2: probe_pair DEVICE GID_INDEX
//   n1: probe_pair DEVICE GID_INDEX 10.10.0.2 '{"rc_send_latency": {}}'
//
// The runner and the kinds are the agent's own. What the controller passes on goes over one TCP
// connection, a JSON object in each line; its end stops the probe. The initiator prints the result.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "agents/probe/runner.h"
#include "base/text.h"
#include "proto/json.h"
#include "tests/probe_pair/pair_socket.h"

namespace fabric {
namespace {

constexpr std::uint16_t kPort = 18517;
constexpr std::uint64_t kProbeId = 1;
constexpr auto kPatience = std::chrono::seconds(90);

class Reports final : public probe::ProbeReports {
 public:
  void Ready(const v1::ProbeReady& ready) override {
    Change([&] { ready_ = ready; });
  }
  void Armed(const v1::ProbeArmed&) override {
    Change([&] { armed_ = true; });
  }
  void Outcome(const v1::ProbeOutcome& outcome) override {
    Change([&] { outcome_ = outcome; });
  }

  // Ends the program with the outcome when that comes instead.
  v1::ProbeReady AwaitReady() {
    Await([&] { return ready_.has_value() || outcome_.has_value(); });
    if (!ready_) Die(ToJson(outcome_->result(), false));
    return *ready_;
  }
  void AwaitArmed() {
    Await([&] { return armed_ || outcome_.has_value(); });
    if (!armed_) Die(ToJson(outcome_->result(), false));
  }
  v1::ProbeResult AwaitOutcome() {
    Await([&] { return outcome_.has_value(); });
    return outcome_->result();
  }

 private:
  template <class Do>
  void Change(const Do& change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  template <class Test>
  void Await(const Test& test) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, test)) Die("nothing happened");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::ProbeReady> ready_;
  bool armed_ = false;
  std::optional<v1::ProbeOutcome> outcome_;
};

v1::RdmaDevice Device(host::Verbs& verbs, const std::string& name, std::uint32_t gid_index) {
  const auto opened =
      verbs.OpenRc({.at = {.device = name, .gid_index = gid_index}, .memory_bytes = 64});
  if (!opened.ok()) Die(opened.status().message());
  return DeviceWithGid(name, gid_index, (*opened)->local().gid);
}

int Main(const std::string& name, std::uint32_t gid_index, const char* server, const char* json) {
  const auto verbs = host::OpenVerbs();
  const v1::RdmaDevice device = Device(*verbs, name, gid_index);
  SystemClock clock;
  Reports reports;
  Lines lines(Connected(server, kPort));
  v1::ProbeAssignment assignment;
  assignment.set_probe_id(kProbeId);
  assignment.set_role(server == nullptr ? v1::PROBE_ROLE_RESPONDER : v1::PROBE_ROLE_INITIATOR);
  assignment.mutable_local()->set_device(name);
  assignment.mutable_local()->set_port(1);
  if (server == nullptr) {
    *assignment.mutable_spec() = lines.Await<v1::ProbeSpec>();
  } else {
    if (const Status parsed = FromJson(json, *assignment.mutable_spec()); !parsed.ok())
      Die(parsed.message());
    lines.Send(ToJson(assignment.spec(), false));
  }
  probe::ProbeRunner runner(
      {}, *verbs, clock, [&](const std::string&) { return device; }, reports);
  runner.Start(assignment);
  v1::ProbeStart start;
  start.set_probe_id(kProbeId);
  lines.Send(ToJson(reports.AwaitReady().endpoint(), false));
  *start.mutable_remote() = lines.Await<v1::ProbeEndpoint>();
  if (server == nullptr) {
    runner.Continue(start);
    reports.AwaitArmed();
    lines.Send("{}");
    lines.Next();  // Nothing more comes: the end.
    runner.StopAll("done");
    std::puts(ToJson(reports.AwaitOutcome(), true).c_str());
    return 0;
  }
  lines.Await<v1::ProbeArmed>();
  runner.Continue(start);
  const v1::ProbeResult result = reports.AwaitOutcome();
  std::puts(ToJson(result, true).c_str());
  return result.status() == v1::PROBE_STATUS_OK ? 0 : 1;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  const auto index = fabric::ParseNumber<std::uint32_t>(argc > 2 ? argv[2] : "");
  if ((argc != 3 && argc != 5) || !index.ok()) {
    std::fputs("usage: probe_pair DEVICE GID_INDEX [SERVER SPEC]\n", stderr);
    return 2;
  }
  return fabric::Main(argv[1], *index, argc == 5 ? argv[3] : nullptr,
                      argc == 5 ? argv[4] : nullptr);
}
