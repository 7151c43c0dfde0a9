// Window of requests to a subnet: sends orders at the permitted pace, matches answers, repeats lost
// requests, and stops to ask devices that do not answer, so that they do not delay the others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "agents/subnet/pace.h"
#include "agents/subnet/transport.h"
#include "subnet/model.h"

namespace fabric::agent {

// One request. `at.node` is the index of the device that answers, whose state is kept. `beyond`:
// the unknown device at the other end of the port `at`.
struct Order {
  subnet::MadClass mad_class = subnet::MadClass::kDirectedSubnet;
  subnet::Attribute attribute = subnet::Attribute::kNodeInfo;
  std::uint32_t modifier = 0;
  subnet::End at{};
  bool beyond = false;
};

enum class Outcome {
  kAnswered,
  kRefused,  // The status of this answer or an earlier one is an error.
  kLost,     // No answer
  kSkipped,  // Not sent: the device does not answer.
};

struct Done {
  Order order;
  Outcome outcome = Outcome::kLost;
  subnet::MadAnswer answer{};
};

struct WindowOptions {
  PaceLimits pace = {};
  Duration timeout = std::chrono::milliseconds(200);
  std::uint32_t tries = 2;
  // Lost orders in a row after which a device is skipped.
  std::uint32_t silent_after = 3;
};

class Window {
 public:
  static constexpr std::uint32_t kOutstandingMax = 1024;  // Of each kind
  static constexpr std::size_t kQueueMax = 4'000'000;

  using Compose = std::function<MadPacket(const Order& order, std::uint32_t transaction)>;
  Window(MadTransport& transport, const WindowOptions& options, Compose compose);

  // False when the queue is full.
  bool Ask(const Order& order);
  bool idle() const { return queue_.empty() && smps_ + gmps_ == 0; }

  // Sends what the pace permits, and waits at most `wait` for answers and deadlines. Adds the
  // orders that are done.
  Status Step(SteadyTime now, Duration wait, std::vector<Done>& done);

  Pace& pace() { return pace_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t lost() const { return lost_; }    // Requests without an answer in time
  std::uint64_t stray() const { return stray_; }  // Late, double and unknown answers

 private:
  struct Flight {
    Order order;
    SteadyTime deadline{};
    std::uint32_t transaction = 0;  // 0: free
    std::uint32_t tries = 0;
  };
  struct DeviceState {
    std::uint16_t smps = 0;  // Outstanding
    std::uint16_t gmps = 0;
    std::uint16_t lost[2] = {};  // Orders in a row: SMPs, GMPs
    bool answered = false;
  };
  struct Queued {
    Order order;
    std::uint32_t tries = 0;
  };

  DeviceState* StateOf(const Order& order);
  bool MaySend(const Order& order);
  // Of an order to a silent device, or of an attribute that it does not support.
  std::optional<Outcome> OutcomeWithoutSending(const Order& order);
  Status Send(const Queued& next, SteadyTime now);
  Status SendReady(SteadyTime now, std::vector<Done>& done);
  void Expire(SteadyTime now, std::vector<Done>& done);
  void OnPacket(const MadPacket& packet, SteadyTime now, std::vector<Done>& done);
  void OnAnswer(Flight& flight, const subnet::MadAnswer& answer, SteadyTime now,
                std::vector<Done>& done);
  void OnLost(Flight& flight, SteadyTime now, std::vector<Done>& done);
  Order Land(Flight& flight);

  MadTransport& transport_;
  const WindowOptions options_;
  const Compose compose_;
  Pace pace_;
  std::deque<Queued> queue_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;  // Indexes of flights
  std::vector<DeviceState> devices_;
  std::unordered_set<std::uint64_t> unsupported_;  // Device and attribute
  std::uint32_t generation_ = 0;
  std::uint32_t smps_ = 0;  // Outstanding
  std::uint32_t gmps_ = 0;
  SteadyTime next_deadline_ = SteadyTime::max();
  std::uint64_t sent_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t stray_ = 0;
};

}  // namespace fabric::agent
