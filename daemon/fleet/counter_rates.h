// How a node's counters move: how much each has grown within a window of time. Bounded by the
// counters of the node; only those that rules look at are followed. A value without threads.
//
// What is not known is absent, never 0: before the first window has passed, for a counter that is
// not there, that was reset, wrapped or stands at its maximum, and for all of a node whose table
// of counters is a new one.
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

// What is followed, by the neutral names of docs/reference/COUNTERS.md.
enum class Count : std::uint8_t {
  // Followed over an hour too: what is rare and still a fault.
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
  // Followed over a window alone.
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
  // Of priority 0; those of the others follow, see OfPriority().
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

// How much a counter grew, in its own unit, and in what time.
struct Move {
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

// Of a port: most counters stand still, and are asked for often.
struct MovedCounts {
  CountSet known = {};  // A rate is known
  CountSet grown = {};  // And is not 0
};

// Sets of counters of one port: its own, those of its device as a whole, those of its netdev.
using CounterPlaces = std::array<std::uint16_t, 3>;
inline constexpr std::uint16_t kNoCounters = 0xffff;

// Where a port's counters stand in the snapshot.
CounterPlaces PlacesOf(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device,
                       const v1::Port& port);

// Counters at two moments: what they were at the first, and what the last whole window added.
class CounterWindow {
 public:
  // Follows counters up to and without `end` from these values on.
  void Start(const v1::NodeSnapshot& snapshot, unsigned end, SteadyTime now);
  // The counter began anew: nothing is known of it in this window.
  void Break(int set, int place);
  // Takes what has come since the start: as a whole window, which the next one follows, or as the
  // part of one that has passed. Of a part counts what is more than the window before it had.
  void Take(const v1::NodeSnapshot& snapshot, SteadyTime now, bool whole);

  std::optional<Move> Moved(const CounterPlaces& places, Count count) const;
  // What Moved() says of all counts.
  MovedCounts CountsOf(const CounterPlaces& places) const;
  bool empty() const { return tracks_.empty(); }
  SteadyTime since() const { return since_; }
  double seconds() const { return seconds_; }

 private:
  struct Track {
    std::uint64_t base = 0;
    std::uint64_t last = 0;   // Of the last whole window
    std::uint16_t place = 0;  // In its set
    Count count = {};
    bool broken = false;
  };
  // Of which counts there is a track, one bit each, and where the first is.
  struct Set {
    std::uint32_t start = 0;
    CountSet counts = {};
    MovedCounts moved = {};
  };
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  void Take(const v1::Counter& counter, bool whole, std::size_t index);
  void FindMoved(std::size_t set);

  std::vector<Track> tracks_;          // By set, then by count, of each one
  std::vector<std::uint64_t> deltas_;  // Of each track: what rules read; kUnknown: no rate
  std::vector<Set> sets_;              // And one past the last
  SteadyTime since_;
  double seconds_ = 0;
};

class Motion {
 public:
  // Rates over less say little: counters are read each second, some by the driver every ten.
  static constexpr Duration kWindow = std::chrono::seconds(30);
  static constexpr Duration kLongWindow = std::chrono::hours(1);

  // A table of counters has come, and the snapshot has them; all that was known is forgotten.
  void Start(const v1::NodeSnapshot& snapshot, SteadyTime now);
  void Break(int set, int place);
  // The snapshot has all that came until now. True when a window has ended and rules may say
  // something else than before.
  bool Advance(const v1::NodeSnapshot& snapshot, SteadyTime now);
  void Clear() { *this = {}; }

  // Two snapshots of one machine without a restart between, as far as they tell; empty when they
  // are too close, not in order, or captured trees: when these were captured nobody knows.
  static Motion Between(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

  // Within the last window.
  std::optional<Move> Moved(const CounterPlaces& places, Count count) const {
    return window_.Moved(places, count);
  }
  // Within the last hour or less; of the first counters of Count only.
  std::optional<Move> MovedInHour(const CounterPlaces& places, Count count) const {
    return hour_.Moved(places, count);
  }
  MovedCounts CountsOf(const CounterPlaces& places) const { return window_.CountsOf(places); }
  MovedCounts CountsInHour(const CounterPlaces& places) const { return hour_.CountsOf(places); }
  double seconds() const { return window_.seconds(); }
  double seconds_in_hour() const { return hour_.seconds(); }
  bool known() const { return known_; }  // A window has ended.

 private:
  CounterWindow window_;
  CounterWindow hour_;
  bool known_ = false;
};

}  // namespace fabric::fleet
