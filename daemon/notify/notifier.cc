#include "daemon/notify/notifier.h"

#include <utility>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::notify {
namespace {

bool SameTime(const google::protobuf::Timestamp& a, const google::protobuf::Timestamp& b) {
  return a.seconds() == b.seconds() && a.nanos() == b.nanos();
}

// Empty: a change that is not passed on.
std::string EventName(const v1::Event& event) {
  const v1::Finding& finding = event.finding();
  if (finding.verdict() != v1::VERDICT_FAIL || finding.has_silenced()) return {};
  if (finding.state() == v1::FINDING_STATE_RESOLVED) return "finding_resolved";
  // An opening is the only change at the time of the opening.
  const bool opened = SameTime(finding.opened_at(), event.at()) &&
                      SameTime(finding.changed_at(), event.at()) && !finding.has_acknowledged();
  return opened ? "finding_opened" : "";
}

// With the lines of other receivers, whose threads have ended.
template <class Lines>
void TakeOver(const Lines& lines, Lines& from) {
  for (const auto& line : lines) {
    for (const auto& old : from) {
      if (old->receiver.name != line->receiver.name) continue;
      const MutexLock theirs(old->mutex);
      const MutexLock ours(line->mutex);
      line->queue = std::move(old->queue);
      line->sent = old->sent;
      line->dropped = old->dropped;
    }
  }
}

template <class Line>
std::vector<std::unique_ptr<Line>> LinesOf(std::vector<Receiver> receivers) {
  std::vector<std::unique_ptr<Line>> lines;
  for (Receiver& receiver : receivers)
    lines.emplace_back(std::make_unique<Line>())->receiver = std::move(receiver);
  return lines;
}

}  // namespace

Notifier::Notifier(std::vector<Receiver> receivers, std::function<void(const std::string&)> report,
                   const NotifierOptions& options)
    : report_(std::move(report)), options_(options), lines_(LinesOf<Line>(std::move(receivers))) {
  Start(lines_);
}

Notifier::~Notifier() {
  Stop();
}

void Notifier::Start(Lines& lines) {
  for (const auto& line : lines)
    line->thread =
        std::jthread([this, at = line.get()](const std::stop_token& stop) { Run(*at, stop); });
}

// Without mutex_: events come meanwhile.
void Notifier::EndThreads() {
  std::vector<Line*> lines;
  {
    const MutexLock lock(mutex_);
    for (const auto& line : lines_) lines.push_back(line.get());
  }
  for (Line* const line : lines) line->thread.request_stop();
  for (Line* const line : lines)
    if (line->thread.joinable()) line->thread.join();
}

void Notifier::Replace(std::vector<Receiver> receivers) {
  Lines lines = LinesOf<Line>(std::move(receivers));
  const MutexLock one(change_);
  EndThreads();
  const MutexLock lock(mutex_);
  TakeOver(lines, lines_);
  lines_ = std::move(lines);
  Start(lines_);
}

void Notifier::Stop() {
  const MutexLock one(change_);
  EndThreads();
}

void Notifier::OnEvent(const v1::Event& event) {
  if (!event.has_finding()) return;
  const std::string name = EventName(event);
  if (name.empty()) return;
  const MutexLock all(mutex_);
  for (const auto& line : lines_) {
    if (event.finding().severity() < line->receiver.min_severity) continue;
    const MutexLock lock(line->mutex);
    if (line->queue.size() >= options_.queue_max) {
      line->queue.pop_front();
      ++line->dropped;
      line->full = true;
    }
    line->queue.push_back({.event = name, .finding = event.finding(), .at = FromProto(event.at())});
    line->wake.notify_all();
  }
}

void Notifier::Run(Line& line, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Notification next;
    bool full = false;
    {
      MutexLock lock(line.mutex);
      if (!line.wake.wait(lock, stop,
                          [&line]() REQUIRES(line.mutex) { return !line.queue.empty(); }))
        return;
      next = std::move(line.queue.front());
      line.queue.pop_front();
      full = std::exchange(line.full, false);
    }
    if (full)
      report_(Format("{}: more than {} notifications waited, the oldest are dropped",
                     line.receiver.name, options_.queue_max));
    const std::optional<bool> sent = Deliver(line, next, stop);
    const MutexLock lock(line.mutex);
    if (sent)
      ++(*sent ? line.sent : line.dropped);
    else
      line.queue.push_front(std::move(next));
  }
}

// Waits between the attempts, so that a receiver that is down does not get all at once.
std::optional<bool> Notifier::Deliver(Line& line, const Notification& notification,
                                      const std::stop_token& stop) {
  Duration wait = options_.first_wait;
  Status status;
  for (int attempt = 1; attempt <= options_.attempts_max; ++attempt) {
    status = line.receiver.send(notification);
    if (status.ok()) return true;
    if (status.code() == Code::kInvalidArgument) break;
    if (attempt == options_.attempts_max) break;
    MutexLock lock(line.mutex);
    line.wake.wait_for(lock, stop, wait, [] { return false; });
    if (stop.stop_requested()) return std::nullopt;
    wait *= 2;
  }
  report_(Format("{}: notification of {} dropped: {}", line.receiver.name,
                 notification.finding.id(), status.message()));
  return false;
}

std::vector<ReceiverCounts> Notifier::Counts() const {
  std::vector<ReceiverCounts> counts;
  const MutexLock all(mutex_);
  for (const auto& line : lines_) {
    const MutexLock lock(line->mutex);
    counts.push_back({.name = line->receiver.name,
                      .sent = line->sent,
                      .dropped = line->dropped,
                      .pending = line->queue.size()});
  }
  return counts;
}

}  // namespace fabric::notify
