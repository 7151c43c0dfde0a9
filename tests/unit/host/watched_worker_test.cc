#include "agents/host/watched_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

namespace fabric::host {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Blocks jobs below zero until Open().
class Driver {
 public:
  void Call(int job) {
    MutexLock lock(mutex_);
    ++inside_;
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return job >= 0 || open_; });
    --inside_;
    changed_.notify_all();
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return inside_ == 0; });
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ GUARDED_BY(mutex_) = false;
  int inside_ GUARDED_BY(mutex_) = 0;
};

class Doubling {
 public:
  using Job = int;
  using Output = int;
  using Progress = int;

  explicit Doubling(Driver& driver) : driver_(driver) {}
  int Run(int job) {
    {
      MutexLock lock(mutex_);
      job_ = job;
    }
    driver_.Call(job);
    return 2 * job;
  }
  int progress() {
    MutexLock lock(mutex_);
    return job_;
  }
  void Abandon() {}

 private:
  Driver& driver_;
  Mutex mutex_;
  int job_ GUARDED_BY(mutex_) = 0;
};

class WatchedWorkerTest : public ::testing::Test {
 protected:
  ~WatchedWorkerTest() override { driver.Open(); }  // Abandoned threads use it.

  std::optional<int> Run(int job) {
    if (worker.needs_task()) {
      ++tasks;
      worker.Start(std::make_unique<Doubling>(driver));
    }
    return worker.Run(job, milliseconds(1), [](int at, pid_t) { return at < 0; });
  }

  Driver driver;
  WatchedWorker<Doubling> worker;
  int tasks = 0;
};

TEST_F(WatchedWorkerTest, RunsJobsOnOneThread) {
  EXPECT_EQ(Run(1), 2);
  EXPECT_EQ(Run(2), 4);
  EXPECT_EQ(tasks, 1);
  EXPECT_THAT(worker.abandoned(), IsEmpty());
}

TEST_F(WatchedWorkerTest, AbandonsABlockedThreadAndContinuesOnANewOne) {
  EXPECT_EQ(Run(-1), std::nullopt);
  EXPECT_EQ(Run(-2), std::nullopt);
  EXPECT_EQ(Run(3), 6);
  EXPECT_EQ(tasks, 3);
  EXPECT_THAT(worker.abandoned(), ElementsAre(-1, -2));
}

TEST_F(WatchedWorkerTest, JoinsThreadsWhoseCallHasReturned) {
  EXPECT_EQ(Run(-1), std::nullopt);
  worker.JoinReturned();
  EXPECT_EQ(worker.abandoned_count(), 1U);
  driver.Open();
  // The thread has left the driver, but may not have delivered its output yet.
  while (worker.abandoned_count() > 0) worker.JoinReturned();
  EXPECT_EQ(Run(1), 2);
  EXPECT_EQ(tasks, 2);
}

TEST_F(WatchedWorkerTest, DoesNotWaitForBlockedThreadsAtItsEnd) {
  WatchedWorker<Doubling> other;
  other.Start(std::make_unique<Doubling>(driver));
  EXPECT_EQ(other.Run(-1, milliseconds(1), [](int at, pid_t) { return at < 0; }), std::nullopt);
}

}  // namespace
}  // namespace fabric::host
