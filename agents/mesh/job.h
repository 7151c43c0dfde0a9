// Calls into drivers that may take seconds: opening queue pairs, finding a peer's hardware address.
// They are made beside the mesh's own thread, whose partners wait for answers.
#pragma once

#include <memory>

#include "base/clock.h"

namespace fabric::mesh {

class Job {
 public:
  virtual ~Job() = default;
  virtual void Run() = 0;                   // On another thread; touches nothing of the mesh.
  virtual void Finish(SteadyTime now) = 0;  // On the mesh's own thread, once it has run
};

// Who runs them, one after another. Each comes back by Mesh::OnDone().
class Worker {
 public:
  virtual ~Worker() = default;
  // `urgent`: before all that are not.
  virtual void Start(std::unique_ptr<Job> job, bool urgent) = 0;
};

}  // namespace fabric::mesh
