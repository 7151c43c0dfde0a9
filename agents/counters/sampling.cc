#include "agents/counters/sampling.h"

#include <algorithm>
#include <utility>

#include "agents/host/thread_times.h"

namespace fabric::counters {

Sampling::Sampled Sampling::Task::Run(const Job& plan) {
  Sampled sampled;
  if (machine_ == nullptr) {
    auto opened = open_();
    // As without counters. Inspections open the machine too and report the reason.
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

Sampling::Sampling(SamplingOptions options, const Clock& clock, OpenMachine open)
    : options_(options), clock_(clock), open_(std::move(open)) {}

Sampling::~Sampling() = default;

void Sampling::Plan(CounterSets found) {
  worker_.JoinReturned();
  found_ = std::move(found);
  planned_ = false;
}

std::optional<Sampling::Sampled> Sampling::Sample(const std::stop_token& stop) {
  while (!stop.stop_requested() || hanging() == 0) {
    if (hanging() >= options_.hanging_max) return Sampled{.table = CounterSets(), .values = {}};
    if (worker_.needs_task()) {
      worker_.Start(std::make_unique<Task>(open_));
      planned_ = false;
    }
    std::optional<CounterSets> plan;
    if (!std::exchange(planned_, true)) plan = Readable();
    std::optional<std::uint64_t> last;
    host::BlockedTime reading(clock_.Now().steady);
    auto sampled = worker_.Run(std::move(plan), options_.look_every, [&](const At& at, pid_t tid) {
      const bool stepped = std::exchange(last, at.steps) != at.steps;
      (void)reading.Look(tid, stepped, clock_.Now().steady);
      return reading.Reaches(options_.answer_max);
    });
    if (sampled) return sampled;
  }
  return std::nullopt;
}

// `found_` without the counters whose reading is blocked.
CounterSets Sampling::Readable() const {
  CounterSets readable = found_;
  const std::vector<At> blocked = worker_.abandoned();
  for (v1::CounterSet& set : readable) {
    auto& counters = *set.mutable_counters();
    const auto is_blocked = [&](const v1::Counter& counter) {
      return std::any_of(blocked.begin(), blocked.end(), [&](const At& at) {
        return at.place == Place{.device = set.device(),
                                 .port = set.port(),
                                 .netdev = set.netdev(),
                                 .source = counter.source()};
      });
    };
    counters.erase(std::remove_if(counters.begin(), counters.end(), is_blocked), counters.end());
  }
  return readable;
}

}  // namespace fabric::counters
