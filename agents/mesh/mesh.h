// The agent's part of the mesh as a state machine: pings what the controller's order names, answers
// others, tells the controller what each window of pings came to. Raw pings stay here. Driven by
// Look() and Step(), given the time; one thread, but for the jobs that it hands to a Worker.
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
  // What the mesh may cost, as a part of one core: the next ping waits until the ones
  // before are paid for, but for no more than three seconds.
  double cost_max = 0.003;
};

class Mesh {
 public:
  using Send = std::function<void(const v1::AgentMessage& message)>;
  using Busy = std::function<bool(const v1::ProbePort& port)>;

  // All are borrowed or called until it is destroyed; it must be idle() then.
  Mesh(MeshOptions options, host::Verbs& verbs, Worker& worker, FindDevice find_device, Busy busy,
       Send send);

  // Replaces the order before. Without ports: everything is given back.
  void SetOrder(const v1::MeshOrder& order, Moment now);
  void OnDone(std::unique_ptr<Job> job, Moment now);
  // Nothing of it is left: no queue pair, no memory, no job.
  bool idle() const { return ports_.empty() && retired_.empty(); }

  // Takes what has come, as soon as somebody is awake: software tells the time of it now. `late`:
  // nobody looked for so much longer than was planned.
  void Look(SteadyTime now, Duration late);
  // Then does what is due. A ping is posted at `now`.
  void Step(Moment now);
  // What the thread has cost until now, all in all; only differences count. After each step.
  void Charge(SteadyTime now, Duration cost);
  SteadyTime next_step() const;  // At the latest, if no datagram comes
  std::vector<host::UdQueuePairs*> waiting_on() const;

 private:
  using PortName = std::pair<std::string, std::uint32_t>;

  void Check(Moment now);
  void AdaptRate(SteadyTime now);
  void TellEndpoints();
  SteadyTime PingAt() const;
  void PingDue(SteadyTime now);
  void EndWindow(Moment now);

  const MeshOptions options_;
  host::Verbs& verbs_;
  Worker& worker_;
  const FindDevice find_device_;
  const Busy busy_;
  const Send send_;

  v1::MeshOrder order_;
  std::map<PortName, std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<Port>> retired_;  // On their way out
  std::string told_;                            // Of the endpoints, serialized
  PortName turn_;                               // Whose ping was the last one
  double rate_ = 0;                             // At most
  SteadyTime rate_at_{};                        // When it was adapted
  SteadyTime next_ping_{};
  SteadyTime silence_ends_{};
  SteadyTime next_check_{};
  SteadyTime next_expiry_{};
  Moment window_began_{};
  SteadyTime window_ends_{};
  std::uint32_t pings_ = 0;  // In this window
  bool was_late_ = false;    // Since the rate was adapted
  SteadyTime charged_at_{};
  Duration cost_{};  // Until then
  Duration owed_{};
};

}  // namespace fabric::mesh
