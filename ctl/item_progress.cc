#include "ctl/node_progress.h"

#include <chrono>

#include "base/text.h"

namespace fabric::ctl {

void NodeProgress::Next() {
  const std::size_t done = done_++;
  const Duration elapsed = stream_.Now() - start_;
  if (done == 0 || elapsed < std::chrono::seconds(1)) return;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double left = seconds * static_cast<double>(nodes_ - done) / static_cast<double>(done);
  stream_.Progress(Format("{}: {} of {} nodes, about {:.0f}s left", what_, done, nodes_, left));
}

}  // namespace fabric::ctl
