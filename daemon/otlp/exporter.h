// Sends metrics and events to a collector of OTLP. The ring of the event bus is the queue: what it
// discards while the collector is down becomes a record with the number of missing events.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "daemon/control/events.h"
#include "daemon/otlp/collector.h"
#include "daemon/otlp/metric_points.h"

namespace fabric::otlp {

struct ExporterOptions {
  std::string collector = {};  // For log lines: HOST:PORT
  Resource resource = {};
  WallTime process_started = {};
  WallTime controller_started = {};
  Duration interval = std::chrono::seconds(60);  // Of metrics
  Duration events_every = std::chrono::seconds(1);
  Duration first_wait = std::chrono::seconds(1);  // After a failure; doubles with each one.
  Duration wait_max = std::chrono::seconds(60);
  Duration asked_wait_max = std::chrono::minutes(10);  // Of pauses that the collector asks for
  Duration flush_max = std::chrono::seconds(1);        // Of Stop()
  std::size_t request_bytes_max = 1 << 20;
};

struct SignalCounts {
  std::string_view signal;                    // "metrics" or "logs"
  std::array<std::uint64_t, 4> exports = {};  // Requests, by Outcome
  std::uint64_t dropped = 0;                  // Points or events
};

std::string_view OutcomeName(Outcome outcome);  // "ok", "partial", "retry", "refused"

class Exporter {
 public:
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;
  // `works` is false for a line about a failure.
  using Report = std::function<void(bool works, const std::string& line)>;

  // Everything is borrowed. Exports the events that `watch` selects.
  Exporter(ExporterOptions options, const Clock& clock, Collector& collector,
           const control::EventBus& events, control::EventWatch watch, Collect collect,
           Report report);
  ~Exporter();

  // Sends all that has reached its time. Returns when to call it again. Not while the thread runs.
  SteadyTime Step();
  // Calls Step() on a thread of its own until Stop().
  void Start();
  // Sends the last metrics and events, unless the last export failed. After flush_max it cancels
  // the call in progress. Waits for the thread.
  void Stop();

  // Safe to call from any thread.
  std::vector<SignalCounts> Counts() const;

 private:
  struct Lane {
    std::size_t index = 0;  // In counts_
    SteadyTime due = {};
    Duration wait = {};      // 0: the last export did not fail.
    bool failing = false;    // As logged
    bool rejecting = false;  // As logged
  };
  // What the requests of one export had in common with a failure.
  struct Round {
    std::string failure = {};
    std::string rejection = {};
  };

  void ExportMetrics();
  void ExportEvents();
  void FillBatch();
  void Count(const Lane& lane, const Answer& answer, std::uint64_t items, Round& round);
  void Drop(const Lane& lane, std::uint64_t items);
  void End(Lane& lane, const Round& round);
  void Delay(Lane& lane, const Answer& answer);
  void Run(const std::stop_token& stop);
  void Flush();

  const ExporterOptions options_;
  const Clock& clock_;
  Collector& collector_;
  const control::EventBus& events_;
  control::EventWatch watch_;
  const Collect collect_;
  const Report report_;
  Lane metrics_{.index = 0};
  Lane logs_{.index = 1};
  LogsRequest batch_;  // Events that the collector has not accepted yet
  std::uint64_t batch_records_ = 0;
  std::minstd_rand random_{std::random_device{}()};

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable_any flushed_wake_;
  std::array<SignalCounts, 2> counts_ GUARDED_BY(mutex_) = {SignalCounts{.signal = "metrics"},
                                                            SignalCounts{.signal = "logs"}};
  bool flushed_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

}  // namespace fabric::otlp
