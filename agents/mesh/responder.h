// Mesh responder: answers the pings that arrive at one port.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/mesh/job.h"
#include "agents/probe/ping/outstanding_pings.h"
#include "agents/probe/ping/ping_message.h"
#include "agents/probe/ping/ping_responder.h"
#include "base/clock.h"

namespace fabric::mesh {

// Queue pairs of a port where the driver ignores flow labels; flow n uses queue pair n modulo this.
inline constexpr std::uint32_t kSoftwareFlows = 32;

// A ping carries its reply address. Address handles are created by jobs and cached. Not
// thread-safe: all calls, and Job::Finish(), are on one thread.
class Responder {
 public:
  // Everything borrowed must outlive it, and it must outlive its jobs: see jobs().
  Responder(host::UdQueuePairs& datagrams, Worker& worker, std::uint32_t traffic_class);

  // `arrived`: time of the ping by the adapter's clock. Drops pings that it cannot answer. An error
  // is one of the queue pair.
  Status Answer(const probe::PingMessage& ping, const probe::ReplyAddress& to,
                std::uint64_t arrived, bool late, SteadyTime now);
  // See PingResponder.
  Status OnSent(const host::Datagram& datagram, bool late) { return pings_.OnSent(datagram, late); }
  bool awaits_send_completion() const { return pings_.awaits_send_completion(); }

  std::uint32_t jobs() const { return jobs_; }  // Not finished

 private:
  // Limits; the least recently used entry is evicted.
  static constexpr std::size_t kReplyPathsMax = 1024;
  static constexpr std::size_t kSessionsMax = 1024;

  class CreateAddressHandle;
  struct Waiting {
    probe::PingMessage ping;
    std::uint64_t arrived;
    bool late;
  };
  struct ReplyPath {
    std::optional<std::uint32_t> path;  // Address handle; absent until created
    SteadyTime used_at;
    SteadyTime retry_at;  // After a failure
    bool creating = false;
    std::optional<Waiting> waiting;  // Newest ping since `creating`
  };
  struct Session {
    probe::ReceivedPings received;
    SteadyTime used_at;
  };

  void StartCreating(const probe::ReplyAddress& to, std::uint32_t flow);
  void OnCreated(const probe::ReplyAddress& to, const Result<std::uint32_t>& path, SteadyTime now);
  bool EvictOldest();  // False when all are being created.

  host::UdQueuePairs& datagrams_;
  Worker& worker_;
  const std::uint32_t traffic_class_;
  probe::PingResponder pings_;
  std::map<probe::ReplyAddress, ReplyPath> reply_paths_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint32_t jobs_ = 0;
};

}  // namespace fabric::mesh
