#include "agents/mesh/thread.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace fabric::mesh {

MeshThread::MeshThread(host::Verbs& verbs, const Clock& clock, FindDevice find_device,
                       Mesh::Busy busy, Mesh::Send send, MeshOptions options)
    : clock_(clock),
      mesh_(options, verbs, *this, std::move(find_device), std::move(busy), std::move(send)) {}

MeshThread::~MeshThread() {
  pinging_.request_stop();
  if (wait_) wait_->Wake();
  if (pinging_.joinable()) pinging_.join();
}

void MeshThread::SetOrder(const v1::MeshAssignment& order) {
  MutexLock lock(mutex_);
  if (!wait_) {
    if (order.ports().empty()) return;
    auto wait = host::UdWait::Open();
    if (!wait.ok()) return log::Warning("mesh unavailable: {}", wait.status().message());
    wait_.emplace(*std::move(wait));
    working_ = std::jthread([this](const std::stop_token& stop) { RunJobs(stop); });
    pinging_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  order_ = order;
  wait_->Wake();
}

void MeshThread::Start(std::unique_ptr<Job> job, bool urgent) {
  MutexLock lock(mutex_);
  (urgent ? urgent_ : jobs_).push_back(std::move(job));
  changed_.notify_one();
}

void MeshThread::RunJobs(const std::stop_token& stop) {
  while (true) {
    std::unique_ptr<Job> job;
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, stop,
                    [&]() REQUIRES(mutex_) { return !urgent_.empty() || !jobs_.empty(); });
      std::deque<std::unique_ptr<Job>>& next = urgent_.empty() ? jobs_ : urgent_;
      if (next.empty()) return;
      job = std::move(next.front());
      next.pop_front();
    }
    job->Run();
    MutexLock lock(mutex_);
    done_.push_back(std::move(job));
    wait_->Wake();
  }
}

void MeshThread::TakeUpdates(Moment now) {
  std::optional<v1::MeshAssignment> order;
  std::vector<std::unique_ptr<Job>> done;
  {
    MutexLock lock(mutex_);
    order.swap(order_);
    done.swap(done_);
  }
  if (order) mesh_.SetOrder(*order, now);
  for (std::unique_ptr<Job>& job : done) mesh_.OnDone(std::move(job), now);
}

void MeshThread::Run(const std::stop_token& stop) {
  bool ending = false;
  SteadyTime planned = clock_.Now().steady;
  while (!ending || !mesh_.idle()) {
    const SteadyTime woken = clock_.Now().steady;
    mesh_.Poll(woken, std::max(woken - planned, Duration::zero()));
    if (!ending && stop.stop_requested()) {
      ending = true;
      MutexLock lock(mutex_);
      order_ = v1::MeshAssignment();
    }
    TakeUpdates(clock_.Now());
    mesh_.Step(clock_.Now());
    const SteadyTime ended = clock_.Now().steady;
    mesh_.Charge(ended, host::ThreadCpuTime());
    planned = mesh_.next_step();
    wait_->Sleep(mesh_.waiting_on(), ended, planned);
    planned = std::max(planned, ended);
  }
}

}  // namespace fabric::mesh
