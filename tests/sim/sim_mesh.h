// Mesh of a simulated agent: executes the orders that the real agent forwards, one window of pings
// at a time. Simulates the queue pairs and datagrams of agents/mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::sim {

// Functions of the simulated machine. Endpoints name the machine in `remote_address`.
class MeshMachine {
 public:
  virtual ~MeshMachine() = default;
  virtual std::uint32_t number() const = 0;
  virtual Moment Now() const = 0;
  virtual void Later(Duration delay, std::function<void()> act) = 0;
  virtual void Report(const v1::AgentMessage& message) = 0;
  virtual Duration OpenTakes() = 0;
  // Result of `count` pings over one flow.
  virtual v1::FlowSummary Ping(const v1::ProbePort& from, const v1::MeshTarget& to,
                               std::uint32_t flow_label, std::uint32_t count) = 0;
};

class SimMesh {
 public:
  explicit SimMesh(MeshMachine& machine) : machine_(machine) {}

  // Replaces the order before; without ports everything is given back.
  void SetOrder(const v1::MeshAssignment& order);
  // The process has ended.
  void Vanish();

  bool idle() const { return queue_pairs_.empty(); }
  bool Answers(std::uint32_t queue_pair) const;
  std::uint64_t windows() const { return windows_; }  // Reported

 private:
  void Open();
  void Arm();
  void EndWindow();

  MeshMachine& machine_;
  v1::MeshAssignment order_;
  std::map<std::string, std::uint32_t> queue_pairs_;  // By device
  std::uint32_t next_queue_pair_ = 1;
  std::uint64_t timer_ = 0;  // Of the newest order; earlier ones are over.
  Moment began_{};
  std::uint64_t windows_ = 0;
};

}  // namespace fabric::sim
