// Samples that come, whatever drivers do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agents/counters/sampler.h"
#include "base/clock.h"

namespace fabric::counters {

struct SamplingOptions {
  Duration answer_max = std::chrono::seconds(2);  // What has not been read for so long hangs.
  Duration look_every = std::chrono::milliseconds(500);
  std::size_t hanging_max = 16;
};

// A Sampler on a thread of its own. When a reading does not return, its thread is left behind with
// all that it was working on, and another one goes on without the counters of that port or netdev
// and source, which are then not in the table; until that thread has come back, for which each new
// plan looks. Totals begin with what registers hold then.
//
// Threads that were left behind cannot be ended. With `hanging_max` of them nothing is read any
// more: the table is empty. A program with some left must not end through main().
class Sampling {
 public:
  // Called on the sampling threads: each needs sockets of its own.
  using OpenMachine = std::function<Result<std::unique_ptr<host::HostOwner>>()>;

  struct Sampled {
    std::optional<CounterSets> table;  // When it is another one than before
    std::vector<Value> values;
  };

  Sampling(SamplingOptions options, const Clock& clock, OpenMachine open);
  ~Sampling();  // Does not wait for what hangs.
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

  // What an inspection has found is what is read from the next time on.
  void Plan(CounterSets found);

  // Reads all. Nothing, when asked to stop while something hung. One thread at a time.
  std::optional<Sampled> Sample(const std::stop_token& stop = {});

  std::size_t hanging() const { return hangs_.size(); }

 private:
  class Worker;
  struct Thread {  // The worker belongs to its thread, and is there until it is let go.
    Worker* worker = nullptr;
    std::thread thread;
  };
  struct Hang {
    Thread thread;
    Place place;
  };

  void StartThread();
  static void LetGo(Thread& thread);
  bool AwaitEnd() const;  // False when it hangs.
  CounterSets Wanted() const;

  const SamplingOptions options_;
  const Clock& clock_;
  const OpenMachine open_;
  Thread current_;
  std::vector<Hang> hangs_;
  CounterSets found_;
  bool planned_ = false;  // The current worker has been told of `found_`
};

}  // namespace fabric::counters
