#include "agents/probe/runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agents/probe/spec.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::probe {
ProbeRunner::ProbeRunner(RunnerOptions options, host::Verbs& verbs, const Clock& clock,
                         FindDevice find_device, ProbeReports& reports)
    : options_(std::move(options)),
      verbs_(verbs),
      clock_(clock),
      find_device_(std::move(find_device)),
      reports_(reports) {}

ProbeRunner::~ProbeRunner() {
  StopAll("the agent is stopping");
  std::list<Probe> probes;
  {
    MutexLock lock(mutex_);
    probes.swap(probes_);
  }  // Joins without the lock, which their threads still take.
}

void ProbeRunner::Start(const v1::ProbeAssignment& assignment) {
  std::list<Probe> finished;  // Joined at the end of this function, without the lock
  Status admitted;
  {
    MutexLock lock(mutex_);
    finished = TakeFinished();
    admitted = Admit(assignment);
    if (admitted.ok()) {
      Probe& probe = probes_.emplace_back();
      probe.assignment = assignment;
      probe.deadline = DeadlineOf(assignment, clock_.Now().steady);
      probe.thread =
          std::jthread([this, &probe](std::stop_token stop) { Run(probe, std::move(stop)); });
    }
  }
  if (!admitted.ok()) reports_.Outcome(Refusal(assignment, admitted));
}

Status ProbeRunner::Admit(const v1::ProbeAssignment& assignment) {
  RETURN_IF_ERROR(CheckPolicy(assignment, options_.policy));
  std::vector<const RunningProbe*> running;
  for (const Probe& probe : probes_) running.push_back(&probe);
  return probe::Admit(assignment, running, options_.limits);
}

std::list<ProbeRunner::Probe> ProbeRunner::TakeFinished() {
  std::list<Probe> finished;
  for (auto at = probes_.begin(); at != probes_.end();) {
    const auto probe = at++;
    if (probe->finished) finished.splice(finished.end(), probes_, probe);
  }
  return finished;
}

void ProbeRunner::Continue(const v1::ProbeStart& start) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_)
    if (IsFor(probe, start.probe_id(), start.role())) probe.remote = start.remote();
  changed_.notify_all();
}

void ProbeRunner::Stop(const v1::ProbeStop& stop) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_) {
    if (probe.assignment.probe_id() != stop.probe_id() || probe.finished) continue;
    probe.stop_reason = stop.reason();
    probe.thread.request_stop();
  }
}

void ProbeRunner::StopAll(const std::string& reason) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_) {
    probe.stop_reason = reason;
    probe.thread.request_stop();
  }
}

bool ProbeRunner::Busy(const v1::ProbePort& port) {
  MutexLock lock(mutex_);
  return std::any_of(probes_.begin(), probes_.end(), [&](const Probe& probe) {
    return !probe.finished && SamePort(probe.assignment.local(), port);
  });
}

void ProbeRunner::Run(Probe& probe, std::stop_token stop) {
  v1::ProbeResult result = Attempt(probe, stop);
  v1::ProbeOutcome outcome;
  {
    // Frees the port before the controller gets the outcome and may assign the next probe.
    MutexLock lock(mutex_);
    probe.finished = true;
    outcome = FinalOutcome(probe, std::move(result), stop.stop_requested());
  }
  reports_.Outcome(outcome);
}

v1::ProbeResult ProbeRunner::Attempt(Probe& probe, const std::stop_token& stop) {
  v1::ProbeResult result;
  const v1::ProbeSpec& spec = probe.assignment.spec();
  const ProbeKind& kind = *FindProbeKind(ProbeKindName(spec));
  const auto fail = [&](v1::ProbeStatus status, const Status& why) {
    result.set_status(status);
    result.set_reason(why.message());
    return result;
  };
  const auto opened = Open(probe, kind, result);
  if (!opened.ok()) return fail(result.status(), opened.status());
  StallMonitor stalls;
  ProbeRun run = RunOf(probe, *opened, stop, stalls);
  if (kind.prepare != nullptr)
    if (const Status status = kind.prepare(run); !status.ok())
      return fail(status.code() == Code::kFailedPrecondition ? v1::PROBE_STATUS_REFUSED
                                                             : v1::PROBE_STATUS_SETUP_FAILED,
                  status);

  v1::ProbeReady ready;
  ready.set_probe_id(probe.assignment.probe_id());
  ready.set_role(probe.assignment.role());
  *ready.mutable_endpoint() = ToProto(opened->local);
  reports_.Ready(ready);

  v1::ProbeEndpoint remote;
  if (Status status = AwaitRemote(probe, stop, remote); !status.ok())
    return fail(v1::PROBE_STATUS_TIMED_OUT, status);
  // The kernel resolves the partner's address while it connects. A time-out there may be the fault
  // of either end or of the path.
  if (const Status status = Connect(*opened, kind, remote, run, result); !status.ok())
    return fail(status.code() == Code::kDeadlineExceeded ? v1::PROBE_STATUS_FAILED
                                                         : v1::PROBE_STATUS_SETUP_FAILED,
                status);
  const SteadyTime begun = clock_.Now().steady;
  stalls.Slept(begun);
  Execute(probe, kind, run, result);
  NameLateEnd(
      probe.assignment,
      {.stalled = stalls.stalled(), .elapsed = clock_.Now().steady - begun, .late = run.late},
      result);
  NameFailedEnd(probe.assignment, run.failed_by, result);
  return result;
}

Result<ProbeRunner::Opened> ProbeRunner::Open(const Probe& probe, const ProbeKind& kind,
                                              v1::ProbeResult& result) {
  const v1::ProbePort& local = probe.assignment.local();
  const v1::QueuePairSettings& wanted = probe.assignment.spec().queue_pair();
  result.set_status(v1::PROBE_STATUS_REFUSED);
  result.set_blamed_node(local.node());
  ASSIGN_OR_RETURN(const PortAddress address,
                   AddressFor(probe.assignment, find_device_(local.device())));
  auto opened =
      OpenOn(PortOptionsOf(local, address.gid_index, wanted), kind.needs(probe.assignment.spec()));
  if (!opened.ok()) {
    // What the device cannot do at all is refused.
    if (opened.status().code() != Code::kUnimplemented)
      result.set_status(v1::PROBE_STATUS_SETUP_FAILED);
    return opened;
  }
  if (opened->local.gid != address.gid)
    return Status(Code::kUnavailable,
                  Format("{}/{}: GID {} has changed from {} to {}", local.device(), local.port(),
                         address.gid_index, address.gid, opened->local.gid));
  if (wanted.path_mtu_bytes() > opened->local.active_mtu_bytes)
    return Status(Code::kFailedPrecondition,
                  Format("{}/{}: requested path MTU {} exceeds the active MTU {}", local.device(),
                         local.port(), wanted.path_mtu_bytes(), opened->local.active_mtu_bytes));
  result.clear_status();
  result.clear_blamed_node();
  return opened;
}

Result<ProbeRunner::Opened> ProbeRunner::OpenOn(const host::PortOptions& at, ProbeNeeds needs) {
  Opened opened;
  if (host::UdOptions* const datagrams = std::get_if<host::UdOptions>(&needs)) {
    datagrams->at = at;
    ASSIGN_OR_RETURN(opened.datagrams, verbs_.OpenUd(*datagrams));
    opened.local = opened.datagrams->local();
  } else {
    host::RcOptions& connections = std::get<host::RcOptions>(needs);
    connections.at = at;
    ASSIGN_OR_RETURN(opened.queue_pairs, verbs_.OpenRc(connections));
    opened.local = opened.queue_pairs->local();
  }
  return opened;
}

Status ProbeRunner::Connect(const Opened& opened, const ProbeKind& kind,
                            const v1::ProbeEndpoint& remote, ProbeRun& run,
                            v1::ProbeResult& result) {
  run.remote = FromProto(remote);
  run.settings =
      SettingsOf(run.spec, std::min(remote.active_mtu_bytes(), opened.local.active_mtu_bytes));
  result.set_path_mtu_bytes(run.settings.path_mtu_bytes);
  *result.mutable_used() = Used(run.settings, opened.local.gid_index, run.spec);
  if (opened.datagrams != nullptr) {
    result.mutable_used()->clear_timeout();  // Datagrams are not retransmitted.
    result.mutable_used()->clear_retry_count();
    result.mutable_used()->clear_rnr_retry();
    return {};
  }
  if (remote.memory_bytes() < opened.local.memory_bytes)
    return {Code::kFailedPrecondition,
            Format("the partner registered {} bytes of memory, expected {}", remote.memory_bytes(),
                   opened.local.memory_bytes)};
  for (std::uint32_t pair = 0; pair < opened.local.queue_pairs.size(); ++pair) {
    host::ConnectionSettings settings = run.settings;
    if (kind.tune != nullptr && !kind.tune(run.spec, pair, settings)) continue;
    *result.mutable_used() = Used(settings, opened.local.gid_index, run.spec);
    RETURN_IF_ERROR(opened.queue_pairs->Connect(pair, run.remote, settings));
  }
  return {};
}

Status ProbeRunner::AwaitRemote(Probe& probe, const std::stop_token& stop,
                                v1::ProbeEndpoint& remote) {
  Sleep(probe, probe.deadline, stop, [&] { return probe.remote.has_value(); });
  MutexLock lock(mutex_);
  if (!probe.remote)
    return {Code::kDeadlineExceeded, "the controller did not send the partner's endpoint"};
  remote = *probe.remote;
  return {};
}

ProbeRun ProbeRunner::RunOf(Probe& probe, const Opened& opened, const std::stop_token& stop,
                            StallMonitor& stalls) {
  const auto sleep = [this, &probe, &stop, &stalls](SteadyTime until) {
    Sleep(probe, until, stop, [] { return false; });
    stalls.Slept(clock_.Now().steady);
  };
  return {.spec = probe.assignment.spec(),
          .queue_pairs = opened.queue_pairs.get(),
          .datagrams = opened.datagrams.get(),
          .clock = clock_,
          .stopped =
              [this, &probe, &stop, &stalls] {
                const SteadyTime now = clock_.Now().steady;
                stalls.Working(now);
                return stop.stop_requested() || now >= probe.deadline;
              },
          .await_stop = [&probe, sleep] { sleep(probe.deadline); },
          .pause = [this, sleep](Duration time) { sleep(clock_.Now().steady + time); },
          .remote = {},
          .settings = {},
          .watch = PortWatch(probe.assignment.local(), options_.open_counters),
          .gpus = {.memory = options_.gpu_memory,
                   .find = options_.find_gpus,
                   .device = probe.assignment.local().device(),
                   .initiates = probe.assignment.role() == v1::PROBE_ROLE_INITIATOR}};
}

void ProbeRunner::Execute(Probe& probe, const ProbeKind& kind, ProbeRun& run,
                          v1::ProbeResult& result) {
  if (probe.assignment.role() == v1::PROBE_ROLE_INITIATOR) return kind.initiate(run, result);
  v1::ProbeArmed armed;
  armed.set_probe_id(probe.assignment.probe_id());
  reports_.Armed(armed);
  kind.respond(run, result);
}

void ProbeRunner::Sleep(const Probe& probe, SteadyTime until, const std::stop_token& stop,
                        const std::function<bool()>& ready) {
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && !ready()) {
    const Duration left = std::min(until, probe.deadline) - clock_.Now().steady;
    if (left <= Duration::zero()) return;
    changed_.wait_for(lock, stop, left, ready);
  }
}

}  // namespace fabric::probe
