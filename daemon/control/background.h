// Work outside of the controller's turns: what takes long and needs no state of the controller.
#pragma once

#include <future>
#include <memory>

namespace fabric::control {

class Background {
 public:
  virtual ~Background() = default;
  // Does not wait. The works run one after the other, and are destroyed where they run.
  virtual void Post(std::packaged_task<void()> work) = 0;
};

// One thread. The destructor waits for the work that runs, and drops the others.
std::unique_ptr<Background> StartBackground();

}  // namespace fabric::control
