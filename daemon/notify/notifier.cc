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

}  // namespace

Notifier::Notifier(std::vector<Receiver> receivers, std::function<void(const std::string&)> report,
                   const NotifierOptions& options)
    : report_(std::move(report)), options_(options) {
  for (Receiver& receiver : receivers) {
    auto line = std::make_unique<Line>();
    line->receiver = std::move(receiver);
    lines_.push_back(std::move(line));
  }
  for (const auto& line : lines_)
    line->thread =
        std::jthread([this, at = line.get()](const std::stop_token& stop) { Run(*at, stop); });
}

Notifier::~Notifier() {
  Stop();
}

void Notifier::Stop() {
  for (const auto& line : lines_) line->thread.request_stop();
  for (const auto& line : lines_)
    if (line->thread.joinable()) line->thread.join();
}

void Notifier::OnEvent(const v1::Event& event) {
  if (!event.has_finding()) return;
  const std::string name = EventName(event);
  if (name.empty()) return;
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
    const bool sent = Deliver(line, next, stop);
    const MutexLock lock(line.mutex);
    ++(sent ? line.sent : line.dropped);
  }
}

// Waits between the attempts, so that a receiver that is down does not get all at once.
bool Notifier::Deliver(Line& line, const Notification& notification, const std::stop_token& stop) {
  Duration wait = options_.first_wait;
  Status status;
  for (int attempt = 1; attempt <= options_.attempts_max; ++attempt) {
    status = line.receiver.send(notification);
    if (status.ok()) return true;
    if (status.code() == Code::kInvalidArgument) break;
    if (attempt == options_.attempts_max) break;
    MutexLock lock(line.mutex);
    line.wake.wait_for(lock, stop, wait, [] { return false; });
    if (stop.stop_requested()) return false;
    wait *= 2;
  }
  report_(Format("{}: notification of {} dropped: {}", line.receiver.name,
                 notification.finding.id(), status.message()));
  return false;
}

std::vector<ReceiverCounts> Notifier::Counts() const {
  std::vector<ReceiverCounts> counts;
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
