// History of counter rates for the web page: the rate of each complete window of CounterRates, for
// one hour. A value without threads.
//
// A counter that never grew has no storage for its rates, because most counters never do: it only
// has the windows in which its rate was known. All series together have at most kBytesMax, and
// those of a node its share of it; further counters have no history, and the answer has the reason.
// Ports that a node no longer has keep their last hour, unless their storage is needed.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "daemon/fleet/counter_rates.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::v1 {
class CounterHistory;
}  // namespace fabric::v1

namespace fabric::fleet {

class RateHistory {
 public:
  static constexpr std::size_t kWindows = 120;
  static constexpr std::size_t kBytesMax = 64 << 20;
  // A node may have at least this much, and more if all nodes could have as much.
  static constexpr std::size_t kNodeBytesMin = 256 << 10;
  // Counters with a history. PFC by priority is not among them.
  static constexpr std::array kCounts = {
      Count::kTransmittedBytes, Count::kTransmittedPackets, Count::kReceivedPackets,
      Count::kMarkedPackets,    Count::kCnpsSent,           Count::kCnpsHandled,
      Count::kOutOfSequence,    Count::kAckTimeouts,        Count::kReceiveDiscards,
      Count::kTransmitDiscards, Count::kPauseReceivedUs,    Count::kPauseSentUs,
      Count::kSymbolErrors,     Count::kLinkDowns,          Count::kFecCorrectedBits,
      Count::kOutOfBuffer};

  // The limits are for tests.
  explicit RateHistory(std::size_t bytes_max = kBytesMax,
                       std::size_t node_bytes_min = kNodeBytesMin)
      : bytes_max_(bytes_max), node_bytes_min_(node_bytes_min) {}

  // A window of the node's rates ended.
  void Take(const std::string& node, const v1::NodeSnapshot& snapshot, const CounterRates& rates,
            WallTime now);
  void Forget(const std::string& node);
  // Without ports when no window of the node ended.
  v1::CounterHistory Of(const std::string& node) const;
  std::size_t bytes() const { return bytes_; }

 private:
  // By window modulo kWindows.
  struct Series {
    std::bitset<kWindows> known;
    std::unique_ptr<std::array<float, kWindows>> rates;  // nullptr: 0 in all known windows
  };
  struct Port {
    std::array<Series, kCounts.size()> series;
  };
  struct Node {
    std::uint64_t windows = 0;      // Since the first one
    std::deque<WallTime> ended_at;  // At most kWindows
    std::map<std::pair<std::string, std::uint32_t>, Port> ports;
    std::size_t bytes = 0;
    std::size_t limit = 0;  // That has been reached; 0: none
  };
  static std::size_t BytesOf(const Port& port);
  void DropMissing(Node& node, const v1::NodeSnapshot& snapshot, bool with_history);
  bool Reserve(Node& node, std::size_t bytes);
  void Store(Node& node, Series& series, std::size_t place, double rate);

  const std::size_t bytes_max_;
  const std::size_t node_bytes_min_;
  std::size_t bytes_ = 0;
  std::map<std::string, Node> nodes_;
};

}  // namespace fabric::fleet
