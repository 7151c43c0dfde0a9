#include "agents/probe/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "agents/probe/stall_monitor.h"

namespace fabric::probe {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::uint32_t kMax = 2;

v1::ProbeAssignment DeviceAssignment(std::uint64_t id, const std::string& device,
                                     v1::ProbeRole role = v1::PROBE_ROLE_INITIATOR) {
  v1::ProbeAssignment assignment;
  assignment.set_probe_id(id);
  assignment.set_role(role);
  assignment.mutable_spec()->mutable_rc_write_latency();
  assignment.mutable_local()->set_node("n1");
  assignment.mutable_local()->set_device(device);
  assignment.mutable_local()->set_port(1);
  return assignment;
}

RunningProbe Running(const v1::ProbeAssignment& assignment) {
  return {.assignment = assignment};
}

Status AdmitBeside(const v1::ProbeAssignment& assignment,
                   const std::vector<RunningProbe>& ongoing) {
  std::vector<const RunningProbe*> running;
  for (const RunningProbe& probe : ongoing) running.push_back(&probe);
  return Admit(assignment, running, {.probes_max = kMax});
}

TEST(Admission, APortHasOneProbe) {
  const std::vector<RunningProbe> one = {Running(DeviceAssignment(7, "mlx5_0"))};
  EXPECT_TRUE(AdmitBeside(DeviceAssignment(8, "mlx5_1"), one).ok());
  const Status busy = AdmitBeside(DeviceAssignment(8, "mlx5_0"), one);
  EXPECT_EQ(busy.code(), Code::kUnavailable);
  EXPECT_THAT(busy.message(), HasSubstr("port busy with probe 7"));
}

TEST(Admission, BothEndsOfOneProbeMayBeOnOnePort) {
  const std::vector<RunningProbe> one = {Running(DeviceAssignment(7, "mlx5_0"))};
  EXPECT_TRUE(AdmitBeside(DeviceAssignment(7, "mlx5_0", v1::PROBE_ROLE_RESPONDER), one).ok());
  EXPECT_FALSE(AdmitBeside(DeviceAssignment(7, "mlx5_0"), one).ok())
      << "the same end a second time";
}

TEST(Admission, NoMoreThanSoManyAtOnce) {
  const std::vector<RunningProbe> full = {Running(DeviceAssignment(1, "mlx5_0")),
                                          Running(DeviceAssignment(2, "mlx5_1"))};
  EXPECT_EQ(AdmitBeside(DeviceAssignment(3, "mlx5_2"), full).code(), Code::kResourceExhausted);
}

TEST(Admission, ProbesThatCannotBeMeant) {
  v1::ProbeAssignment without_kind = DeviceAssignment(1, "mlx5_0");
  without_kind.mutable_spec()->clear_rc_write_latency();
  EXPECT_EQ(AdmitBeside(without_kind, {}).code(), Code::kUnimplemented);
  const v1::ProbeAssignment without_role =
      DeviceAssignment(1, "mlx5_0", v1::PROBE_ROLE_UNSPECIFIED);
  EXPECT_EQ(AdmitBeside(without_role, {}).code(), Code::kInvalidArgument);
}

TEST(Admission, TheSettingsOfTheNodeForbidWhatTheControllerOrders) {
  v1::ProbeAssignment assignment;
  assignment.mutable_spec()->mutable_rc_write_latency();
  assignment.mutable_local()->set_device("mlx5_0");
  EXPECT_EQ(CheckPolicy(assignment, {}), Status());
  ProbePolicy policy{.kinds = {"ud_ping"}};
  EXPECT_EQ(CheckPolicy(assignment, policy),
            Status(Code::kPermissionDenied,
                   "the setting probe-kinds of this node does not permit rc_write_latency"));
  policy = {.busy_devices = false, .users = [](const std::string& device) {
              const bool used = device == "mlx5_0";
              return used ? std::vector<std::string>{"python3"} : std::vector<std::string>{};
            }};
  EXPECT_EQ(CheckPolicy(assignment, policy).message(),
            "mlx5_0 is in use by python3, and the setting probe-busy-devices of this node is off");
  assignment.mutable_local()->set_device("mlx5_1");
  EXPECT_EQ(CheckPolicy(assignment, policy), Status());
}

TEST(Admission, AMessageWithoutRoleIsForTheOnlyEnd) {
  const RunningProbe probe = Running(DeviceAssignment(7, "mlx5_0", v1::PROBE_ROLE_RESPONDER));
  EXPECT_TRUE(IsFor(probe, 7, v1::PROBE_ROLE_UNSPECIFIED));
  EXPECT_TRUE(IsFor(probe, 7, v1::PROBE_ROLE_RESPONDER));
  EXPECT_FALSE(IsFor(probe, 7, v1::PROBE_ROLE_INITIATOR));
  EXPECT_FALSE(IsFor(probe, 8, v1::PROBE_ROLE_RESPONDER));
}

TEST(Admission, WhatWasStoppedWhileItWaitedWasCancelled) {
  RunningProbe probe = Running(DeviceAssignment(7, "mlx5_0"));
  probe.stop_reason = "the campaign was cancelled";
  v1::ProbeResult late;
  late.set_status(v1::PROBE_STATUS_TIMED_OUT);
  late.set_reason("no answer");
  EXPECT_EQ(FinalOutcome(probe, late, false).result().status(), v1::PROBE_STATUS_TIMED_OUT);
  const v1::ProbeOutcome stopped = FinalOutcome(probe, late, true);
  EXPECT_EQ(stopped.result().status(), v1::PROBE_STATUS_CANCELLED);
  EXPECT_EQ(stopped.result().reason(), "stopped: the campaign was cancelled; no answer");
  v1::ProbeResult done;
  done.set_status(v1::PROBE_STATUS_OK);
  EXPECT_EQ(FinalOutcome(probe, done, true).result().status(), v1::PROBE_STATUS_OK);
}

v1::ProbeResult NamedLate(v1::ProbeStatus status, const Lateness& how) {
  v1::ProbeAssignment assignment = DeviceAssignment(7, "mlx5_0");
  assignment.mutable_remote()->set_node("n2");
  v1::ProbeResult result;
  result.set_status(status);
  result.set_reason("write 3 of 100: no completion");
  NameLateEnd(assignment, how, result);
  return result;
}

TEST(Admission, WhoDidNotRunIsNamedForTheTimeOut) {
  const auto named = [](v1::ProbeStatus status, Duration away) {
    return NamedLate(status, {.stalled = away, .elapsed = 5s});
  };
  EXPECT_EQ(named(v1::PROBE_STATUS_TIMED_OUT, 2s).blamed_node(), "") << "mostly it ran";
  EXPECT_EQ(named(v1::PROBE_STATUS_FAILED, 4s).blamed_node(), "") << "that is no lateness";
  const v1::ProbeResult late = named(v1::PROBE_STATUS_TIMED_OUT, 3200ms);
  EXPECT_EQ(late.blamed_node(), "n1");
  EXPECT_EQ(late.reason(),
            "write 3 of 100: no completion; host starved: the probe's thread did not run for 3.2 "
            "of 5.0 s");
}

// The initiator may have given up when it came to its part.
TEST(Admission, AResponderThatDidNotRunNamesItselfThoughItWasThrough) {
  v1::ProbeAssignment assignment = DeviceAssignment(7, "mlx5_0", v1::PROBE_ROLE_RESPONDER);
  const auto named = [&](v1::ProbeStatus status, Duration away) {
    v1::ProbeResult result;
    result.set_status(status);
    NameLateEnd(assignment, {.stalled = away, .elapsed = 5s}, result);
    return result;
  };
  EXPECT_EQ(named(v1::PROBE_STATUS_OK, 2s).blamed_node(), "");
  EXPECT_EQ(named(v1::PROBE_STATUS_FAILED, 4s).blamed_node(), "");
  EXPECT_EQ(named(v1::PROBE_STATUS_TIMED_OUT, 4s).blamed_node(), "n1");
  EXPECT_EQ(named(v1::PROBE_STATUS_OK, 4s).blamed_node(), "n1");
  EXPECT_EQ(named(v1::PROBE_STATUS_OK, 4s).reason(),
            "host starved: the probe's thread did not run for 4.0 of 5.0 s");
  assignment.set_role(v1::PROBE_ROLE_INITIATOR);
  EXPECT_EQ(named(v1::PROBE_STATUS_OK, 4s).blamed_node(), "") << "its figures count";
}

TEST(Admission, WhoMadeAllVoidIsNamed) {
  const auto named = [](Late late, Duration away = {}) {
    return NamedLate(v1::PROBE_STATUS_TIMED_OUT, {.stalled = away, .elapsed = 5s, .late = late});
  };
  EXPECT_EQ(named(Late::kNone).blamed_node(), "");
  EXPECT_EQ(named(Late::kThisEnd).blamed_node(), "n1");
  EXPECT_EQ(named(Late::kPartner).blamed_node(), "n2");
  EXPECT_EQ(named(Late::kPartner).reason(), "write 3 of 100: no completion");
  EXPECT_EQ(named(Late::kPartner, 3s).blamed_node(), "n1") << "who did not run says nothing of n2";
  EXPECT_EQ(NamedLate(v1::PROBE_STATUS_OK, {.late = Late::kPartner}).blamed_node(), "");
}

// Only requests without an answer are evidence about the path.
TEST(Admission, TheEndWhoseRequestFailedIsNamed) {
  v1::ProbeAssignment assignment = DeviceAssignment(7, "mlx5_0");
  assignment.mutable_remote()->set_node("n2");
  const auto named = [&](v1::ProbeStatus status, int completion) {
    v1::ProbeResult result;
    result.set_status(status);
    NameFailedEnd(assignment, host::FailedByOf(completion), result);
    return result.blamed_node();
  };
  for (const int no_answer : {12, 13, 20})
    EXPECT_EQ(named(v1::PROBE_STATUS_FAILED, no_answer), "") << no_answer;
  for (const int rejected : {9, 10, 11, 15, 16})
    EXPECT_EQ(named(v1::PROBE_STATUS_FAILED, rejected), "n2") << rejected;
  for (const int local : {1, 2, 4, 5, 6, 7, 8, 19, 21})
    EXPECT_EQ(named(v1::PROBE_STATUS_FAILED, local), assignment.local().node()) << local;
  EXPECT_EQ(named(v1::PROBE_STATUS_OK, 4), "");
  EXPECT_EQ(named(v1::PROBE_STATUS_TIMED_OUT, 4), "");
}

TEST(Admission, AStallIsAGapThatIsNotAWait) {
  StallMonitor stalls;
  stalls.Slept(SteadyTime(10s));
  for (const Duration at : {10s + 1ms, 10s + 4ms, 12s + 4ms, 12s + 5ms})
    stalls.Working(SteadyTime(at));
  EXPECT_EQ(stalls.stalled(), 2s);
  stalls.Slept(SteadyTime(15s));
  stalls.Working(SteadyTime(15s + 1ms));
  EXPECT_EQ(stalls.stalled(), 2s) << "a wait is not a stall";
}

TEST(Admission, ADeviceThatIsNotThere) {
  const auto address = AddressFor(DeviceAssignment(7, "mlx5_9"), std::nullopt);
  EXPECT_EQ(address.status().code(), Code::kNotFound);
  EXPECT_THAT(address.status().message(), HasSubstr("mlx5_9"));
}

TEST(Admission, TheTimeOfAProbeBeginsWhenItIsAssigned) {
  v1::ProbeAssignment assignment = DeviceAssignment(7, "mlx5_0");
  assignment.mutable_spec()->set_timeout_ms(1500);
  EXPECT_EQ(DeadlineOf(assignment, SteadyTime(10s)), SteadyTime(11500ms));
}

TEST(Admission, MemoryOfAllProbesIsBounded) {
  v1::ProbeAssignment large = DeviceAssignment(1, "mlx5_0");
  large.mutable_spec()->mutable_rc_write_bandwidth()->set_message_bytes(8 << 20);
  const ProbeLimits limits{.memory_max = 12 << 20};
  EXPECT_TRUE(Admit(large, {}, limits).ok());
  const RunningProbe running{.assignment = large};
  const RunningProbe* const all[] = {&running};
  large.mutable_local()->set_device("mlx5_1");
  large.set_probe_id(2);
  const Status refused = Admit(large, all, limits);
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("memory of all probes on this node: expected at most "
                                           "12582912 bytes"));
}

TEST(Admission, TheMemoryBudgetIsAShareOfTheLimit) {
  EXPECT_EQ(ProbeMemoryMax(std::nullopt), 256u << 20);
  EXPECT_NEAR(static_cast<double>(ProbeMemoryMax(256 << 20)), 64 << 20, 100);
  EXPECT_EQ(ProbeMemoryMax(std::uint64_t{64} << 30), 256u << 20);
}

}  // namespace
}  // namespace fabric::probe
