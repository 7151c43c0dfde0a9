// One port's part of the mesh: it pings its targets in turn and answers the pings of others. Lives
// from the order that names the port to the one that does not, and opens its queue pair again when
// the device was gone. One thread, but for the jobs; whoever destroys it waits until idle().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/verbs/verbs.h"
#include "agents/mesh/answers.h"
#include "agents/mesh/gid.h"
#include "agents/mesh/job.h"
#include "agents/mesh/target.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::mesh {

// What the last inspection says about a device; empty when there is no such device.
using FindDevice = std::function<std::optional<v1::RdmaDevice>(const std::string& name)>;

class Port {
 public:
  struct Outside {
    host::Verbs& verbs;
    Worker& worker;
    const FindDevice& find_device;
    // Whether a campaign's probe runs on the port: then it does not ping, and answers all the same.
    const std::function<bool(const v1::ProbePort&)>& busy;
  };
  Port(v1::ProbePort at, Outside outside) : at_(std::move(at)), outside_(outside) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Targets that stay as they are keep what is known of them.
  void SetOrder(const v1::MeshPortOrder& order, const v1::MeshOrder& whole, SteadyTime now);
  // The port takes no part any more.
  void Retire();
  // Nothing is open and no job is on its way.
  bool idle() const { return jobs_ == 0 && datagrams_ == nullptr && closing_ == nullptr; }

  // Once a second or so: opens what can be opened, closes what is not usable any more.
  void Check(SteadyTime now);
  // True when a ping was sent.
  bool Ping(SteadyTime now);
  // Takes what has come and left. `late`: nobody looked for longer than was planned.
  void Take(SteadyTime now, bool late);
  // The same, as nothing is late any more, and has an event wake the thread with what is next.
  void TakeAndArm(SteadyTime now);
  void Excuse();
  void Expire(SteadyTime now);

  v1::MeshEndpoint Endpoint() const;
  void TakeWindow(v1::MeshWindow& window);
  host::UdQueuePairs* datagrams() const { return datagrams_.get(); }
  std::uint32_t flows() const { return static_cast<std::uint32_t>(turns_.size()); }

 private:
  class OpenPairs;
  class ClosePairs;
  class MakeWays;
  // A target with the address handles towards it, one for each flow.
  struct Aim {
    std::unique_ptr<Target> target;
    std::vector<std::uint32_t> paths;  // Of flow n; empty: not made
    bool making = false;
    Status failure;  // Of making them
    SteadyTime retry_at;
    Duration backoff{};
  };
  struct Turn {
    std::uint32_t serial;
    std::uint32_t flow;
  };

  void Close(const Status& why);
  void OnOpened(Result<std::unique_ptr<host::UdQueuePairs>> opened, SteadyTime now);
  void DropPaths(const std::vector<std::uint32_t>& paths);
  void OnMade(std::uint32_t serial, Result<std::vector<std::uint32_t>> made, SteadyTime now);
  void OnClosed() { --jobs_; }
  void FinishClosing();
  void AddAim(const v1::MeshTarget& order, SteadyTime now);
  void Make(std::uint32_t serial, Aim& aim);
  void FillTurns();
  bool Send(std::uint32_t serial, Aim& aim, std::uint32_t flow, SteadyTime now);
  std::size_t TakeSome(SteadyTime now, bool late);
  Status TakeOne(const host::Datagram& datagram, SteadyTime now, bool late);
  void TakeLeft(const host::Datagram& ping, bool spoilt);
  // Whether somebody has to look as soon as something that was sent has left.
  bool awaits_leaving() const { return pings_leaving_ > 0 || answers_->awaits_leaving(); }
  void Start(std::unique_ptr<Job> job);

  const v1::ProbePort at_;
  const Outside outside_;
  std::uint32_t traffic_class_ = 0;
  Duration answer_within_{};
  bool retired_ = false;
  bool opening_ = false;
  std::uint32_t gid_index_ = 0;  // With which it is opened
  std::string gid_;
  GidBytes gid_bytes_{};
  Status closed_because_ = Status(Code::kUnavailable, "not opened yet");
  SteadyTime retry_at_{};
  std::uint32_t opened_ = 0;  // Times
  std::unique_ptr<host::UdQueuePairs> datagrams_;
  std::unique_ptr<Answers> answers_;  // Borrows datagrams_
  std::uint32_t pings_leaving_ = 0;
  // Closed, and borrowed from by jobs that have not come back
  std::unique_ptr<host::UdQueuePairs> closing_;
  std::unique_ptr<Answers> closing_answers_;
  std::vector<v1::MeshTarget> wanted_;
  std::map<std::uint32_t, Aim> aims_;  // By serial
  std::vector<Turn> turns_;
  std::size_t turn_ = 0;
  std::uint32_t next_serial_ = 1;
  std::uint32_t jobs_ = 0;  // Of the port itself
};

}  // namespace fabric::mesh
