#include "agents/inspect/inspection.h"

#include <algorithm>
#include <utility>

#include "agents/host/thread_times.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

// Blocked calls of one inspector before it is skipped.
constexpr std::ptrdiff_t kBlockedCallsMax = 4;

// Whether `gap` reports the blocked `call`: by its path, or by inspector and device.
bool Reports(const v1::Gap& gap, std::string_view inspector, const std::string& call) {
  if (gap.code() != v1::GAP_CODE_DEADLINE_EXCEEDED) return false;
  if (!gap.path().empty() && call.ends_with("/" + gap.path())) return true;
  return gap.inspector() == inspector && host::DeviceOfCall(call) == gap.subject() + "/";
}

}  // namespace

v1::NodeSnapshot Inspection::Task::Run(Job job) {
  {
    MutexLock lock(mutex_);
    inspector_.clear();
  }
  watch_.Avoid(std::move(job.avoided_calls));
  const host::CallWatch::Here here(watch_);
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
                                             .blocked = job.avoided_inspectors,
                                             .begins = [this](const Inspector& inspector) {
                                               MutexLock lock(mutex_);
                                               inspector_ = inspector.name;
                                             }});
}

Inspection::Progress Inspection::Task::progress() {
  Progress progress{.calls = watch_.progress(), .inspector = {}};
  MutexLock lock(mutex_);
  progress.inspector = inspector_;
  return progress;
}

Inspection::Inspection(InspectionOptions options, const Clock& clock, OpenMachine open)
    : options_(std::move(options)), clock_(clock), open_(std::move(open)) {}

Inspection::~Inspection() = default;

std::optional<v1::NodeSnapshot> Inspection::Inspect(EventSet events, const std::stop_token& stop) {
  if (events.Has(EventKind::kCheck)) worker_.JoinReturned();
  while (!stop.stop_requested() || hanging() == 0) {
    if (hanging() >= options_.hanging_max) return Suspended();
    Job job{.events = events,
            .now = clock_.Now().wall,
            .previous = {},
            .avoided_inspectors = InspectorsToAvoid(),
            .avoided_calls = CallsToAvoid()};
    const bool partly = !(events == EventSet::All());
    if (partly) job.previous = last_;
    auto snapshot = RunJob(std::move(job));
    if (!snapshot) continue;
    AddGaps(*snapshot);
    last_ = std::move(snapshot);
    return last_;
  }
  return std::nullopt;
}

std::optional<v1::NodeSnapshot> Inspection::RunJob(Job job) {
  if (worker_.needs_task()) worker_.Start(std::make_unique<Task>(options_, open_));
  Progress last;
  host::BlockedTime call(clock_.Now().steady);
  Duration inspector{};
  return worker_.Run(std::move(job), options_.look_every, [&](const Progress& progress, pid_t tid) {
    const bool next = progress.inspector != last.inspector;
    const bool stepped = next || progress.calls.steps != last.calls.steps;
    const Duration passed = call.Look(tid, stepped, clock_.Now().steady);
    inspector = next ? Duration() : inspector + passed;
    last = progress;
    const bool slow = call.confirmed() && inspector >= options_.inspector_max;
    return !options_.captured && (slow || call.Reaches(options_.answer_max));
  });
}

std::vector<std::string> Inspection::CallsToAvoid() const {
  std::vector<std::string> calls;
  std::vector<std::string> devices;
  for (const Progress& blocked : worker_.abandoned()) {
    if (blocked.calls.call.empty()) continue;
    calls.push_back(blocked.calls.call);
    std::string device = host::DeviceOfCall(blocked.calls.call);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      calls.push_back(device);
    else
      devices.push_back(std::move(device));
  }
  return calls;
}

std::vector<std::string> Inspection::InspectorsToAvoid() const {
  std::vector<std::string> inspectors;
  const std::vector<Progress> all = worker_.abandoned();
  for (const Progress& blocked : all) {
    const auto same = [&](const Progress& other) { return other.inspector == blocked.inspector; };
    if (blocked.calls.call.empty() ||
        std::count_if(all.begin(), all.end(), same) >= kBlockedCallsMax)
      inspectors.push_back(blocked.inspector);
  }
  return inspectors;
}

// Inspectors may treat the failure of an avoided call as an absent value and report no gap.
void Inspection::AddGaps(v1::NodeSnapshot& snapshot) const {
  for (const Progress& blocked : worker_.abandoned()) {
    const std::string& call = blocked.calls.call;
    if (call.empty()) continue;  // Inspect() has added a gap.
    if (std::none_of(snapshot.gaps().begin(), snapshot.gaps().end(),
                     [&](const v1::Gap& gap) { return Reports(gap, blocked.inspector, call); }))
      AddGap(snapshot, blocked.inspector, "",
             std::string_view(call).substr(call.starts_with('/') ? 1 : 0),
             Status(Code::kDeadlineExceeded, "the driver does not answer"));
  }
}

v1::NodeSnapshot Inspection::Suspended() const {
  v1::NodeSnapshot snapshot;
  if (last_) *snapshot.mutable_node() = last_->node();
  if (snapshot.node().name().empty()) snapshot.mutable_node()->set_name(options_.node_name);
  *snapshot.mutable_taken_at() = ToProto(clock_.Now().wall);
  AddGap(snapshot, "", "", "",
         Status(Code::kResourceExhausted,
                Format("inspection suspended: {} driver calls are blocked", hanging())));
  return snapshot;
}

}  // namespace fabric::inspect
