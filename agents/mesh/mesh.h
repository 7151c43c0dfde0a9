// Mesh of the agent: pings the targets in the controller's order, answers other agents, and reports
// a summary of each window to the controller. A state machine without threads: driven by Poll() and
// Step(). Not thread-safe; slow driver calls go to a Worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agents/host/verbs/verbs.h"
#include "agents/mesh/job.h"
#include "agents/mesh/port.h"
#include "base/clock.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::mesh {

struct MeshOptions {
  // Limit of processor time, as a share of one core. The next ping waits until the share covers
  // the time used so far, but at most 3 s.
  double cost_max = 0.003;
};

class Mesh {
 public:
  using Send = std::function<void(const v1::AgentMessage& message)>;
  using Busy = std::function<bool(const v1::ProbePort& port)>;

  // Borrows all of them until it is destroyed; must be idle() then.
  Mesh(MeshOptions options, host::Verbs& verbs, Worker& worker, FindDevice find_device, Busy busy,
       Send send);

  // Replaces the order. An order without ports releases everything.
  void SetOrder(const v1::MeshAssignment& order, Moment now);
  void OnDone(std::unique_ptr<Job> job, Moment now);
  // No queue pair is open and no job runs.
  bool idle() const { return ports_.empty() && retired_.empty(); }

  // Handles completions. Call right after waking up: without a hardware clock, the time of a
  // completion is the time of this call. `late`: how much later than planned the thread woke up.
  void Poll(SteadyTime now, Duration late);
  // Does all other work that is due. A ping is posted at `now`.
  void Step(Moment now);
  // Reports the thread's processor time so far, after each step.
  void Charge(SteadyTime now, Duration processor_time);
  SteadyTime next_step() const;  // Deadline of the next Step() unless a datagram arrives
  std::vector<host::UdQueuePairs*> waiting_on() const;

 private:
  using PortName = std::pair<std::string, std::uint32_t>;

  void Check(Moment now);
  void AdaptRate(SteadyTime now);
  void SendEndpoints();
  SteadyTime PingAt() const;
  void PingDue(SteadyTime now);
  void EndWindow(Moment now);

  const MeshOptions options_;
  host::Verbs& verbs_;
  Worker& worker_;
  const FindDevice find_device_;
  const Busy busy_;
  const Send send_;

  v1::MeshAssignment order_;
  std::map<PortName, std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<Port>> retired_;  // Until idle
  std::string sent_endpoints_;                  // Last message, serialized
  PortName last_pinged_;
  double rate_ = 0;       // Limit, pings per second
  SteadyTime rate_at_{};  // Time of the last adaptation
  SteadyTime next_ping_{};
  SteadyTime ping_latest_{};  // Deadline, independent of the debt
  SteadyTime next_check_{};
  SteadyTime next_expiry_{};
  Moment window_began_{};
  SteadyTime window_ends_{};
  std::uint32_t pings_ = 0;  // In this window
  bool was_late_ = false;    // Since the last adaptation of the rate
  SteadyTime charged_at_{};
  Duration charged_{};  // Processor time at charged_at_
  Duration cpu_debt_{};
};

}  // namespace fabric::mesh
