// Threads of the mesh: one pings and answers, one runs jobs. They start with the first order that
// names ports.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "agents/host/verbs/ud_wait.h"
#include "agents/mesh/mesh.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace fabric::mesh {

// Thread-safe. Everything borrowed must outlive it. Callbacks run on its threads.
class MeshThread final : public Worker {
 public:
  MeshThread(host::Verbs& verbs, const Clock& clock, FindDevice find_device, Mesh::Busy busy,
             Mesh::Send send, MeshOptions options = {});
  ~MeshThread() override;  // Closes all queue pairs first.

  // Replaces an order that the mesh has not taken yet.
  void SetOrder(const v1::MeshAssignment& order);

  void Start(std::unique_ptr<Job> job, bool urgent) override;  // Called by Mesh

 private:
  void Run(const std::stop_token& stop);
  void RunJobs(const std::stop_token& stop);
  void TakeUpdates(Moment now);

  const Clock& clock_;
  std::optional<host::UdWait> wait_;
  Mesh mesh_;  // Used by pinging_ only

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<v1::MeshAssignment> order_ GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Job>> urgent_ GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Job>> jobs_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Job>> done_ GUARDED_BY(mutex_);
  // Last: they use the others. pinging_ ends first: it waits for jobs.
  std::jthread working_;
  std::jthread pinging_;
};

}  // namespace fabric::mesh
