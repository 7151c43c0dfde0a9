#include "daemon/otlp/exporter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/otlp/attributes.h"
#include "daemon/otlp/event_records.h"

namespace fabric::otlp {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kPartial: return "partial";
    case Outcome::kRetry: return "retry";
    case Outcome::kRefused: return "refused";
  }
  return "?";
}

Exporter::Exporter(ExporterOptions options, const Clock& clock, Collector& collector,
                   const control::EventBus& events, control::EventWatch watch, Collect collect,
                   Report report)
    : options_(std::move(options)),
      clock_(clock),
      collector_(collector),
      events_(events),
      watch_(std::move(watch)),
      collect_(std::move(collect)),
      report_(std::move(report)) {}

Exporter::~Exporter() {
  Stop();
}

void Exporter::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Exporter::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.request_stop();
  {
    MutexLock lock(mutex_);
    flushed_wake_.wait_for(lock, options_.flush_max, [&]() REQUIRES(mutex_) { return flushed_; });
  }
  collector_.Cancel();
  thread_.join();
}

void Exporter::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const SteadyTime due = Step();
    MutexLock lock(mutex_);
    wake_.wait_for(lock, stop, due - clock_.Now().steady, [] { return false; });
  }
  Flush();
  const MutexLock lock(mutex_);
  flushed_ = true;
  flushed_wake_.notify_all();
}

// A collector that failed is not asked again: it would delay the end of fabricd.
void Exporter::Flush() {
  if (logs_.wait == Duration::zero()) ExportEvents();
  if (metrics_.wait == Duration::zero()) ExportMetrics();
}

SteadyTime Exporter::Step() {
  if (clock_.Now().steady >= logs_.due) ExportEvents();
  if (clock_.Now().steady >= metrics_.due) ExportMetrics();
  return std::min(logs_.due, metrics_.due);
}

// A repetition sends the values of its own time: nothing waits meanwhile.
void Exporter::ExportMetrics() {
  const Moment now = clock_.Now();
  Round round;
  for (const MetricsRequest& request :
       MetricsRequests(collect_(), options_.resource,
                       {.process_started = options_.process_started,
                       .controller_started = options_.controller_started,
                       .now = now.wall},
                       options_.request_bytes_max)) {
    const Answer answer = collector_.Export(request);
    Count(metrics_, answer, PointsOf(request), round);
    if (answer.outcome != Outcome::kRetry) continue;
    End(metrics_, round);
    return Delay(metrics_, answer);
  }
  End(metrics_, round);
  metrics_.wait = {};
  metrics_.due = std::max(now.steady + options_.interval, clock_.Now().steady);
}

// A refused request also has a pause, so that fewer events are lost until the cause is removed.
void Exporter::ExportEvents() {
  Round round;
  while (true) {
    if (batch_records_ == 0) FillBatch();
    if (batch_records_ == 0) break;
    const Answer answer = collector_.Export(batch_);
    Count(logs_, answer, batch_records_, round);
    if (answer.outcome != Outcome::kRetry) batch_records_ = 0;
    if (answer.outcome != Outcome::kRetry && answer.outcome != Outcome::kRefused) {
      logs_.wait = {};
      End(logs_, std::exchange(round, {}));
      continue;
    }
    End(logs_, round);
    return Delay(logs_, answer);
  }
  logs_.due = clock_.Now().steady + options_.events_every;
}

void Exporter::FillBatch() {
  batch_.Clear();
  auto& of_resource = *batch_.add_resource_logs();
  *of_resource.mutable_resource() = options_.resource;
  auto& of_scope = *of_resource.add_scope_logs();
  AddScope(*of_scope.mutable_scope());
  std::size_t bytes = batch_.ByteSizeLong() + kRecordBytesMax;
  while (bytes + kRecordBytesMax <= options_.request_bytes_max) {
    const auto next = events_.Next(watch_);
    if (!next.event && !next.more) return;
    if (!next.event) continue;
    if (next.event->gap().has_missed()) Drop(logs_, next.event->gap().missed());
    LogRecord& record = *of_scope.add_log_records();
    record = RecordOf(*next.event, clock_.Now().wall);
    bytes += record.ByteSizeLong() + sizeof(std::uint64_t);
    ++batch_records_;
  }
}

void Exporter::Count(const Lane& lane, const Answer& answer, std::uint64_t items, Round& round) {
  const MutexLock lock(mutex_);
  SignalCounts& counts = counts_[lane.index];
  ++counts.exports[static_cast<std::size_t>(answer.outcome)];
  switch (answer.outcome) {
    case Outcome::kOk: break;
    case Outcome::kPartial:
      counts.dropped += answer.rejected;
      round.rejection = Format("{} of {} rejected: {}", answer.rejected, items, answer.reason);
      break;
    case Outcome::kRetry: round.failure = answer.reason + "; it is repeated"; break;
    case Outcome::kRefused:
      counts.dropped += items;
      round.failure = Format("{}; {} dropped", answer.reason, items);
      break;
  }
}

void Exporter::Drop(const Lane& lane, std::uint64_t items) {
  const MutexLock lock(mutex_);
  counts_[lane.index].dropped += items;
}

// Logs what has changed since the export before. A call that Stop() has cancelled did not fail.
void Exporter::End(Lane& lane, const Round& round) {
  if (stopping_) return;
  const std::string_view signal = lane.index == 0 ? "metrics" : "events";
  const bool fails = !round.failure.empty();
  if (std::exchange(lane.failing, fails) != fails)
    report_(!fails, fails ? Format("export of {} to {} fails: {}", signal, options_.collector,
                                   round.failure)
                          : Format("export of {} to {} works again", signal, options_.collector));
  const bool rejects = !round.rejection.empty();
  if (fails) return;
  if (std::exchange(lane.rejecting, rejects) != rejects)
    report_(!rejects, rejects ? Format("{} accepts {} in part: {}", options_.collector, signal,
                                       round.rejection)
                              : Format("{} accepts all {} again", options_.collector, signal));
}

void Exporter::Delay(Lane& lane, const Answer& answer) {
  lane.wait = std::clamp(lane.wait * 2, options_.first_wait, options_.wait_max);
  // Between half of it and all of it, so that controllers do not come together.
  Duration wait = Duration(std::uniform_int_distribution<Duration::rep>(
      lane.wait.count() / 2, lane.wait.count())(random_));
  if (answer.wait) wait = std::max(wait, std::min(*answer.wait, options_.asked_wait_max));
  lane.due = clock_.Now().steady + wait;
}

std::vector<SignalCounts> Exporter::Counts() const {
  const MutexLock lock(mutex_);
  return {counts_.begin(), counts_.end()};
}

}  // namespace fabric::otlp
