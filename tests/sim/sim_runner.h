// Probes of a simulated agent: agents/probe/runner.h with events in place of threads and queue
// pairs. Admission, addresses and final reports use the same functions as the real runner
// (agents/probe/admission.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/probe/admission.h"
#include "agents/probe/port_watch.h"
#include "base/clock.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::sim {

// Functions of the simulated machine. Endpoints name the machine in `remote_address` and its probe
// in `remote_key`, so that each end connects to the intended peer.
class ProbeMachine {
 public:
  virtual ~ProbeMachine() = default;
  virtual std::uint32_t number() const = 0;
  virtual SteadyTime SteadyNow() const = 0;  // Its own clock
  // Unless the process ends before; later when it stands still then.
  virtual void Later(Duration delay, std::function<void()> act) = 0;
  virtual std::optional<v1::RdmaDevice> FindDevice(const std::string& name) const = 0;
  virtual void Report(const v1::AgentMessage& message) = 0;
  // Result at the initiator.
  virtual v1::ProbeResult Measure(const v1::ProbeAssignment& assignment,
                                  const v1::ProbeEndpoint& remote) = 0;
  // Current durations.
  virtual Duration OpenTakes() = 0;
  virtual Duration ProbeTakes(const v1::ProbeSpec& spec, bool ok) = 0;
  virtual Duration CloseTakes() = 0;
  // How long its processes did not run since then, by its own clock.
  virtual Duration AwaySince(SteadyTime then) const = 0;
  // Its counters of that port
  virtual probe::PortWatch Watch(const v1::ProbePort& port) = 0;
  // Sends at full speed for this time.
  virtual void BeginBurst(const v1::ProbeAssignment& assignment, Duration how_long) = 0;
  // Queue pairs of this probe are there from now on, or not any more.
  virtual void OnQueuePairs(const v1::ProbeAssignment& assignment, bool open) = 0;
};

class SimRunner {
 public:
  static constexpr probe::ProbeLimits kLimits = {};

  explicit SimRunner(ProbeMachine& machine) : machine_(machine) {}

  void Start(const v1::ProbeAssignment& assignment);
  void Continue(const v1::ProbeStart& start);
  void Stop(const v1::ProbeStop& stop);
  void StopAll(const std::string& reason);
  // The process has ended and the kernel takes back what it held.
  void Vanish();

  bool Answers(std::uint32_t key) const;  // The responder of this key is connected.
  // Probes that hold their queue pairs; their assignments and how long they had.
  struct Held {
    std::uint64_t probe_id;
    SteadyTime deadline;
  };
  std::vector<Held> held() const;

 private:
  enum class Phase { kOpening, kWaiting, kConnecting, kRunning, kResponding, kEnding };
  struct Probe : probe::RunningProbe {
    Phase phase = Phase::kOpening;
    SteadyTime begun;             // To run
    probe::PortWatch watch = {};  // Of an incast
    bool stopped = false;
    bool late = false;
    v1::ProbeResult result = {};
  };
  using Key = std::uint32_t;

  Probe* Find(Key key);  // nullptr: it is over.
  void Opened(Key key);
  void Connect(Key key);
  void Connected(Key key);
  void Run(Key key, const Probe& probe);
  void Burst(Key key, const Probe& probe);
  void Interrupt(Key key, Probe& probe);
  void NameLateEnd(const Probe& probe, v1::ProbeResult& result) const;
  void End(Key key, v1::ProbeStatus status, const std::string& reason);
  void End(Key key, v1::ProbeResult result);

  ProbeMachine& machine_;
  std::map<Key, Probe> probes_;
  Key next_ = 1;
};

}  // namespace fabric::sim
