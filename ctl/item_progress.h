// Progress line of commands that ask the controller for one node after the other.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "ctl/command.h"

namespace fabric::ctl {

class NodeProgress {
 public:
  // `stream` and `what` must outlive the object.
  NodeProgress(Stream& stream, std::string_view what, std::size_t nodes)
      : stream_(stream), what_(what), nodes_(nodes), start_(stream.Now()) {}

  // Before each node. After the first second, shows "nccl-env: 40 of 1024 nodes, about 12s left".
  // The time left follows from the nodes so far.
  void Next();

 private:
  Stream& stream_;
  const std::string_view what_;
  const std::size_t nodes_;
  const WallTime start_;
  std::size_t done_ = 0;
};

}  // namespace fabric::ctl
