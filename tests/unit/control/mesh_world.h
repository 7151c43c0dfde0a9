// Tests of the controller's part of the mesh, with agents that are written down here.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/options.h"
#include "proto/timestamps.h"
#include "tests/testing/control_world.h"
#include "tests/testing/coverage.h"

namespace fabric::control {

inline v1::ProbePort MeshPortOf(const std::string& node, std::uint32_t rail) {
  v1::ProbePort port;
  port.set_node(node);
  port.set_device(Format("mlx5_{}", rail));
  port.set_port(1);
  port.set_rail(rail);
  return port;
}

class MeshWorld : public ::testing::Test {
 protected:
  explicit MeshWorld(ControllerOptions options = {.mesh = {.on = true, .paths = 4}})
      : world(std::move(options)) {}

  void Connect(std::uint32_t count) {
    world.ConnectNodes(count);
    world.agents.Advance(std::chrono::seconds(2));
  }
  // As an agent says it: both rails, queue pairs from `number` on.
  void TellEndpoints(const std::string& node, std::uint32_t number) {
    v1::AgentMessage message;
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      v1::MeshEndpoint& one = *message.mutable_mesh_endpoints()->add_endpoints();
      *one.mutable_port() = MeshPortOf(node, rail);
      one.mutable_endpoint()->set_queue_pair_number(number + rail);
      one.mutable_endpoint()->set_gid(node);
    }
    ASSERT_TRUE(world.agents.Say(node, message).ok());
  }
  void AllTellEndpoints(std::uint32_t count) {
    for (std::uint32_t n = 1; n <= count; ++n) TellEndpoints(Format("n{}", n), 100 * n);
    world.agents.Advance(std::chrono::seconds(12));
  }
  // Ten seconds in which `from` sent 100 pings to each of its targets; of those to `bad` on rail 0
  // and of those from it so many were lost.
  v1::AgentMessage WindowOf(const std::string& from, const std::string& bad, std::uint32_t lost) {
    v1::AgentMessage message;
    v1::MeshWindow& window = *message.mutable_mesh_window();
    const Moment now = world.agents.now();
    *window.mutable_started_at() = ToProto(now.wall - std::chrono::seconds(10));
    *window.mutable_ended_at() = ToProto(now.wall);
    window.set_pings_per_second(20);
    const auto order = world.agents.mesh_assignment(from);
    window.set_assignment(order.number());
    for (const v1::MeshPortAssignment& port : order.ports()) {
      for (const v1::MeshTarget& target : port.targets()) {
        v1::MeshPath& path = *window.add_paths();
        *path.mutable_from() = port.local();
        *path.mutable_to() = target.remote();
        const bool hit = port.local().rail() == 0 && (from == bad || target.remote().node() == bad);
        v1::PingSummary& ping = *path.mutable_ping();
        ping.set_sent(100);
        ping.set_lost(hit ? lost : 0);
        ping.set_answered(100 - ping.lost());
        ping.mutable_network_round_trip()->set_median_us(7);
        ping.mutable_network_round_trip()->set_p99_us(9);
        v1::FlowSummary& flow = *ping.add_flows();
        flow.set_sent(100);
        flow.set_lost(ping.lost());
      }
    }
    return message;
  }
  void PassWindows(std::uint32_t count, int windows, const std::string& bad = "",
                   std::uint32_t lost = 0) {
    for (int window = 0; window < windows; ++window) {
      for (std::uint32_t n = 1; n <= count; ++n) {
        const std::string node = Format("n{}", n);
        ASSERT_TRUE(world.agents.Say(node, WindowOf(node, bad, lost)).ok());
      }
      world.agents.Advance(std::chrono::seconds(10));
    }
    world.agents.Advance(std::chrono::seconds(15));
  }
  v1::MeshStatus Status() {
    v1::MeshStatus status;
    EXPECT_TRUE(world.controller->Call(v1::GetMeshRequest(), status, world.agents.now()).ok());
    return status;
  }
  std::vector<std::string> NotCovered() {
    const v1::MeshStatus status = Status();
    return testing::Texts(status.not_covered());
  }

  testing::ControlWorld world;
};

}  // namespace fabric::control
