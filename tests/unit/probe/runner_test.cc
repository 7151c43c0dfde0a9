#include "agents/probe/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "proto/json.h"
#include "tests/testing/fake_verbs.h"
#include "tests/unit/probe/runner_world.h"

namespace fabric::probe {
namespace {

using testing::FakeFabric;
using testing::FakeVerbs;

struct Node {
  explicit Node(FakeFabric& fabric, std::uint32_t probes_max = 8)
      : verbs(fabric),
        runner({.limits = {.probes_max = probes_max}}, verbs, clock, FindKnown, reports) {}
  SystemClock clock;
  FakeVerbs verbs;
  Reports reports;
  ProbeRunner runner;
};

class ProbeRunnerTest : public ::testing::Test {
 protected:
  FakeFabric fabric;
  Node n1{fabric};
  Node n2{fabric};
};

TEST_F(ProbeRunnerTest, ALatencyProbeRunsThroughAllItsSteps) {
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  n2.runner.Start(Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_1"));
  const auto from = n1.reports.Next<v1::ProbeReady>();
  const auto to = n2.reports.Next<v1::ProbeReady>();
  EXPECT_EQ(from.probe_id(), 7u);
  EXPECT_EQ(from.endpoint().gid_index(), 3u);
  n2.runner.Continue(Towards(from));
  EXPECT_EQ(n2.reports.Next<v1::ProbeArmed>().probe_id(), 7u);
  n1.runner.Continue(Towards(to));

  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_OK) << outcome.result().reason();
  EXPECT_EQ(outcome.result().latency().samples() + outcome.result().latency().voided(), 50u);
  EXPECT_EQ(outcome.result().path_mtu_bytes(), 4096u);

  n2.runner.Stop(Stop(7, "done"));
  const auto answered = n2.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(answered.result().status(), v1::PROBE_STATUS_OK) << answered.result().reason();
  EXPECT_EQ(fabric.open_queue_pairs(), 0u);
}

TEST_F(ProbeRunnerTest, APortTakesTheNextProbeAsSoonAsTheOutcomeIsOut) {
  for (std::uint64_t id = 1; id <= 20; ++id) {
    n1.runner.Start(Assignment(id, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
    ASSERT_EQ(n1.reports.Next<v1::ProbeReady>().probe_id(), id);
    n1.runner.Stop(Stop(id, "next"));
    ASSERT_EQ(n1.reports.Next<v1::ProbeOutcome>().result().status(), v1::PROBE_STATUS_CANCELLED);
  }
}

TEST_F(ProbeRunnerTest, ASecondProbeOnABusyPortIsRefused) {
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  n1.reports.Next<v1::ProbeReady>();
  n1.runner.Start(Assignment(8, v1::PROBE_ROLE_RESPONDER, "mlx5_0"));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.probe_id(), 8u);
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_REFUSED);
  EXPECT_EQ(outcome.result().reason(), "mlx5_0/1: port busy with probe 7");
  EXPECT_EQ(outcome.result().blamed_node(), "n1");
}

v1::ProbeAssignment IncastAssignment(std::uint64_t id, v1::ProbeRole role) {
  v1::ProbeAssignment assignment = Assignment(id, role, "mlx5_0");
  assignment.mutable_spec()->mutable_incast();
  return assignment;
}

TEST_F(ProbeRunnerTest, TheReceiverOfAnIncastTakesManyOnOnePortAndNothingElse) {
  for (std::uint64_t id = 1; id <= 12; ++id) {  // More than probes of other kinds
    n1.runner.Start(IncastAssignment(id, v1::PROBE_ROLE_RESPONDER));
    ASSERT_EQ(n1.reports.Next<v1::ProbeReady>().probe_id(), id);
  }
  n1.runner.Start(IncastAssignment(20, v1::PROBE_ROLE_INITIATOR));
  EXPECT_EQ(n1.reports.Next<v1::ProbeOutcome>().result().reason(),
            "mlx5_0/1: port busy with probe 1");
  n1.runner.Start(Assignment(21, v1::PROBE_ROLE_RESPONDER, "mlx5_0"));
  EXPECT_EQ(n1.reports.Next<v1::ProbeOutcome>().result().status(), v1::PROBE_STATUS_REFUSED);
  n1.runner.Start(Assignment(22, v1::PROBE_ROLE_RESPONDER, "mlx5_1"));
  EXPECT_EQ(n1.reports.Next<v1::ProbeReady>().probe_id(), 22u);

  n2.runner.Start(IncastAssignment(1, v1::PROBE_ROLE_INITIATOR));
  n2.reports.Next<v1::ProbeReady>();
  n2.runner.Start(IncastAssignment(2, v1::PROBE_ROLE_INITIATOR));
  EXPECT_EQ(n2.reports.Next<v1::ProbeOutcome>().result().status(), v1::PROBE_STATUS_REFUSED)
      << "a sender's port is its own";
}

class FixedCounters final : public PortCounters {
 public:
  std::map<std::string, std::uint64_t> Read() override {
    value_ += 10;
    return {{"pfc_tx_frames_prio3", value_}};
  }

 private:
  std::uint64_t value_ = 0;
};

TEST(ProbeRunnerCounters, TheReceiverReadsBeforeItIsReadyAndWhenItIsStopped) {
  FakeFabric fabric;
  SystemClock clock;
  FakeVerbs verbs(fabric);
  Reports reports;
  ProbeRunner runner(
      {.open_counters = [](const std::string&,
                           std::uint32_t) { return std::make_unique<FixedCounters>(); }},
      verbs, clock, FindKnown, reports);
  runner.Start(IncastAssignment(7, v1::PROBE_ROLE_RESPONDER));
  runner.Continue(Towards(reports.Next<v1::ProbeReady>()));
  reports.Next<v1::ProbeArmed>();
  runner.Stop(Stop(7, "done"));
  const auto result = reports.Next<v1::ProbeOutcome>().result();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  ASSERT_EQ(result.counter_deltas().counters_size(), 1);
  EXPECT_EQ(result.counter_deltas().counters(0).before(), 10u);
  EXPECT_EQ(result.counter_deltas().counters(0).after(), 20u);
  EXPECT_EQ(result.counter_deltas().port().node(), "n1");
}

TEST_F(ProbeRunnerTest, BothEndsOfAProbeMayBeOnOnePort) {
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_0"));
  const auto to = n1.reports.Next<v1::ProbeReady>();
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  const auto from = n1.reports.Next<v1::ProbeReady>();
  EXPECT_EQ(to.role(), v1::PROBE_ROLE_RESPONDER);
  EXPECT_EQ(from.role(), v1::PROBE_ROLE_INITIATOR);
  n1.runner.Start(Assignment(8, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  EXPECT_EQ(n1.reports.Next<v1::ProbeOutcome>().result().status(), v1::PROBE_STATUS_REFUSED);

  auto start = Towards(from);
  start.set_role(v1::PROBE_ROLE_RESPONDER);
  n1.runner.Continue(start);
  n1.reports.Next<v1::ProbeArmed>();
  start = Towards(to);
  start.set_role(v1::PROBE_ROLE_INITIATOR);
  n1.runner.Continue(start);
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.role(), v1::PROBE_ROLE_INITIATOR);
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_OK) << outcome.result().reason();
  n1.runner.Stop(Stop(7, "done"));
  EXPECT_EQ(n1.reports.Next<v1::ProbeOutcome>().role(), v1::PROBE_ROLE_RESPONDER);
  EXPECT_EQ(fabric.open_queue_pairs(), 0u);
}

TEST_F(ProbeRunnerTest, AJobsSettingsAreTakenAndTold) {
  auto assignment = Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0");
  ASSERT_TRUE(FromJson(R"({"path_mtu_bytes": 1024, "timeout": 18, "retry_count": 3,
                           "rnr_retry": 2, "service_level": 5, "flow_label": 77})",
                       *assignment.mutable_spec()->mutable_queue_pair())
                  .ok());
  assignment.mutable_spec()->set_traffic_class(104);
  n1.runner.Start(assignment);
  assignment.set_role(v1::PROBE_ROLE_RESPONDER);
  n2.runner.Start(assignment);
  const auto from = n1.reports.Next<v1::ProbeReady>();
  n2.runner.Continue(Towards(from));
  n1.runner.Continue(Towards(n2.reports.Next<v1::ProbeReady>()));
  const auto result = n1.reports.Next<v1::ProbeOutcome>().result();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_EQ(ToJson(result.used(), false),
            R"({"gid_index":3,"path_mtu_bytes":1024,"timeout":18,"retry_count":3,"rnr_retry":2,)"
            R"("service_level":5,"flow_label":77,"traffic_class":104})");
  EXPECT_EQ(result.path_mtu_bytes(), 1024u);
  EXPECT_EQ(fabric.settings("mlx5_0").timeout, 18u);
  EXPECT_EQ(fabric.settings("mlx5_0").traffic_class, 104u);
}

TEST_F(ProbeRunnerTest, APathMtuAboveTheActiveOneIsRefused) {
  fabric.SetActiveMtu("mlx5_0", 1024);
  auto assignment = Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0");
  assignment.mutable_spec()->mutable_queue_pair()->set_path_mtu_bytes(4096);
  n1.runner.Start(assignment);
  const auto result = n1.reports.Next<v1::ProbeOutcome>().result();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_REFUSED);
  EXPECT_EQ(result.reason(), "mlx5_0/1: requested path MTU 4096 exceeds the active MTU 1024");
}

TEST_F(ProbeRunnerTest, NothingIsLeftOfADatagramProbeThatIsStopped) {
  auto assignment = Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_0");
  assignment.mutable_spec()->mutable_ud_ping();
  n1.runner.Start(assignment);
  n1.runner.Continue(Towards(n1.reports.Next<v1::ProbeReady>()));
  n1.reports.Next<v1::ProbeArmed>();
  EXPECT_EQ(fabric.open_queue_pairs(), 1u);
  n1.runner.StopAll("the controller is gone");
  n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(fabric.open_queue_pairs(), 0u);
}

TEST_F(ProbeRunnerTest, MoreProbesThanAllowedAreRefused) {
  Node small(fabric, 1);
  small.runner.Start(Assignment(1, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  small.reports.Next<v1::ProbeReady>();
  small.runner.Start(Assignment(2, v1::PROBE_ROLE_INITIATOR, "mlx5_1"));
  EXPECT_EQ(small.reports.Next<v1::ProbeOutcome>().result().reason(),
            "limit reached: 1 probes are running on this node");
}

struct Refusal {
  const char* name;
  void (*change)(v1::ProbeAssignment&);
  const char* reason;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithTheReasonAndThisNode) {
  FakeFabric fabric;
  fabric.SetGid("mlx5_9", "fe80::1");
  Node n1(fabric);
  auto assignment = Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0");
  GetParam().change(assignment);
  n1.runner.Start(assignment);
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_REFUSED);
  EXPECT_EQ(outcome.result().reason(), GetParam().reason);
  EXPECT_EQ(outcome.result().blamed_node(), "n1");
}

INSTANTIATE_TEST_SUITE_P(
    Assignments, Refused,
    ::testing::Values(
        Refusal{"no such device", [](auto& a) { a.mutable_local()->set_device("rxe9"); },
                "rxe9: no such RDMA device"},
        Refusal{"no such port", [](auto& a) { a.mutable_local()->set_port(3); },
                "mlx5_0/3: no such port"},
        Refusal{"port down", [](auto& a) { a.mutable_local()->set_port(2); },
                "mlx5_0/2: port is DOWN"},
        Refusal{"GID moved", [](auto& a) { a.mutable_local()->set_device("mlx5_9"); },
                "mlx5_9/1: GID 3 has changed from 0000:0000:0000:0000:0000:ffff:0a0a:0001 to "
                "fe80::1"},
        Refusal{"unknown kind", [](auto& a) { a.mutable_spec()->clear_kind(); },
                "unknown probe kind"},
        Refusal{"no role", [](auto& a) { a.clear_role(); }, "the probe has no role"},
        Refusal{
            "out of bounds",
            [](auto& a) { a.mutable_spec()->mutable_rc_write_latency()->set_message_bytes(~0U); },
            "rc_write_latency: message_bytes: expected 0 to 1048576, saw 4294967295"}));

TEST_F(ProbeRunnerTest, ADriverThatSaysNoIsAFailedSetUp) {
  fabric.RefuseOpen("mlx5_0", Status(Code::kResourceExhausted,
                                     "mlx5_0/1: registering 128 bytes: Cannot allocate memory"));
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_SETUP_FAILED);
  EXPECT_EQ(outcome.result().reason(), "mlx5_0/1: registering 128 bytes: Cannot allocate memory");
}

TEST_F(ProbeRunnerTest, WhatTheDeviceCannotDoIsRefused) {
  fabric.RefuseOpen("mlx5_0", Status(Code::kUnimplemented, "mlx5_0/1: the device has no atomics"));
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_REFUSED);
  EXPECT_EQ(outcome.result().blamed_node(), "n1");
  EXPECT_EQ(outcome.result().reason(), "mlx5_0/1: the device has no atomics");
}

TEST_F(ProbeRunnerTest, APairThatCannotBeConnectedIsAFailedSetUp) {
  fabric.RefuseConnect("mlx5_0", Status(Code::kUnimplemented, "mlx5_0/1: queue pair to RTR: no"));
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_0"));
  n1.runner.Continue(Towards(n1.reports.Next<v1::ProbeReady>()));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_SETUP_FAILED);
  EXPECT_EQ(outcome.result().reason(), "mlx5_0/1: queue pair to RTR: no");
}

// Connecting resolves the partner's address: who finds no answer has not failed itself.
TEST_F(ProbeRunnerTest, APartnerThatIsNotReachedIsNoFailedSetUp) {
  fabric.RefuseConnect("mlx5_0", Status(Code::kDeadlineExceeded,
                                        "mlx5_0/1: queue pair to RTR: Connection timed out"));
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_0"));
  n1.runner.Continue(Towards(n1.reports.Next<v1::ProbeReady>()));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(outcome.result().blamed_node(), "");
}

TEST_F(ProbeRunnerTest, APartnerWithLessMemoryIsNotWrittenTo) {
  n1.runner.Start(Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  auto start = Towards(n1.reports.Next<v1::ProbeReady>());
  start.mutable_remote()->set_memory_bytes(64);
  n1.runner.Continue(start);
  EXPECT_EQ(n1.reports.Next<v1::ProbeOutcome>().result().reason(),
            "the partner registered 64 bytes of memory, expected 128");
}

TEST_F(ProbeRunnerTest, AnAssignmentWithoutAStartEndsWithItsTimeout) {
  auto assignment = Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0");
  assignment.mutable_spec()->set_timeout_ms(10);
  n1.runner.Start(assignment);
  n1.reports.Next<v1::ProbeReady>();
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(outcome.result().reason(), "the controller did not send the partner's endpoint");
}

TEST_F(ProbeRunnerTest, ADeadPartnerEndsWithTheTimeout) {
  fabric.Silence("mlx5_1");
  auto assignment = Assignment(7, v1::PROBE_ROLE_INITIATOR, "mlx5_0");
  assignment.mutable_spec()->set_timeout_ms(20);
  n1.runner.Start(assignment);
  n2.runner.Start(Assignment(7, v1::PROBE_ROLE_RESPONDER, "mlx5_1"));
  n1.reports.Next<v1::ProbeReady>();
  n1.runner.Continue(Towards(n2.reports.Next<v1::ProbeReady>()));
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_TIMED_OUT);
}

// Hundredths of a second pass between any two looks: its thread hardly ever runs.
class StarvedClock final : public Clock {
 public:
  Moment Now() const override {
    return {.steady = SteadyTime(std::chrono::milliseconds(10 * ++looks_)), .wall = {}};
  }

 private:
  mutable std::atomic<std::int64_t> looks_ = 0;
};

TEST(ProbeRunnerAttendance, EitherEndNamesItselfWhenItDidNotRun) {
  for (const v1::ProbeRole role : {v1::PROBE_ROLE_INITIATOR, v1::PROBE_ROLE_RESPONDER}) {
    FakeFabric fabric;
    const StarvedClock clock;
    FakeVerbs verbs(fabric);
    Reports reports;
    ProbeRunner runner({}, verbs, clock, FindKnown, reports);
    runner.Start(Assignment(7, role, "mlx5_0"));
    const auto ready = reports.Next<v1::ProbeReady>();
    fabric.Silence("mlx5_0");  // With itself: nothing comes.
    runner.Continue(Towards(ready));
    if (role == v1::PROBE_ROLE_RESPONDER) reports.Next<v1::ProbeArmed>();
    const v1::ProbeResult result = reports.Next<v1::ProbeOutcome>().result();
    EXPECT_EQ(result.status(), v1::PROBE_STATUS_TIMED_OUT);
    EXPECT_EQ(result.blamed_node(), "n1");
    EXPECT_THAT(result.reason(),
                ::testing::HasSubstr("host starved: the probe's thread did not run for"));
  }
}

TEST_F(ProbeRunnerTest, StopAllCancelsWithTheReason) {
  n1.runner.Start(Assignment(1, v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
  n1.reports.Next<v1::ProbeReady>();
  n1.runner.StopAll("the controller is gone");
  const auto outcome = n1.reports.Next<v1::ProbeOutcome>();
  EXPECT_EQ(outcome.result().status(), v1::PROBE_STATUS_CANCELLED);
  EXPECT_EQ(outcome.result().reason(),
            "stopped: the controller is gone; the controller did not send the partner's endpoint");
}

}  // namespace
}  // namespace fabric::probe
