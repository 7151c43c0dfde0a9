// Mesh port: pings its targets in rotation and answers the pings of other ports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/verbs/verbs.h"
#include "agents/mesh/gid.h"
#include "agents/mesh/job.h"
#include "agents/mesh/responder.h"
#include "agents/mesh/target.h"
#include "agents/probe/port_choice.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::mesh {

// The device as the last inspection found it; empty for an unknown device.
using FindDevice = std::function<std::optional<v1::RdmaDevice>(const std::string& name)>;

// Exists from the first order that names the port until Retire() and idle(). Queue pairs are opened
// and closed by jobs, because drivers may block for seconds:
//
//              Check(): port usable              job: opened
//   kClosed ------------------------> kOpening ----------------> kOpen
//     ^  ^                               |                         |  Close(): driver error, new
//     GID, |  +------- job: failed -----------+                         |  new settings, port not
//     usable, |                                                            v  or Retire()
//     +--------- job: closed, after all other jobs ------------ kClosing
//
// After a failure, kClosed lasts at least 5 s. Jobs that create address handles borrow the queue
// pairs: closing waits for them. Not thread-safe: all calls, and Job::Finish(), are on one thread.
class Port {
 public:
  struct Environment {
    host::Verbs& verbs;
    Worker& worker;
    const FindDevice& find_device;
    // Whether a probe of a campaign runs on the port: then the port answers but does not ping.
    const std::function<bool(const v1::ProbePort&)>& busy;
  };
  Port(v1::ProbePort at, Environment environment) : at_(std::move(at)), environment_(environment) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Targets that the new order repeats keep their statistics and address handles.
  void SetOrder(const v1::MeshPortAssignment& order, const v1::MeshAssignment& whole,
                SteadyTime now);
  // Closes for good.
  void Retire();
  // No queue pair is open and no job runs: the port can be destroyed.
  bool idle() const { return state_ == State::kClosed; }

  // Opens or closes the queue pairs as the device allows. Call about once a second.
  void Check(SteadyTime now);
  // Pings the next target of the rotation. True when a ping was sent.
  bool Ping(SteadyTime now);
  // Handles all completions. `late`: the thread polled later than planned.
  void Take(SteadyTime now, bool late);
  // Take(), then requests an event for the next completion.
  void TakeAndArm(SteadyTime now);
  // Unanswered pings do not count as lost: the thread did not poll for too long.
  void MarkUnreliable();
  void Expire(SteadyTime now);

  v1::MeshEndpoint Endpoint() const;
  void TakeWindow(v1::MeshWindow& window);
  // nullptr unless open.
  host::UdQueuePairs* datagrams() const { return open() ? datagrams_.get() : nullptr; }
  std::uint32_t flows() const { return static_cast<std::uint32_t>(rotation_.size()); }

 private:
  class OpenPairs;
  class ClosePairs;
  class CreateAddressHandles;
  enum class State { kClosed, kOpening, kOpen, kClosing };
  struct TargetState {
    std::unique_ptr<Target> target;
    std::vector<std::uint32_t> paths;  // Address handle of each flow; empty until created
    bool creating = false;             // A job is creating `paths`.
    Status failure;                    // Of the last such job
    SteadyTime retry_at;
    Duration backoff{};
  };
  struct Slot {  // One ping of the rotation
    std::uint32_t serial;
    std::uint32_t flow;
  };

  bool open() const { return state_ == State::kOpen; }
  void Close(const Status& why);
  void OnOpened(Result<std::unique_ptr<host::UdQueuePairs>> opened, SteadyTime now);
  void FinishClosing();
  void OnClosed();
  void AddTarget(const v1::MeshTarget& order, SteadyTime now);
  void FillRotation();
  void StartCreating(std::uint32_t serial, TargetState& state);
  void OnCreated(std::uint32_t serial, Result<std::vector<std::uint32_t>> paths, SteadyTime now);
  void RemovePaths(const std::vector<std::uint32_t>& paths);
  bool Send(std::uint32_t serial, TargetState& state, std::uint32_t flow, SteadyTime now);
  std::size_t TakeSome(SteadyTime now, bool late);
  Status TakeOne(const host::Datagram& datagram, SteadyTime now, bool late);
  void OnPingSent(const host::Datagram& ping, bool late);
  // Whether to poll again as soon as a send completes.
  bool awaits_send_completion() const {
    return pings_unsent_ > 0 || responder_->awaits_send_completion();
  }
  void Start(std::unique_ptr<Job> job);

  const v1::ProbePort at_;
  const Environment environment_;
  State state_ = State::kClosed;
  bool retired_ = false;
  Status closed_because_ = Status(Code::kUnavailable, "not opened yet");
  SteadyTime retry_at_{};
  std::uint32_t jobs_ = 0;  // Of the port; the responder counts its own.

  std::uint32_t traffic_class_ = 0;
  v1::QueuePairSettings settings_;  // GID index and P_Key
  Duration answer_within_{};
  std::vector<v1::MeshTarget> ordered_;

  // While kOpening and kOpen
  probe::PortAddress address_;
  GidBytes gid_bytes_{};
  // While kOpen, and kClosing until the closing job starts
  std::unique_ptr<host::UdQueuePairs> datagrams_;
  std::unique_ptr<Responder> responder_;  // Borrows datagrams_.
  // While kOpen
  std::uint32_t pings_unsent_ = 0;
  std::map<std::uint32_t, TargetState> targets_;  // By serial
  std::vector<Slot> rotation_;
  std::size_t next_slot_ = 0;
  std::uint32_t next_serial_ = 1;
};

}  // namespace fabric::mesh
