// The threads of the mesh: one that pings and answers and sleeps in between, one for jobs. They
// begin with the first order that names ports.
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

// Safe to call from any thread. Everything borrowed must outlive it; what it was given to call is
// called from its own threads.
class MeshThread final : public Worker {
 public:
  MeshThread(host::Verbs& verbs, const Clock& clock, FindDevice find_device, Mesh::Busy busy,
             Mesh::Send send, MeshOptions options = {});
  ~MeshThread() override;  // Gives everything back first.

  // The newest order counts.
  void SetOrder(const v1::MeshOrder& order);

  void Start(std::unique_ptr<Job> job, bool urgent) override;  // For Mesh

 private:
  void Run(const std::stop_token& stop);
  void RunJobs(const std::stop_token& stop);
  void TakeNews(Moment now);

  const Clock& clock_;
  std::optional<host::UdWait> wait_;
  Mesh mesh_;  // Of the thread alone

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<v1::MeshOrder> order_ GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Job>> urgent_ GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Job>> jobs_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Job>> done_ GUARDED_BY(mutex_);
  // Last: they use the others. The one for jobs ends after the other one.
  std::jthread working_;
  std::jthread looking_;
};

}  // namespace fabric::mesh
