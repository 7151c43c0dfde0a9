// Samples that say nothing of the network: the own host was late. And the clock of adapters.
#include <gtest/gtest.h>

#include "agents/host/verbs/tick_clock.h"
#include "agents/probe/rc_latency.h"

namespace fabric::probe {
namespace {

using std::chrono::microseconds;

class ManualClock final : public Clock {
 public:
  Moment Now() const override { return {.steady = now, .wall = {}}; }
  SteadyTime now{};
};

struct Sampling {
  Sampling() {
    spec.mutable_rc_read_latency();
    // Usual rounds: posted at once, and the answer after 10 us of polls.
    for (int n = 0; n < 20; ++n) Round(Duration(50), microseconds(10));
  }
  // `posting` until the request was out; polls for `waiting`; nobody looks for `away` before the
  // end.
  void Round(Duration posting, Duration waiting, Duration away = {}) {
    EXPECT_TRUE(rounds.Begin(++round).ok());
    clock.now += posting;
    Pace pace = rounds.Posted();
    for (Duration left = waiting; left > Duration::zero(); left -= Duration(50)) {
      clock.now += Duration(50);
      EXPECT_TRUE(pace.Next());
    }
    clock.now += away;
    rounds.End(pace);
  }
  v1::LatencySummary Latency() {
    v1::ProbeResult result;
    rounds.Conclude(Status(), result);
    return result.latency();
  }

  v1::ProbeSpec spec;
  ManualClock clock;
  ProbeRun run{.spec = spec,
               .clock = clock,
               .stopped = [] { return false; },
               .await_stop = [] {},
               .remote = {},
               .settings = {}};
  Rounds rounds{run, {.message_bytes = 8, .warmup = 0, .rounds = 100}, 1};
  std::uint32_t round = 0;
};

TEST(Samples, OfASlowNetworkCount) {
  Sampling sampling;
  sampling.Round(Duration(50), microseconds(90));
  EXPECT_EQ(sampling.Latency().samples(), 21u);
  EXPECT_EQ(sampling.Latency().voided(), 0u);
  EXPECT_GT(sampling.Latency().max_us(), 89);
}

TEST(Samples, AreVoidWhenNobodyLookedAsTheAnswerCame) {
  Sampling sampling;
  sampling.Round(Duration(50), microseconds(10), microseconds(4000));
  EXPECT_EQ(sampling.Latency().samples(), 20u);
  EXPECT_EQ(sampling.Latency().voided(), 1u);
  EXPECT_LT(sampling.Latency().max_us(), 20);
}

TEST(Samples, AreVoidWhenTheRequestWasPostedLate) {
  Sampling sampling;
  sampling.Round(microseconds(4000), microseconds(10));
  EXPECT_EQ(sampling.Latency().voided(), 1u);
}

TEST(Samples, OfAHostThatIsAlwaysSlowCount) {
  Sampling sampling;
  // It takes a while until that is known to be usual.
  for (int n = 0; n < 70; ++n) sampling.Round(Duration(50), microseconds(10), microseconds(400));
  EXPECT_LT(sampling.Latency().voided(), 40u);
  EXPECT_GT(sampling.Latency().samples(), 50u);
}

TEST(Samples, ThatAreAllVoidSayThatThisHostWasLate) {
  v1::ProbeSpec spec;
  spec.mutable_rc_read_latency();
  ManualClock clock;
  ProbeRun run{.spec = spec, .clock = clock, .stopped = [] { return false; }};
  Rounds rounds(run, {.message_bytes = 8, .warmup = 1, .rounds = 3}, 1);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    EXPECT_TRUE(rounds.Begin(round).ok());
    clock.now += round == 1 ? Duration(50) : std::chrono::milliseconds(4);
    rounds.End(rounds.Posted());
  }
  v1::ProbeResult result;
  rounds.Conclude(Status(), result);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(result.latency().voided(), 2u);
  EXPECT_EQ(run.late, Late::kThisEnd);
}

TEST(TickClock, CountsOverItsWrapAndBackwards) {
  const host::TickClock clock{.mask = 0xffff'ffff, .kilohertz = 1'000'000};
  EXPECT_EQ(clock.Elapsed(0xffff'fff0, 0x10), Duration(0x20));
  EXPECT_EQ(clock.Elapsed(0x10, 0xffff'fff0), -Duration(0x20));
  const host::TickClock fast{.mask = ~0ULL >> 1, .kilohertz = 156'250};
  EXPECT_EQ(fast.Elapsed(1000, 1000 + 156'250'000), std::chrono::seconds(1));
  EXPECT_EQ(fast.Elapsed(0, 1), Duration(6));
  EXPECT_FALSE(host::TickClock{}.usable());
}

}  // namespace
}  // namespace fabric::probe
