// Work in the background that waits until a test runs it.
#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <utility>

#include "daemon/control/background.h"

namespace fabric::testing {

// Works wait until Run().
class HeldBackground final : public control::Background {
 public:
  void Post(std::packaged_task<void()> work) override { works_.push_back(std::move(work)); }
  std::size_t waiting() const { return works_.size(); }
  void Run() {
    while (!works_.empty()) {
      works_.front()();
      works_.pop_front();
    }
  }

 private:
  std::deque<std::packaged_task<void()>> works_;
};

}  // namespace fabric::testing
