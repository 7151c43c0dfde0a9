// Datagrams in memory. Included by fake_*.cc alone.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tests/testing/fake_verbs.h"

namespace fabric::testing {

// Datagrams leave at once; each datagram moves the fabric's clock by 100 ns, and its arrival
// is seen one_way later on that clock. More than receives_max that were not polled are lost.
class FakeDatagrams final : public host::UdQueuePairs {
 public:
  FakeDatagrams(FakeFabric& fabric, host::UdOptions options, host::Endpoint local,
                bool queue_pair_per_flow, bool hardware_clock);
  ~FakeDatagrams() override;

  const host::Endpoint& local() const override { return local_; }
  bool queue_pair_per_flow() const override { return queue_pair_per_flow_; }
  bool hardware_clock() const override { return hardware_clock_; }
  Duration Elapsed(std::uint64_t from, std::uint64_t to) const override {
    return Duration(static_cast<std::int64_t>(to - from));
  }
  Result<std::uint32_t> AddPath(const host::Endpoint& remote, const host::UdPath& path) override;
  void RemovePath(std::uint32_t path) override;
  Status Send(std::uint32_t path, std::span<const std::byte> payload,
              const host::UdSend& options) override;
  Result<std::size_t> Poll(std::span<host::Datagram> datagrams) override;
  Status Arm(host::UdEvents events) override;
  int event_fd() const override { return -1; }

  const std::string& device() const { return options_.at.device; }
  bool has_event() const { return event_; }
  // What was held leaves. Called with the lock of the fabric.
  void LetLeave();

 private:
  struct Path {
    std::uint32_t remote_number;
    std::uint32_t remote_key;
    std::uint32_t flow_label;
    bool removed = false;
  };
  struct Event {
    host::Datagram datagram;
    std::vector<std::byte> bytes;
  };

  bool Lost(const std::string& device, std::uint32_t flow_label) REQUIRES(fabric_.mutex_);
  // Something happened, to be polled; `solicited`: that a partner wanted to wake this end up.
  void Add(Event event, bool solicited);

  FakeFabric& fabric_;
  const host::UdOptions options_;
  const host::Endpoint local_;
  const bool queue_pair_per_flow_;
  const bool hardware_clock_;
  std::vector<Path> paths_;
  std::deque<Event> events_;
  std::uint32_t arrivals_ = 0;  // Among the events
  std::uint32_t sending_ = 0;
  std::vector<Event> polled_;
  std::vector<Event> held_;  // That have not left yet
  std::optional<host::UdEvents> armed_;
  bool event_ = false;
};

}  // namespace fabric::testing
