// Probe runner: executes the controller's assignments and reports the outcomes. Each probe has its
// own thread from assignment to outcome; every wait in it ends at the probe's deadline.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "agents/host/verbs/verbs.h"
#include "agents/probe/admission.h"
#include "agents/probe/probe.h"
#include "agents/probe/stall_monitor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::probe {

// Receiver of reports; called from the threads of the probes and from within Start(). Must not call
// the runner.
class ProbeReports {
 public:
  virtual ~ProbeReports() = default;
  virtual void Ready(const v1::ProbeReady& ready) = 0;
  virtual void Armed(const v1::ProbeArmed& armed) = 0;
  virtual void Outcome(const v1::ProbeOutcome& outcome) = 0;  // The last report of a probe
};

struct RunnerOptions {
  ProbeLimits limits = {};
  ProbePolicy policy = {};
  OpenPortCounters open_counters = {};    // Empty: counters are not read.
  host::GpuMemory* gpu_memory = nullptr;  // Borrowed; nullptr: no access to GPUs
  FindGpus find_gpus = {};
};

// The device as the last inspection found it; empty for an unknown device. Called from any thread.
using FindDevice = std::function<std::optional<v1::RdmaDevice>(const std::string& name)>;

// Thread-safe. Everything borrowed must outlive the runner.
class ProbeRunner {
 public:
  ProbeRunner(RunnerOptions options, host::Verbs& verbs, const Clock& clock, FindDevice find_device,
              ProbeReports& reports);
  ~ProbeRunner();  // Stops all probes and waits for their outcomes.

  // Ready follows, or Outcome with a refusal; see Admit().
  void Start(const v1::ProbeAssignment& assignment);
  // The other end's address. Ignored for a finished probe.
  void Continue(const v1::ProbeStart& start);
  void Stop(const v1::ProbeStop& stop);
  void StopAll(const std::string& reason);

  // Whether a probe uses the port.
  bool Busy(const v1::ProbePort& port);

 private:
  // `remote`, `stop_reason` and `finished` are guarded by mutex_.
  struct Probe : RunningProbe {
    std::jthread thread;
  };

  struct Opened {
    std::unique_ptr<host::RcQueuePairs> queue_pairs;  // One of the two
    std::unique_ptr<host::UdQueuePairs> datagrams;
    host::Endpoint local;
  };

  Status Admit(const v1::ProbeAssignment& assignment) REQUIRES(mutex_);
  std::list<Probe> TakeFinished() REQUIRES(mutex_);
  void Run(Probe& probe, std::stop_token stop);
  v1::ProbeResult Attempt(Probe& probe, const std::stop_token& stop);
  Result<Opened> Open(const Probe& probe, const ProbeKind& kind, v1::ProbeResult& result);
  Result<Opened> OpenOn(const host::PortOptions& at, ProbeNeeds needs);
  Status AwaitRemote(Probe& probe, const std::stop_token& stop, v1::ProbeEndpoint& remote);
  Status Connect(const Opened& opened, const ProbeKind& kind, const v1::ProbeEndpoint& remote,
                 ProbeRun& run, v1::ProbeResult& result);
  ProbeRun RunOf(Probe& probe, const Opened& opened, const std::stop_token& stop,
                 StallMonitor& stalls);
  void Execute(Probe& probe, const ProbeKind& kind, ProbeRun& run, v1::ProbeResult& result);
  // Sleeps until `until`, the probe's deadline, a stop request, or `ready` (called under the lock)
  // returns true.
  void Sleep(const Probe& probe, SteadyTime until, const std::stop_token& stop,
             const std::function<bool()>& ready) EXCLUDES(mutex_);

  const RunnerOptions options_;
  host::Verbs& verbs_;
  const Clock& clock_;
  const FindDevice find_device_;
  ProbeReports& reports_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Probe> probes_ GUARDED_BY(mutex_);
};

}  // namespace fabric::probe
