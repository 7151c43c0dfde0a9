#include "agents/counters/sampling.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "base/mutex.h"

namespace fabric::counters {

class Sampling::Worker {
 public:
  explicit Worker(OpenMachine open) : open_(std::move(open)) {}

  // Until let go.
  void Run() {
    for (;;) {
      std::optional<CounterSets> plan;
      {
        MutexLock lock(mutex_);
        changed_.wait(lock, [&]() REQUIRES(mutex_) { return asked_ || let_go_; });
        if (let_go_) return;
        asked_ = false;
        plan = std::exchange(plan_, std::nullopt);
      }
      Sampled sampled = Do(plan);
      MutexLock lock(mutex_);
      sampled_ = std::move(sampled);
      busy_ = false;
      changed_.notify_all();
    }
  }

  void Ask(std::optional<CounterSets> plan) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    plan_ = std::move(plan);
    asked_ = busy_ = true;
    changed_.notify_all();
  }

  // True when it has ended its job; false after `patience`.
  bool AwaitEnd(Duration patience) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, patience, [&]() REQUIRES(mutex_) { return !busy_; });
  }
  Sampled Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return std::exchange(sampled_, {});
  }
  bool busy() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return busy_;
  }
  Progress& progress() { return progress_; }

  // Afterwards it is not to be touched any more. True when it will end at once.
  bool LetGo() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
    return !busy_;
  }

 private:
  Sampled Do(const std::optional<CounterSets>& plan) {
    Sampled sampled;
    if (machine_ == nullptr) {
      auto opened = open_();
      // As if there were no counters; inspections, which open it too, tell why.
      if (!opened.ok()) return {.table = CounterSets(), .values = {}};
      machine_ = *std::move(opened);
      sampler_.emplace(machine_->host(), progress_);
    }
    const bool new_table = plan && sampler_->Plan(*plan);
    const bool back = sampler_->Tick();
    if (new_table || back) sampled.table = sampler_->table();
    sampled.values.assign(sampler_->values().begin(), sampler_->values().end());
    return sampled;
  }

  const OpenMachine open_;
  Progress progress_;
  std::unique_ptr<host::HostOwner> machine_;  // Of the thread, as is the sampler
  std::optional<Sampler> sampler_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<CounterSets> plan_ GUARDED_BY(mutex_);
  Sampled sampled_ GUARDED_BY(mutex_);
  bool asked_ GUARDED_BY(mutex_) = false;
  bool busy_ GUARDED_BY(mutex_) = false;
  bool let_go_ GUARDED_BY(mutex_) = false;
};

Sampling::Sampling(SamplingOptions options, const Clock& clock, OpenMachine open)
    : options_(options), clock_(clock), open_(std::move(open)) {}

Sampling::~Sampling() {
  if (current_.worker != nullptr) LetGo(current_);
  for (Hang& hang : hangs_) LetGo(hang.thread);
}

void Sampling::StartThread() {
  auto worker = std::make_unique<Worker>(open_);
  current_.worker = worker.get();
  current_.thread = std::thread([worker = std::move(worker)] { worker->Run(); });
  planned_ = false;
}

void Sampling::LetGo(Thread& thread) {
  if (thread.worker->LetGo())
    thread.thread.join();
  else
    thread.thread.detach();
}

void Sampling::Plan(CounterSets found) {
  std::erase_if(hangs_, [](Hang& hang) {
    if (hang.thread.worker->busy()) return false;
    LetGo(hang.thread);
    return true;
  });
  found_ = std::move(found);
  planned_ = false;
}

std::optional<Sampling::Sampled> Sampling::Sample(const std::stop_token& stop) {
  while (!stop.stop_requested() || hangs_.empty()) {
    if (hangs_.size() >= options_.hanging_max) return Sampled{.table = CounterSets(), .values = {}};
    if (current_.worker == nullptr) StartThread();
    std::optional<CounterSets> plan;
    if (!std::exchange(planned_, true)) plan = Wanted();
    current_.worker->Ask(std::move(plan));
    if (AwaitEnd()) return current_.worker->Take();
    const Place place = current_.worker->progress().place();
    hangs_.push_back({.thread = std::exchange(current_, {}), .place = place});
  }
  return std::nullopt;
}

bool Sampling::AwaitEnd() const {
  Progress& progress = current_.worker->progress();
  std::uint64_t last = progress.steps();
  SteadyTime step_at = clock_.Now().steady;
  while (!current_.worker->AwaitEnd(options_.look_every)) {
    const SteadyTime now = clock_.Now().steady;
    if (std::exchange(last, progress.steps()) != progress.steps()) step_at = now;
    if (now - step_at >= options_.answer_max) return false;
  }
  return true;
}

// What was found, without what hangs.
CounterSets Sampling::Wanted() const {
  CounterSets wanted = found_;
  for (v1::CounterSet& set : wanted) {
    auto& counters = *set.mutable_counters();
    const auto hangs = [&](const v1::Counter& counter) {
      return std::any_of(hangs_.begin(), hangs_.end(), [&](const Hang& hang) {
        return hang.place == Place{.device = set.device(),
                                   .port = set.port(),
                                   .netdev = set.netdev(),
                                   .source = counter.source()};
      });
    };
    counters.erase(std::remove_if(counters.begin(), counters.end(), hangs), counters.end());
  }
  return wanted;
}

}  // namespace fabric::counters
