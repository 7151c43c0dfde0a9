// Thread that reads a subnet while the controller orders it, and sends each snapshot in parts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "agents/subnet/subnet_watch.h"
#include "agents/subnet/transport.h"
#include "base/mutex.h"
#include "fabric/v1/agent.pb.h"
#include "subnet/wire/snapshot_parts.h"

namespace fabric::agent {

struct SubnetThreadOptions {
  std::function<Result<std::unique_ptr<MadTransport>>(const std::string& device,
                                                      std::uint32_t port)>
      open;
  // Read again for each reading, so that a new key is used. Null: there is none.
  std::function<Result<std::uint64_t>()> m_key = {};
  WindowOptions window = {};
};

class SubnetThread {
 public:
  // Limits of what the controller can demand.
  static constexpr Duration kIntervalMin = std::chrono::seconds(5);
  static constexpr Duration kIntervalMax = std::chrono::hours(1);
  // Between two parts of one snapshot: 1 MiB in a second.
  static constexpr Duration kBetweenParts = std::chrono::milliseconds(250);

  // Between two looks at the subnet managers and switches, whose change makes the next reading
  // begin at once.
  static constexpr Duration kLookInterval = std::chrono::seconds(10);

  // `send` is called by the thread.
  SubnetThread(SubnetThreadOptions options, const Clock& clock,
               std::function<void(const v1::AgentMessage&)> send);
  ~SubnetThread();

  // Replaces the order. A reading for the order before ends soon.
  void SetOrder(const v1::SubnetOrder& order);

 private:
  // For one order.
  struct Reading {
    std::optional<SubnetWatch> watch = {};
    std::uint64_t m_key = 0;  // Of `watch`
    std::string sent = {};    // The encoded snapshot that the controller has
    // The last reading began early because a switch changed. The next one does not: a link that
    // goes down and up all the time must not double the load again.
    bool early = false;
  };

  void Run(const std::stop_token& stop);
  void Follow(const v1::SubnetOrder& order, const std::stop_token& stop);
  Result<v1::SubnetSnapshot> ReadNext(Reading& reading, const v1::SubnetOrder& order,
                                      const std::stop_token& stop) const;
  // Until the next reading is due: at `until`, or earlier when a subnet manager or a switch
  // changed.
  void Wait(Reading& reading, const v1::SubnetOrder& order, SteadyTime until,
            const std::stop_token& stop);
  Status ReadAndSend(Reading& reading, const v1::SubnetOrder& order, const std::stop_token& stop);
  void Send(const v1::SubnetOrder& order, const subnet::Frame& frame, const std::stop_token& stop);
  void Send(const v1::SubnetOrder& order, v1::SubnetPart part);
  // Until the time has passed or the order has ended.
  void Pause(Duration duration, const std::stop_token& stop);

  const SubnetThreadOptions options_;
  const Clock& clock_;
  const std::function<void(const v1::AgentMessage&)> send_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  v1::SubnetOrder order_ GUARDED_BY(mutex_);
  std::stop_source order_ends_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace fabric::agent
