// An agent whose output is written down. For the tests of Agent.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "agents/session/agent.h"
#include "proto/json.h"

namespace fabric::agent {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Writes down what the agent does, one line each.
class Output final : public AgentOutput {
 public:
  void Dial() override { Did("dial"); }
  void HangUp() override { Did("hang up"); }
  bool Idle() override { return idle; }
  void Send(const v1::AgentMessage& message) override { Did("send " + ToJson(message, false)); }
  void StartProbe(const v1::ProbeAssignment& assignment) override {
    Did("start probe " + std::to_string(assignment.probe_id()));
  }
  void ContinueProbe(const v1::ProbeStart& start) override {
    Did("continue probe " + std::to_string(start.probe_id()));
  }
  void StopProbe(const v1::ProbeStop& stop) override {
    Did("stop probe " + std::to_string(stop.probe_id()));
  }
  void StopAllProbes(const std::string& reason) override { Did("stop all probes: " + reason); }
  void OrderMesh(const v1::MeshAssignment& order) override {
    Did("mesh of " + std::to_string(order.ports_size()) + " ports");
  }
  void OrderSubnet(const v1::SubnetOrder& order) override {
    Did("read the subnet of " + (order.device().empty() ? "no port" : order.device()));
  }

  std::vector<std::string> Take() { return std::exchange(did_, {}); }

  bool idle = true;

 private:
  void Did(std::string what) { did_.push_back(std::move(what)); }
  std::vector<std::string> did_;
};

using Did = std::vector<std::string>;

inline v1::NodeSnapshot Snapshot(std::uint32_t mtu, std::uint64_t packets) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name("n1");
  auto& netdev = *snapshot.add_net_interfaces();
  netdev.set_name("rail0");
  netdev.set_mtu_bytes(mtu);
  auto& set = *snapshot.add_counters();
  set.set_netdev("rail0");
  set.add_counters()->set_name("rx");
  set.mutable_counters(0)->set_value(packets);
  return snapshot;
}

inline std::string Whole(std::uint32_t mtu, std::uint64_t packets) {
  v1::AgentMessage message;
  *message.mutable_snapshot() = Snapshot(mtu, packets);
  message.mutable_snapshot()->clear_counters();
  return "send " + ToJson(message, false);
}

// What Output says of a message, from the fields that matter.
inline std::string Sent(const std::string& json) {
  v1::AgentMessage message;
  EXPECT_EQ(FromJson(json, message), Status());
  return "send " + ToJson(message, false);
}

inline std::string MtuChange(std::uint32_t mtu) {
  return Sent(R"({"change":{"net_interfaces":[{"name":"rail0","mtu_bytes":)" + std::to_string(mtu) +
              "}]}}");
}

// One counter, whose value is `value`.
inline counters::Table Rx(std::uint64_t number) {
  counters::Table table{.number = number, .sets = {}};
  *table.sets.Add() = Snapshot(0, 0).counters(0);
  return table;
}
inline counters::Sample RxSample(std::uint64_t table, std::uint64_t value) {
  return {.table = table, .taken_at = {}, .values = {{.value = value}}};
}
inline std::string TableSent(std::uint32_t id, std::uint64_t value) {
  return Sent(R"({"counter_table":{"table_id":)" + std::to_string(id) +
              R"(,"sets":[{"netdev":"rail0","counters":[{"name":"rx","value":)" +
              std::to_string(value) + "}]}]}}");
}
inline std::string SampleSent(std::uint32_t id, std::int64_t delta) {
  return Sent(R"({"counter_sample":{"table_id":)" + std::to_string(id) +
              R"(,"taken_at":"1970-01-01T00:00:00Z","index_steps":[0],"deltas":[)" +
              std::to_string(delta) + "]}}");
}

class AgentTest : public ::testing::Test {
 protected:
  Moment At(Duration time) const {
    return {.steady = SteadyTime(seconds(1000) + time), .wall = {}};
  }
  void Welcome(Duration time) {
    v1::ControllerMessage message;
    message.mutable_welcome()->set_heartbeat_interval_ms(1000);
    agent.OnMessage(message, At(time));
  }
  // Streaming since 0 s with Snapshot(4200, 1) sent.
  void Stream() {
    agent.OnSnapshot(Snapshot(4200, 1), At({}));
    agent.Tick(At({}));
    agent.OnConnected(At({}));
    Welcome({});
    output.Take();
  }
  // Disconnects at `time`; how long the agent then waits before it dials.
  Duration BackOff(Duration time) {
    agent.OnDisconnected(Status(Code::kUnavailable, "refused"), At(time));
    const Duration wait = agent.next_tick() - At(time).steady;
    output.Take();
    agent.Tick(At(time + wait - Duration(1)));
    EXPECT_EQ(output.Take(), Did{}) << "dials too early";
    agent.Tick(At(time + wait));
    EXPECT_EQ(output.Take(), Did{"dial"});
    return wait;
  }

  Output output;
  Agent agent{{.probe_kinds = {"rc_write_latency"}, .seed = 7}, output};
};

}  // namespace fabric::agent
