// Watched worker: runs jobs on a thread that may block in a driver for ever.
//
// A job that blocks is abandoned with its thread and everything that the thread uses; the next job
// runs on a new thread. An abandoned thread cannot be ended: it keeps its Task until its call
// returns. A program with abandoned threads must not end through main().
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace fabric::host {

// A Task does the work. One object per thread, with these members:
//
//   using Job, Output, Progress
//   Output Run(Job job);      On the worker's thread.
//   Progress progress();      From any thread.
//   void Abandon();           From any thread: the current job is abandoned.
//
// Not thread-safe: one thread at a time uses a WatchedWorker.
template <class Task>
class WatchedWorker {
 public:
  using Job = typename Task::Job;
  using Output = typename Task::Output;
  using Progress = typename Task::Progress;

  WatchedWorker() = default;
  WatchedWorker(const WatchedWorker&) = delete;
  WatchedWorker& operator=(const WatchedWorker&) = delete;
  // Does not wait for abandoned threads.
  ~WatchedWorker() {
    if (current_.loop != nullptr) Release(current_);
    for (Abandoned& abandoned : abandoned_) Release(abandoned.thread);
  }

  // Whether the next job needs a new thread. Then pass a new Task to Start().
  bool needs_task() const { return current_.loop == nullptr; }
  void Start(std::unique_ptr<Task> task) {
    auto loop = std::make_unique<Loop>(std::move(task));
    current_.loop = loop.get();
    current_.thread = std::thread([loop = std::move(loop)] { loop->Run(); });
  }

  // Runs a job. Calls `blocked(progress, tid)` every `check_every` until the job ends; when it
  // returns true, the job is abandoned and the result is empty. `tid`: of the worker's thread.
  template <class Blocked>
  std::optional<Output> Run(Job job, Duration check_every, Blocked blocked) {
    Loop& loop = *current_.loop;
    loop.Start(std::move(job));
    while (!loop.AwaitEnd(check_every)) {
      if (!blocked(loop.task().progress(), loop.tid())) continue;
      loop.task().Abandon();
      abandoned_.push_back(
          {.at = loop.task().progress(), .thread = std::exchange(current_, Thread())});
      return std::nullopt;
    }
    return loop.TakeOutput();
  }

  // Joins the abandoned threads whose call has returned.
  void JoinReturned() {
    std::erase_if(abandoned_, [](Abandoned& abandoned) {
      if (abandoned.thread.loop->busy()) return false;
      Release(abandoned.thread);
      return true;
    });
  }

  // Progress of each abandoned thread, oldest first.
  std::vector<Progress> abandoned() const {
    std::vector<Progress> all;
    for (const Abandoned& one : abandoned_) all.push_back(one.at);
    return all;
  }
  std::size_t abandoned_count() const { return abandoned_.size(); }

 private:
  class Loop {
   public:
    explicit Loop(std::unique_ptr<Task> task) : task_(std::move(task)) {}

    void Run() EXCLUDES(mutex_) {
      tid_ = gettid();
      while (std::optional<Job> job = NextJob()) {
        Output output = task_->Run(*std::move(job));
        MutexLock lock(mutex_);
        output_ = std::move(output);
        busy_ = false;
        changed_.notify_all();
      }
    }
    void Start(Job job) EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      job_ = std::move(job);
      busy_ = true;
      changed_.notify_all();
    }
    bool AwaitEnd(Duration patience) EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      return changed_.wait_for(lock, patience, [&]() REQUIRES(mutex_) { return !busy_; });
    }
    Output TakeOutput() EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      return *std::exchange(output_, std::nullopt);
    }
    bool busy() EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      return busy_;
    }
    Task& task() { return *task_; }
    pid_t tid() const { return tid_; }

    // Ends the thread when it is idle. Returns whether it is; otherwise the loop may be destroyed
    // at any time by its thread.
    bool Release() EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      released_ = true;
      changed_.notify_all();
      return !busy_;
    }

   private:
    std::optional<Job> NextJob() EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      changed_.wait(lock, [&]() REQUIRES(mutex_) { return job_ || released_; });
      if (released_) return std::nullopt;
      return std::exchange(job_, std::nullopt);
    }

    const std::unique_ptr<Task> task_;
    std::atomic<pid_t> tid_ = 0;
    Mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Job> job_ GUARDED_BY(mutex_);
    std::optional<Output> output_ GUARDED_BY(mutex_);
    bool busy_ GUARDED_BY(mutex_) = false;
    bool released_ GUARDED_BY(mutex_) = false;
  };
  struct Thread {  // The thread owns its loop.
    Loop* loop = nullptr;
    std::thread thread;
  };
  struct Abandoned {
    Progress at;
    Thread thread;
  };

  static void Release(Thread& thread) {
    if (thread.loop->Release())
      thread.thread.join();
    else
      thread.thread.detach();
  }

  Thread current_;
  std::vector<Abandoned> abandoned_;
};

}  // namespace fabric::host
