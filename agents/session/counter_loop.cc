#include "agents/session/counter_loop.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace fabric::agent {
namespace {

constexpr Duration kAwaitInspection = std::chrono::milliseconds(50);

// Waits until `until`, or until asked to stop.
void Pause(const std::stop_token& stop, Duration duration) {
  Mutex mutex;
  std::condition_variable_any never;
  MutexLock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
}

// What is known from one sample to the next.
struct State {
  counters::Table table;
  bool planned = false;
};

// False when there is nothing to read yet, or when it was asked to stop.
bool SampleOnce(const CounterLoop& loop, State& state, const std::stop_token& stop) {
  if (auto found = loop.shared.TakeFoundCounters()) {
    loop.sampling.Plan(*std::move(found));
    state.planned = true;
  }
  if (!state.planned) return false;
  auto sampled = loop.sampling.Sample(stop);
  if (!sampled) return false;
  if (sampled->table) {
    ++state.table.number;
    state.table.sets = *std::move(sampled->table);
    loop.shared.SetCounterTable(state.table);
    loop.deliver_table(state.table);
  }
  counters::Sample sample{.table = state.table.number,
                          .taken_at = loop.clock.Now().wall,
                          .values = std::move(sampled->values)};
  loop.deliver_sample(sample);
  loop.shared.SetCounterSample(std::move(sample));
  return true;
}

}  // namespace

void CounterLoop::Run(const std::stop_token& stop) {
  State state;
  SteadyTime next = clock.Now().steady;
  while (!stop.stop_requested()) {
    const std::size_t hanging = sampling.hanging();
    const bool sampled = SampleOnce(*this, state, stop);
    if (sampling.hanging() > hanging)
      log::Warning("counters that do not come are left out: {} calls into drivers hang",
                   sampling.hanging());
    const SteadyTime now = clock.Now().steady;
    // A second that was missed is not made up for.
    next = std::max(next + (sampled ? interval : kAwaitInspection), now);
    Pause(stop, next - now);
  }
}

}  // namespace fabric::agent
