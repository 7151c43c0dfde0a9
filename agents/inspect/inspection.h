// Inspection of the machine in bounded time, even when drivers block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "agents/host/call_watch.h"
#include "agents/host/watched_worker.h"
#include "agents/inspect/inspector.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace fabric::inspect {

struct InspectionOptions {
  std::string node_name;
  std::span<const Inspector* const> inspectors = AllInspectors();
  bool captured = false;  // A captured tree: no time limits, because reading files is only slow.
  Duration answer_max = std::chrono::seconds(2);      // For one call
  Duration inspector_max = std::chrono::seconds(10);  // For one inspector
  Duration look_every = std::chrono::milliseconds(50);
  std::size_t hanging_max = 16;
};

// Inspects on a WatchedWorker. After a call blocks, the next thread inspects from the start without
// that call. After two blocked calls about one device, all calls about that device are avoided. An
// inspector that blocks outside of a known call is skipped. Each blocked call or inspector is a gap
// DEADLINE_EXCEEDED until its thread returns; inspections for EventKind::kCheck look for that. Time
// in which the thread runs or waits for a processor does not count for a call (BlockedTime).
//
// With `hanging_max` blocked threads, inspection is suspended.
class Inspection {
 public:
  // Called on the inspecting threads: each needs its own sockets.
  using OpenMachine = std::function<Result<std::unique_ptr<host::HostOwner>>()>;

  Inspection(InspectionOptions options, const Clock& clock, OpenMachine open);
  ~Inspection();  // Does not wait for blocked threads.
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Inspects after `events`. Empty when stopped while a call blocked. One thread at a time.
  std::optional<v1::NodeSnapshot> Inspect(EventSet events, const std::stop_token& stop = {});

  // Blocked threads as of the last inspection.
  std::size_t hanging() const { return worker_.abandoned_count(); }

 private:
  struct Job {
    EventSet events;
    WallTime now;
    std::optional<v1::NodeSnapshot> previous;
    std::vector<std::string> avoided_inspectors;
    std::vector<std::string> avoided_calls;
  };
  struct Progress {
    host::CallWatch::Progress calls;
    std::string inspector;
  };
  // The work of one inspecting thread.
  class Task {
   public:
    using Job = Inspection::Job;
    using Output = v1::NodeSnapshot;
    using Progress = Inspection::Progress;

    Task(const InspectionOptions& options, OpenMachine open)
        : options_(options), open_(std::move(open)) {}

    v1::NodeSnapshot Run(Job job) EXCLUDES(mutex_);
    Progress progress() EXCLUDES(mutex_);
    void Abandon() { watch_.AvoidAll(); }

   private:
    const InspectionOptions options_;
    const OpenMachine open_;
    host::CallWatch watch_;
    std::unique_ptr<host::HostOwner> machine_;  // Used by the thread only

    Mutex mutex_;
    std::string inspector_ GUARDED_BY(mutex_);  // Current one
  };

  std::optional<v1::NodeSnapshot> RunJob(Job job);
  std::vector<std::string> CallsToAvoid() const;
  std::vector<std::string> InspectorsToAvoid() const;
  void AddGaps(v1::NodeSnapshot& snapshot) const;
  v1::NodeSnapshot Suspended() const;

  const InspectionOptions options_;
  const Clock& clock_;
  const OpenMachine open_;
  host::WatchedWorker<Task> worker_;
  std::optional<v1::NodeSnapshot> last_;
};

}  // namespace fabric::inspect
