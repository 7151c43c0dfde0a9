// Notifier: passes opened and resolved findings to receivers outside, each with a thread and a
// bounded queue of its own. It never blocks the controller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/events.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::notify {

struct Notification {
  std::string event;  // "finding_opened", "finding_resolved"
  v1::Finding finding;
  WallTime at;
};

struct Receiver {
  std::string name;
  v1::Severity min_severity = v1::SEVERITY_WARNING;
  // INVALID_ARGUMENT: the receiver refuses it, do not repeat. All other failures are repeated.
  std::function<Status(const Notification&)> send;
};

struct NotifierOptions {
  std::size_t queue_max = 1000;  // For each receiver; the oldest is dropped.
  int attempts_max = 8;
  Duration first_wait = std::chrono::seconds(1);  // Doubles with each attempt.
};

struct ReceiverCounts {
  std::string name;
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;  // Queue full, refused, or too many attempts
  std::uint64_t pending = 0;
};

class Notifier final : public control::EventListener {
 public:
  // `report` gets a line for each dropped notification, from the thread of its receiver.
  Notifier(std::vector<Receiver> receivers, std::function<void(const std::string&)> report,
           const NotifierOptions& options = {});
  ~Notifier() override;

  void OnEvent(const v1::Event& event) override;
  // Replaces the receivers. One with the name of an earlier one takes over its queue and its
  // counts; the queues of the others are dropped. Waits for the threads of the earlier ones: at
  // most as long as one attempt.
  void Replace(std::vector<Receiver> receivers) EXCLUDES(change_);
  // Drops the queues and waits for the threads: at most as long as one attempt.
  void Stop() EXCLUDES(change_);
  std::vector<ReceiverCounts> Counts() const EXCLUDES(mutex_);

 private:
  struct Line {
    Receiver receiver;
    mutable Mutex mutex;
    std::condition_variable_any wake;
    std::deque<Notification> queue GUARDED_BY(mutex);
    std::uint64_t sent GUARDED_BY(mutex) = 0;
    std::uint64_t dropped GUARDED_BY(mutex) = 0;
    bool full GUARDED_BY(mutex) = false;  // Since the last report
    std::jthread thread;
  };
  using Lines = std::vector<std::unique_ptr<Line>>;
  void Start(Lines& lines);
  void EndThreads() EXCLUDES(mutex_);
  void Run(Line& line, const std::stop_token& stop);
  // No value: interrupted.
  std::optional<bool> Deliver(Line& line, const Notification& notification,
                              const std::stop_token& stop);

  const std::function<void(const std::string&)> report_;
  const NotifierOptions options_;
  Mutex change_;  // One Replace() or Stop() at a time; before mutex_
  mutable Mutex mutex_;
  Lines lines_ GUARDED_BY(mutex_);  // Changed by Replace() alone
};

}  // namespace fabric::notify
