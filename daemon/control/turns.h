// Turns of the controller: who has its state, how long each turn waited and how long it took.
//
// The lock is fair: turns follow each other in the order in which they were requested, so that a
// turn waits at most for one turn of each other thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace fabric::control {

enum class TurnKind : std::uint8_t {
  kLoad,
  kHello,
  kSnapshot,
  kChange,
  kCounters,
  kHeartbeat,
  kProbe,
  kMesh,
  kExcess,
  kGone,
  kTopology,
  kCall,          // A unary call of the API
  kListPart,      // A part of a page
  kTickSessions,  // The parts of Controller::Tick
  kTickCampaigns,
  kTickMesh,
  kTickRules,
  kTickFindings,
  kTickCertificates,
  kTickNumbers,
  kTickStore,
};
std::string_view TurnKindName(TurnKind kind);  // "tick_rules"

// Durations in buckets.
struct DurationCounts {
  // Upper bounds in seconds; the last bucket has none.
  static constexpr std::array<double, 10> kBounds = {0.0001, 0.0005, 0.001, 0.005, 0.01,
                                                     0.05,   0.1,    0.5,   1,     5};

  void Add(Duration duration);

  std::array<std::uint64_t, kBounds.size() + 1> buckets{};  // Not cumulative
  double sum_seconds = 0;
};

struct TurnCounts {
  DurationCounts waited;
  DurationCounts lengths;
  Duration longest_wait{};  // Since the start
  Duration longest{};
  Duration longest_wait_of_minute{};  // Ended within the last 60 to 70 s
  Duration longest_of_minute{};
};

struct LongTurn {
  TurnKind kind;
  std::string_view detail;  // Of the API: the type of the request; else empty
  Duration waited;
  Duration length;
};

// Counts turns. Thread-safe.
class TurnRecorder {
 public:
  static constexpr Duration kLong = std::chrono::milliseconds(50);
  using Counts = std::map<TurnKind, TurnCounts>;  // Kinds without a turn are absent.

  // `on_long`: called after each turn that took longer than kLong, without locks. May be empty.
  explicit TurnRecorder(std::function<void(const LongTurn&)> on_long)
      : on_long_(std::move(on_long)) {}

  void Record(const LongTurn& turn, SteadyTime end) EXCLUDES(mutex_);
  Counts Read(SteadyTime now) const EXCLUDES(mutex_);

 private:
  static constexpr Duration kSlice = std::chrono::seconds(10);
  static constexpr std::size_t kSlices = 7;
  struct Slice {
    std::int64_t number = -1;  // Of the steady clock, in slices
    Duration wait{}, length{};
  };
  struct Kept {
    TurnCounts counts;
    std::array<Slice, kSlices> slices{};
  };

  const std::function<void(const LongTurn&)> on_long_;
  mutable Mutex mutex_;
  std::map<TurnKind, Kept> kinds_ GUARDED_BY(mutex_);
};

// The controller's lock. First come, first served.
class FABRIC_THREAD_ANNOTATION(capability("mutex")) TurnLock {
 public:
  void lock() FABRIC_THREAD_ANNOTATION(acquire_capability());
  void unlock() FABRIC_THREAD_ANNOTATION(release_capability());
  // Threads that wait, while one holds the lock.
  std::uint32_t waiting() const { return next_.load() - serving_.load() - 1; }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

// One turn: holds the lock, and records the turn when it ends.
class FABRIC_THREAD_ANNOTATION(scoped_lockable) Turn {
 public:
  // `detail` must outlive the turn.
  Turn(TurnLock& lock, TurnRecorder& recorder, const Clock& clock, TurnKind kind,
       std::string_view detail = {}) FABRIC_THREAD_ANNOTATION(acquire_capability(lock));
  ~Turn() FABRIC_THREAD_ANNOTATION(release_capability());
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  TurnLock& lock_;
  TurnRecorder& recorder_;
  const Clock& clock_;
  const TurnKind kind_;
  const std::string_view detail_;
  const SteadyTime asked_at_;
  SteadyTime began_at_;
};

}  // namespace fabric::control
