// Driver calls of the mesh that may block for seconds: opening queue pairs, resolving addresses.
// They run on a separate thread, so that pings are answered in time.
#pragma once

#include <memory>

#include "base/clock.h"

namespace fabric::mesh {

class Job {
 public:
  virtual ~Job() = default;
  virtual void Run() = 0;                   // On the worker's thread; does not use the mesh.
  virtual void Finish(SteadyTime now) = 0;  // On the mesh thread, after Run().
};

// Runs one job at a time. Returns each finished job with Mesh::OnDone().
class Worker {
 public:
  virtual ~Worker() = default;
  // Urgent jobs run before all others.
  virtual void Start(std::unique_ptr<Job> job, bool urgent) = 0;
};

}  // namespace fabric::mesh
