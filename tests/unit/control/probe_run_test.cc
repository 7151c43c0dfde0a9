// A probe that times out: whose word counts, and when.
#include "daemon/control/campaigns/probe_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

class Sent final : public AgentSink {
 public:
  void Send(SessionId session, const v1::ControllerMessage& message) override {
    if (message.has_probe_stop()) stopped.push_back(session);
  }
  void Close(SessionId, const Status&) override {}

  std::vector<SessionId> stopped;
};

v1::ProbePort Port(const std::string& node) {
  v1::ProbePort port;
  port.set_node(node);
  return port;
}

v1::ProbeSpec LatencySpec() {
  v1::ProbeSpec spec;
  spec.mutable_rc_write_latency();
  spec.set_timeout_ms(5000);
  return spec;
}

// From n1 to n2, both of which were told to begin.
class TimedOutProbe : public ::testing::Test {
 protected:
  TimedOutProbe() {
    for (const char* const node : {"n1", "n2"}) {
      v1::Hello hello;
      hello.mutable_node()->set_name(node);
      agents.Add(SessionId(node[1] - '0'), hello, now).reported = true;
    }
    run.Start(agents, now);
    for (const char* const node : {"n1", "n2"}) run.OnReady(node, {}, agents);
    run.OnArmed("n2", agents);
  }

  void Say(const std::string& node, v1::ProbeStatus status, const std::string& reason,
           const std::string& blamed = "") {
    v1::ProbeOutcome outcome;
    outcome.mutable_result()->set_status(status);
    outcome.mutable_result()->set_reason(reason);
    outcome.mutable_result()->set_blamed_node(blamed);
    if (status == v1::PROBE_STATUS_OK && node == "n1") {
      outcome.mutable_result()->mutable_latency()->set_median_us(3);
      outcome.mutable_result()->mutable_latency()->set_samples(100);
    }
    run.OnOutcome(node, outcome, agents, now);
  }
  void InitiatorTimesOut() { Say("n1", v1::PROBE_STATUS_TIMED_OUT, "nothing came"); }
  void Pass(Duration time) {
    now.steady += time;
    run.Tick(agents, now);
  }

  Moment now{.steady = SteadyTime(1000s), .wall = {}};
  Sent sent;
  Sessions agents{sent};
  ProbeRun run{ProbeId(7), Port("n1"), Port("n2"), LatencySpec()};
};

TEST_F(TimedOutProbe, NamesTheResponderThatWasLate) {
  InitiatorTimesOut();
  EXPECT_FALSE(run.decided());
  EXPECT_EQ(sent.stopped, std::vector{SessionId(2)});
  Say("n2", v1::PROBE_STATUS_CANCELLED, "its host was late", "n2");
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(run.result().blamed_node(), "n2");
  EXPECT_EQ(run.result().reason(), "n1: nothing came; n2: its host was late");
  EXPECT_EQ(sent.stopped.size(), 1u) << "once is enough";
}

TEST_F(TimedOutProbe, NamesTheResponderThatHadSaidSoBefore) {
  Say("n2", v1::PROBE_STATUS_OK, "its host was late", "n2");
  EXPECT_FALSE(run.decided());
  InitiatorTimesOut();
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().blamed_node(), "n2");
}

TEST_F(TimedOutProbe, NamesNobodyWhereNobodyWasLate) {
  InitiatorTimesOut();
  Say("n2", v1::PROBE_STATUS_CANCELLED, "stopped");
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(run.result().reason(), "n1: nothing came");
  EXPECT_EQ(run.result().blamed_node(), "");
}

TEST_F(TimedOutProbe, AnEndCallsNobodyLateButItself) {
  InitiatorTimesOut();
  Say("n2", v1::PROBE_STATUS_CANCELLED, "it was late", "n1");
  EXPECT_EQ(run.result().blamed_node(), "");
}

TEST_F(TimedOutProbe, AnInitiatorThatWasLateIsNamedAtOnce) {
  Say("n1", v1::PROBE_STATUS_TIMED_OUT, "its host was late", "n1");
  EXPECT_TRUE(run.decided());
  EXPECT_EQ(run.result().blamed_node(), "n1");
}

TEST_F(TimedOutProbe, AResponderThatGaveUpFirstHearsTheInitiatorOut) {
  Say("n2", v1::PROBE_STATUS_TIMED_OUT, "nothing came");
  EXPECT_FALSE(run.decided());
  Say("n1", v1::PROBE_STATUS_CANCELLED, "its host was late", "n1");
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(run.result().blamed_node(), "n1");
}

TEST_F(TimedOutProbe, TheInitiatorsFiguresCount) {
  Say("n2", v1::PROBE_STATUS_TIMED_OUT, "nothing came");
  Say("n1", v1::PROBE_STATUS_OK, "");
  EXPECT_EQ(run.result().status(), v1::PROBE_STATUS_OK) << run.result().reason();
}

TEST_F(TimedOutProbe, DoesNotWaitForEver) {
  InitiatorTimesOut();
  Pass(4s);
  EXPECT_FALSE(run.decided());
  Pass(2s);
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().reason(), "n1: nothing came");
  Say("n2", v1::PROBE_STATUS_CANCELLED, "its host was late", "n2");
  EXPECT_EQ(run.result().blamed_node(), "") << "it is too late to say so";
}

TEST_F(TimedOutProbe, NamesTheEndThatIsLostMeanwhile) {
  InitiatorTimesOut();
  run.OnLost("n1", "connection closed", agents, now);
  EXPECT_FALSE(run.decided()) << "it has said all";
  run.OnLost("n2", "connection closed", agents, now);
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.result().status(), v1::PROBE_STATUS_UNREACHABLE);
  EXPECT_EQ(run.result().blamed_node(), "n2");
}

}  // namespace
}  // namespace fabric::control
