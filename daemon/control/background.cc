#include "daemon/control/background.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace fabric::control {
namespace {

class Thread final : public Background {
 public:
  Thread() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  void Post(std::packaged_task<void()> work) override {
    {
      const MutexLock lock(mutex_);
      works_.push_back(std::move(work));
    }
    posted_.notify_one();
  }

 private:
  void Run(const std::stop_token& stop) {
    for (;;) {
      std::packaged_task<void()> work = Next(stop);
      if (!work.valid()) return;
      work();
    }
  }

  // Empty: the thread ends.
  std::packaged_task<void()> Next(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    if (!posted_.wait(lock, stop, [this]() REQUIRES(mutex_) { return !works_.empty(); }) ||
        stop.stop_requested())
      return {};
    std::packaged_task<void()> work = std::move(works_.front());
    works_.pop_front();
    return work;
  }

  Mutex mutex_;
  std::condition_variable_any posted_;
  // At most one for each campaign that runs, and the memory of those that have just ended.
  std::deque<std::packaged_task<void()>> works_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace

std::unique_ptr<Background> StartBackground() {
  return std::make_unique<Thread>();
}

}  // namespace fabric::control
