// Counter sampling in bounded time, even when drivers block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "agents/counters/sampler.h"
#include "agents/host/watched_worker.h"
#include "base/clock.h"

namespace fabric::counters {

struct SamplingOptions {
  Duration answer_max = std::chrono::seconds(2);  // For one reading
  Duration look_every = std::chrono::milliseconds(500);
  std::size_t hanging_max = 16;
};

// A Sampler on a WatchedWorker. After a reading blocks, the next thread omits the counters of that
// port or netdev and source from the table until the blocked thread has returned, which Plan()
// checks. Totals start again at the registers' current values.
//
// With `hanging_max` blocked threads, the table is empty.
class Sampling {
 public:
  // Called on the sampling threads: each needs its own sockets.
  using OpenMachine = std::function<Result<std::unique_ptr<host::HostOwner>>()>;

  struct Sampled {
    std::optional<CounterSets> table;  // When it has changed
    std::vector<Value> values;
  };

  Sampling(SamplingOptions options, const Clock& clock, OpenMachine open);
  ~Sampling();  // Does not wait for blocked threads.
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

  // Counters to read from the next sample on, as an inspection found them.
  void Plan(CounterSets found);

  // Reads all. Empty when stopped while a reading blocked. One thread at a time.
  std::optional<Sampled> Sample(const std::stop_token& stop = {});

  std::size_t hanging() const { return worker_.abandoned_count(); }

 private:
  struct At {
    Place place;
    std::uint64_t steps = 0;
  };
  // The work of one sampling thread. A job is a new plan, or empty to continue.
  class Task {
   public:
    using Job = std::optional<CounterSets>;
    using Output = Sampled;
    using Progress = At;

    explicit Task(OpenMachine open) : open_(std::move(open)) {}

    Sampled Run(const Job& plan);
    At progress() { return {.place = progress_.place(), .steps = progress_.steps()}; }
    void Abandon() {}

   private:
    const OpenMachine open_;
    counters::Progress progress_;
    std::unique_ptr<host::HostOwner> machine_;
    std::optional<Sampler> sampler_;
  };

  CounterSets Readable() const;

  const SamplingOptions options_;
  const Clock& clock_;
  const OpenMachine open_;
  host::WatchedWorker<Task> worker_;
  CounterSets found_;
  bool planned_ = false;  // The current thread has `found_`.
};

}  // namespace fabric::counters
