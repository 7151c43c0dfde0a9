// What a runner of probes needs around it: who it reports to, devices that it knows, and messages
// of a controller.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "agents/probe/runner.h"
#include "proto/json.h"

namespace fabric::probe {

inline constexpr auto kPatience = std::chrono::seconds(20);  // Of the tests, for what must come.

// Collects what a runner reports; Next...() wait for it.
class Reports final : public ProbeReports {
 public:
  void Ready(const v1::ProbeReady& ready) override { Add(ready); }
  void Armed(const v1::ProbeArmed& armed) override { Add(armed); }
  void Outcome(const v1::ProbeOutcome& outcome) override { Add(outcome); }

  template <class Report>
  Report Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !reports_.empty(); })) {
      ADD_FAILURE() << "no report came";
      return {};
    }
    const auto report = reports_.front();
    reports_.pop_front();
    if (const Report* wanted = std::get_if<Report>(&report)) return *wanted;
    ADD_FAILURE() << "another report came: "
                  << std::visit([](const auto& r) { return ToJson(r, false); }, report);
    return {};
  }

 private:
  template <class Report>
  void Add(const Report& report) {
    const std::lock_guard lock(mutex_);
    reports_.emplace_back(report);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::variant<v1::ProbeReady, v1::ProbeArmed, v1::ProbeOutcome>> reports_;
};

inline v1::RdmaDevice Device(const std::string& name) {
  v1::RdmaDevice device;
  EXPECT_TRUE(FromJson(R"({"ports": [
      {"number": 1, "state": 4, "link_layer": 2, "gids": [{"index": 3, "type": 3,
       "gid": "0000:0000:0000:0000:0000:ffff:0a0a:0001", "ipv4": "10.10.0.1"}]},
      {"number": 2, "state": 1, "link_layer": 2}]})",
                       device)
                  .ok());
  device.set_name(name);
  return device;
}

inline std::optional<v1::RdmaDevice> FindKnown(const std::string& name) {
  if (name.starts_with("mlx5_")) return Device(name);
  return std::nullopt;
}

inline v1::ProbeAssignment Assignment(std::uint64_t id, v1::ProbeRole role,
                                      const std::string& device, std::uint32_t port = 1) {
  v1::ProbeAssignment assignment;
  assignment.set_probe_id(id);
  assignment.set_role(role);
  assignment.mutable_local()->set_node("n1");
  assignment.mutable_local()->set_device(device);
  assignment.mutable_local()->set_port(port);
  assignment.mutable_spec()->mutable_rc_write_latency()->set_iterations(50);
  assignment.mutable_spec()->set_timeout_ms(15'000);
  return assignment;
}

inline v1::ProbeStart Towards(const v1::ProbeReady& ready) {
  v1::ProbeStart start;
  start.set_probe_id(ready.probe_id());
  *start.mutable_remote() = ready.endpoint();
  return start;
}

inline v1::ProbeStop Stop(std::uint64_t id, const std::string& reason) {
  v1::ProbeStop stop;
  stop.set_probe_id(id);
  stop.set_reason(reason);
  return stop;
}

}  // namespace fabric::probe
