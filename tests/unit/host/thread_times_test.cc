#include "agents/host/thread_times.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stop_token>
#include <thread>

namespace fabric::host {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr auto kWatched = std::chrono::milliseconds(1500);

void RunOn(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0) << std::strerror(errno);
}

void RunUntil(const std::stop_token& stop) {
  while (!stop.stop_requested()) continue;
}

Duration LongestBlocked(pid_t tid) {
  const auto now = [] { return SteadyTime(std::chrono::steady_clock::now().time_since_epoch()); };
  const SteadyTime end = now() + kWatched;
  BlockedTime blocked(now());
  Duration longest{};
  while (now() < end) {
    poll(nullptr, 0, static_cast<int>(kLookEvery.count()));
    (void)blocked.Look(tid, false, now());
    while (blocked.Reaches(longest + kLookEvery)) longest += kLookEvery;
  }
  return longest;
}

// The kernel gives the idle thread a few milliseconds of each second: schedstat says nothing of
// the wait while it lasts.
TEST(BlockedTime, DoesNotCountALongWaitForAProcessor) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  std::atomic<pid_t> tid{0};
  const std::jthread busy([&](const std::stop_token& stop) {
    RunOn(processor);
    RunUntil(stop);
  });
  const std::jthread idle([&](const std::stop_token& stop) {
    RunOn(processor);
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0) << std::strerror(errno);
    tid = gettid();
    RunUntil(stop);
  });
  while (tid == 0) std::this_thread::yield();
  EXPECT_LT(LongestBlocked(tid), std::chrono::milliseconds(100));
}

TEST(BlockedTime, CountsASleep) {
  std::atomic<pid_t> tid{0};
  const std::jthread sleeper([&](const std::stop_token& stop) {
    tid = gettid();
    while (!stop.stop_requested()) poll(nullptr, 0, 50);
  });
  while (tid == 0) std::this_thread::yield();
  EXPECT_GT(LongestBlocked(tid), std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace fabric::host
