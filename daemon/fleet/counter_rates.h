// Rates of a node's counters: the increase of each one within a time window. Memory is bounded by
// the node's counters; only counters that rules use are tracked. A value without threads.
//
// An unknown rate is absent, never 0: before the first window ends, for a counter that the node
// does not have, that was reset, wrapped or is saturated, and for all counters after the node sent
// a new counter table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

// Tracked counters, by the vendor-neutral names of docs/reference/COUNTERS.md.
enum class Count : std::uint8_t {
  // Also tracked over an hour: rare events that are faults.
  kSymbolErrors,
  kLinkDowns,
  kLinkRecoveries,
  kReceiveErrors,
  kFcsErrors,
  kIntegrityErrors,
  kBufferOverruns,
  kReceiveConstraintErrors,
  kTransmitConstraintErrors,
  kPcieReceiveErrors,
  kPcieTransmitErrors,
  kFecCorrectedBits,
  kFecUncorrectableBlocks,
  kModuleHighTemperatures,
  kModuleBusErrors,
  kModuleShorts,
  kPcieReadStalls,
  kPcieWriteStalls,
  // Tracked over one window only.
  kTransmittedBytes,
  kTransmittedPackets,
  kReceivedPackets,
  kMarkedPackets,
  kCnpsSent,
  kCnpsHandled,
  kCnpsIgnored,
  kOutOfSequence,
  kSequenceNaksReceived,
  kAckTimeouts,
  kRetriesExceeded,
  kRnrNaksReceived,
  kRnrRetriesExceeded,
  kOutOfBuffer,
  kIcrcErrors,
  kReceiveDiscards,
  kTransmitDiscards,
  kPauseStorms,
  kPauseReceivedUs,
  kPauseSentUs,
  kAdaptiveRetransmissions,
  kCreditWait,
  // Priority 0; priorities 1 to 7 follow, see OfPriority().
  kPriorityTransmittedBytes = 64,
  kPriorityReceiveDiscards = kPriorityTransmittedBytes + 8,
  kPriorityPfcReceived = kPriorityReceiveDiscards + 8,
  kPriorityPfcReceivedUs = kPriorityPfcReceived + 8,
  kPriorityPfcSentUs = kPriorityPfcReceivedUs + 8,
};

constexpr Count OfPriority(Count first, unsigned priority) {
  return static_cast<Count>(static_cast<unsigned>(first) + priority % 8);
}

// "symbol_errors", "pfc_rx_frames_prio3"
std::string NeutralName(Count count);
// The tracked counter with this neutral name; empty for another one.
std::optional<Count> CountNamed(std::string_view neutral);

// Increase of a counter, in its own unit, and the time in which it occurred.
struct CounterIncrease {
  std::uint64_t delta = 0;
  double seconds = 0;  // Never 0
  double PerSecond() const { return static_cast<double>(delta) / seconds; }
};

// One bit for each Count, in two words.
using CountSet = std::array<std::uint64_t, 2>;
constexpr std::size_t WordOf(Count count) {
  return static_cast<std::size_t>(count) / 64;
}
constexpr std::uint64_t BitOf(Count count) {
  return std::uint64_t{1} << static_cast<unsigned>(count) % 64;
}
constexpr bool Has(const CountSet& set, Count count) {
  return (set[WordOf(count)] & BitOf(count)) != 0;
}
// Any priority of these.
constexpr bool HasAnyPriority(const CountSet& set, Count first) {
  return (set[WordOf(first)] >> static_cast<unsigned>(first) % 64 & 0xffU) != 0;
}

// The counters of a port that have a rate. Lets rules skip the many counters that did not change.
struct CounterActivity {
  CountSet known = {};  // A rate is known
  CountSet grown = {};  // And is not 0
};

// Indexes into NodeSnapshot.counters for one port: the port's set, its device's, its netdev's.
using CounterSetIndexes = std::array<std::uint16_t, 3>;
inline constexpr std::uint16_t kNoCounters = 0xffff;

CounterSetIndexes CounterSetsOf(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device,
                                const v1::Port& port);

// Counter values at the start of a window, and the increase within the last complete window.
class CounterWindow {
 public:
  // Tracks counters with a Count below `end`, starting at these values.
  void Start(const v1::NodeSnapshot& snapshot, unsigned end, SteadyTime now);
  // The counter was reset: it has no rate in this window.
  void Break(int set, int place);
  // Computes increases since the start. `whole`: the window ends, and the next one starts. Else the
  // window is partial: a partial increase counts only if it exceeds the last complete window's.
  void Take(const v1::NodeSnapshot& snapshot, SteadyTime now, bool whole);

  std::optional<CounterIncrease> IncreaseOf(const CounterSetIndexes& places, Count count) const;
  // Which counters have a rate, and which a rate above 0.
  CounterActivity ActivityOf(const CounterSetIndexes& places) const;
  bool empty() const { return tracks_.empty(); }
  SteadyTime since() const { return since_; }
  double seconds() const { return seconds_; }

 private:
  struct Track {
    std::uint64_t base = 0;
    std::uint64_t last = 0;   // Increase within the last complete window
    std::uint16_t place = 0;  // In its set
    Count count = {};
    bool broken = false;
  };
  // The tracks of one counter set: the index of the first, and one bit for each Count.
  struct Set {
    std::uint32_t start = 0;
    CountSet counts = {};
    CounterActivity activity = {};
  };
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  void Take(const v1::Counter& counter, bool whole, std::size_t index);
  void UpdateActivity(std::size_t set);

  std::vector<Track> tracks_;          // By set, then by count, of each one
  std::vector<std::uint64_t> deltas_;  // Increase that rules read, by track; kUnknown: no rate
  std::vector<Set> sets_;              // One more than there are sets
  SteadyTime since_;
  double seconds_ = 0;
};

class CounterRates {
 public:
  // Counters are read each second, but some drivers update them every 10 s only.
  static constexpr Duration kWindow = std::chrono::seconds(30);
  static constexpr Duration kLongWindow = std::chrono::hours(1);

  // A new counter table arrived, and the snapshot has its values. Drops all rates.
  void Start(const v1::NodeSnapshot& snapshot, SteadyTime now);
  void Break(int set, int place);
  // The snapshot is up to date. True when a window ended, so that rules must run again.
  bool Advance(const v1::NodeSnapshot& snapshot, SteadyTime now);
  void Clear() { *this = {}; }

  // Rates between two snapshots of one machine. Empty when the machine restarted in between, when
  // the snapshots are less than 10 s apart or not in order, and for captured trees, which have no
  // reliable time.
  static CounterRates Between(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

  // Within the last window.
  std::optional<CounterIncrease> IncreaseOf(const CounterSetIndexes& places, Count count) const {
    return window_.IncreaseOf(places, count);
  }
  // Within the last hour or less; only for counters before kTransmittedBytes.
  std::optional<CounterIncrease> IncreaseInHour(const CounterSetIndexes& places,
                                                Count count) const {
    return hour_.IncreaseOf(places, count);
  }
  CounterActivity ActivityOf(const CounterSetIndexes& places) const {
    return window_.ActivityOf(places);
  }
  CounterActivity ActivityInHour(const CounterSetIndexes& places) const {
    return hour_.ActivityOf(places);
  }
  double seconds() const { return window_.seconds(); }
  double seconds_in_hour() const { return hour_.seconds(); }
  bool known() const { return known_; }  // A window has ended.

 private:
  CounterWindow window_;
  CounterWindow hour_;
  bool known_ = false;
};

}  // namespace fabric::fleet
