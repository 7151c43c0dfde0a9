#include "agents/inspect/inspection.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "agents/host/call_watch.h"
#include "base/mutex.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

// So many calls of one inspector may hang before it is not run any more.
constexpr std::ptrdiff_t kHangsOfInspectorMax = 4;

}  // namespace

class Inspection::Worker {
 public:
  struct Job {
    EventSet events;
    WallTime now;
    std::optional<v1::NodeSnapshot> previous;
    std::vector<std::string> hanging;  // Inspectors
  };
  struct Progress {
    host::CallWatch::Progress calls;
    std::string inspector;
  };

  Worker(InspectionOptions options, OpenMachine open)
      : options_(std::move(options)), open_(std::move(open)) {}

  // Until let go.
  void Run() {
    const host::CallWatch::Here here(watch_);
    for (;;) {
      Job job;
      {
        MutexLock lock(mutex_);
        changed_.wait(lock, [&]() REQUIRES(mutex_) { return job_ || let_go_; });
        if (let_go_) return;
        job = *std::exchange(job_, std::nullopt);
      }
      v1::NodeSnapshot snapshot = Do(job);
      MutexLock lock(mutex_);
      result_ = std::move(snapshot);
      busy_ = false;
      changed_.notify_all();
    }
  }

  void Start(Job job, std::vector<std::string> avoided_calls) EXCLUDES(mutex_) {
    watch_.Avoid(std::move(avoided_calls));
    MutexLock lock(mutex_);
    job_ = std::move(job);
    busy_ = true;
    inspector_.clear();
    changed_.notify_all();
  }

  // True when it has ended its job; false after `patience`.
  bool AwaitEnd(Duration patience) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, patience, [&]() REQUIRES(mutex_) { return !busy_; });
  }
  // What it is at, when it is left behind: nothing else is asked for it.
  Progress Abandon() EXCLUDES(mutex_) {
    watch_.AvoidAll();
    return progress();
  }
  bool busy() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return busy_;
  }
  v1::NodeSnapshot TakeResult() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return *std::exchange(result_, std::nullopt);
  }
  Progress progress() EXCLUDES(mutex_) {
    Progress progress{.calls = watch_.progress()};
    MutexLock lock(mutex_);
    progress.inspector = inspector_;
    return progress;
  }

  // Afterwards it is not to be touched any more. True when it will end at once.
  bool LetGo() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
    return !busy_;
  }

 private:
  v1::NodeSnapshot Do(Job& job) {
    if (machine_ == nullptr) {
      auto opened = open_();
      if (!opened.ok()) {
        v1::NodeSnapshot nothing;
        nothing.mutable_node()->set_name(options_.node_name);
        *nothing.mutable_taken_at() = ToProto(job.now);
        AddGap(nothing, "", "", "", opened.status());
        return nothing;
      }
      machine_ = *std::move(opened);
    }
    return inspect::Inspect(machine_->host(), {.node_name = options_.node_name,
                                               .now = job.now,
                                               .inspectors = options_.inspectors,
                                               .events = job.events,
                                               .previous = job.previous ? &*job.previous : nullptr,
                                               .hanging = job.hanging,
                                               .begins = [this](const Inspector& inspector) {
                                                 MutexLock lock(mutex_);
                                                 inspector_ = inspector.name;
                                               }});
  }

  const InspectionOptions options_;
  const OpenMachine open_;
  host::CallWatch watch_;
  std::unique_ptr<host::HostOwner> machine_;  // Of the thread

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Job> job_ GUARDED_BY(mutex_);
  std::optional<v1::NodeSnapshot> result_ GUARDED_BY(mutex_);
  std::string inspector_ GUARDED_BY(mutex_);  // That runs
  bool busy_ GUARDED_BY(mutex_) = false;
  bool let_go_ GUARDED_BY(mutex_) = false;
};

Inspection::Inspection(InspectionOptions options, const Clock& clock, OpenMachine open)
    : options_(std::move(options)), clock_(clock), open_(std::move(open)) {}

Inspection::~Inspection() {
  if (current_.worker != nullptr) LetGo(current_);
  for (Hang& hang : hangs_) LetGo(hang.thread);
}

void Inspection::StartThread() {
  auto worker = std::make_unique<Worker>(options_, open_);
  current_.worker = worker.get();
  current_.thread = std::thread([worker = std::move(worker)] { worker->Run(); });
}

void Inspection::LetGo(Thread& thread) {
  if (thread.worker->LetGo())
    thread.thread.join();
  else
    thread.thread.detach();
}

std::optional<v1::NodeSnapshot> Inspection::Inspect(EventSet events, const std::stop_token& stop) {
  if (events.Has(EventKind::kCheck)) ForgetThoseThatCameBack();
  while (!stop.stop_requested() || hangs_.empty()) {
    if (hangs_.size() >= options_.hanging_max) return NothingInspected();
    if (current_.worker == nullptr) StartThread();
    Worker::Job job{.events = events, .now = clock_.Now().wall, .hanging = InspectorsToAvoid()};
    const bool partly = !(events == EventSet::All());
    if (partly) job.previous = last_;
    current_.worker->Start(std::move(job), CallsToAvoid());
    if (!AwaitEnd()) {
      LeaveBehind();
      continue;
    }
    last_ = current_.worker->TakeResult();
    AddGaps(*last_);
    return last_;
  }
  return std::nullopt;
}

bool Inspection::AwaitEnd() const {
  Worker::Progress last;
  SteadyTime step_at = clock_.Now().steady;
  SteadyTime begun_at = step_at;  // Of the inspector
  while (!current_.worker->AwaitEnd(options_.look_every)) {
    const SteadyTime now = clock_.Now().steady;
    const Worker::Progress progress = current_.worker->progress();
    const bool next = progress.inspector != last.inspector;
    if (next) begun_at = now;
    if (next || progress.calls.steps != last.calls.steps) step_at = now;
    last = progress;
    if (now - step_at >= options_.answer_max || now - begun_at >= options_.inspector_max)
      return false;
  }
  return true;
}

void Inspection::LeaveBehind() {
  const Worker::Progress progress = current_.worker->Abandon();
  hangs_.push_back({.thread = std::exchange(current_, {}),
                    .inspector = progress.inspector,
                    .call = progress.calls.call});
}

void Inspection::ForgetThoseThatCameBack() {
  std::erase_if(hangs_, [](Hang& hang) {
    if (hang.thread.worker->busy()) return false;
    LetGo(hang.thread);
    return true;
  });
}

std::vector<std::string> Inspection::CallsToAvoid() const {
  std::vector<std::string> calls;
  std::vector<std::string> devices;
  for (const Hang& hang : hangs_) {
    if (hang.call.empty()) continue;
    calls.push_back(hang.call);
    std::string device = host::DeviceOfCall(hang.call);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      calls.push_back(device);
    else
      devices.push_back(std::move(device));
  }
  return calls;
}

std::vector<std::string> Inspection::InspectorsToAvoid() const {
  std::vector<std::string> inspectors;
  for (const Hang& hang : hangs_) {
    const auto is_of_it = [&](const Hang& other) { return other.inspector == hang.inspector; };
    if (hang.call.empty() ||
        std::count_if(hangs_.begin(), hangs_.end(), is_of_it) >= kHangsOfInspectorMax)
      inspectors.push_back(hang.inspector);
  }
  return inspectors;
}

// An inspector may have taken the failure of a call for the absence of what was asked for.
void Inspection::AddGaps(v1::NodeSnapshot& snapshot) const {
  for (const Hang& hang : hangs_) {
    if (hang.call.empty()) continue;  // The runner has said it.
    const auto tells = [&](const v1::Gap& gap) {
      return gap.code() == v1::GAP_CODE_DEADLINE_EXCEEDED &&
             (hang.call.ends_with("/" + gap.path()) || gap.reason().starts_with(hang.call));
    };
    if (std::any_of(snapshot.gaps().begin(), snapshot.gaps().end(), tells)) continue;
    AddGap(snapshot, hang.inspector, "", "",
           Status(Code::kDeadlineExceeded, hang.call + ": the driver does not answer"));
  }
}

v1::NodeSnapshot Inspection::NothingInspected() const {
  v1::NodeSnapshot snapshot;
  if (last_) *snapshot.mutable_node() = last_->node();
  if (snapshot.node().name().empty()) snapshot.mutable_node()->set_name(options_.node_name);
  *snapshot.mutable_taken_at() = ToProto(clock_.Now().wall);
  AddGap(snapshot, "", "", "",
         Status(Code::kResourceExhausted,
                Format("{} calls into drivers do not answer: nothing is inspected any more",
                       hangs_.size())));
  return snapshot;
}

}  // namespace fabric::inspect
