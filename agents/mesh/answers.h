// The answering part of a port: pings say where they want their answer, and the address handles
// towards those places are kept for the next ping. One thread, but for the jobs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/mesh/job.h"
#include "agents/probe/ping/ping_answers.h"
#include "agents/probe/ping/ping_message.h"
#include "agents/probe/ping/ping_table.h"
#include "base/clock.h"

namespace fabric::mesh {

// Where a driver ignores flow labels, a port has so many queue pairs, and flow n goes over number
// n modulo that.
inline constexpr std::uint32_t kSoftwareFlows = 32;

class Answers {
 public:
  // All that it borrows outlives it, and it outlives its jobs: see jobs().
  Answers(host::UdQueuePairs& datagrams, Worker& worker, std::uint32_t traffic_class);

  // A ping arrived at `arrived`, by the adapter's clock. What cannot be answered is dropped. A
  // failure is one of the queue pair.
  Status Answer(const probe::PingMessage& ping, const probe::PingReturn& to, std::uint64_t arrived,
                bool late, SteadyTime now);
  // As PingAnswers::Left().
  Status Left(const host::Datagram& datagram, bool late) { return answers_.Left(datagram, late); }

  // As PingAnswers::awaits_leaving().
  bool awaits_leaving() const { return answers_.awaits_leaving(); }

  std::uint32_t jobs() const { return jobs_; }  // That have not come back

 private:
  static constexpr std::size_t kWaysMax = 1024;      // The least recently used one makes room.
  static constexpr std::size_t kSessionsMax = 1024;  // The same

  class MakeWay;
  struct Waiting {
    probe::PingMessage ping;
    std::uint64_t arrived;
    bool late;
  };
  struct Way {
    std::optional<std::uint32_t> path;  // Absent: being made, or it failed
    SteadyTime used_at;
    SteadyTime retry_at;  // Of one that failed
    bool making = false;
    std::optional<Waiting> waiting;  // The newest ping that came meanwhile
  };
  struct Session {
    probe::PingsSeen seen;
    SteadyTime used_at;
  };

  void Make(const probe::PingReturn& to, std::uint32_t flow);
  void OnMade(const probe::PingReturn& to, const Result<std::uint32_t>& path, SteadyTime now);
  bool MakeRoom();  // For one more way

  host::UdQueuePairs& datagrams_;
  Worker& worker_;
  const std::uint32_t traffic_class_;
  probe::PingAnswers answers_;
  std::map<probe::PingReturn, Way> ways_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint32_t jobs_ = 0;
};

}  // namespace fabric::mesh
