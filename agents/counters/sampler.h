// Counter sampler: repeatedly reads the counters that an inspection found. The inspection also
// decides which of them may be read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "agents/counters/readers.h"
#include "agents/counters/tracker.h"
#include "agents/host/host.h"
#include "base/mutex.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::counters {

using CounterSets = google::protobuf::RepeatedPtrField<v1::CounterSet>;

// One counter at one moment.
struct Value {
  std::uint64_t value = 0;   // In the counter's unit; see Total
  std::uint32_t resets = 0;  // Number of resets of the register
  bool saturated = false;
  bool lost = false;  // Not readable any more: `value` is undefined.
  friend bool operator==(const Value&, const Value&) = default;
};

// Progress of a sampler. Thread-safe.
class Progress {
 public:
  void At(const Place& place) EXCLUDES(mutex_);
  Place place() EXCLUDES(mutex_);
  std::uint64_t steps() EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  Place place_ GUARDED_BY(mutex_);
  std::uint64_t steps_ GUARDED_BY(mutex_) = 0;
};

// One thread at a time. Borrows the host, which must be its own: sockets are not shared.
class Sampler {
 public:
  Sampler(const host::Host& host, Progress& progress) : host_(host), progress_(progress) {}

  // Sets the counters, as an inspection found them. Reopens all when they differ from before or
  // some were lost; totals of counters with the same name continue. True when the table has
  // changed.
  //
  // A counter that cannot be kept open (no more descriptors, a source that only inspections read)
  // has the value of the last inspection.
  bool Plan(const CounterSets& found);

  // Reads all counters of the table. Does not allocate, apart from netlink messages. True when a
  // lost counter is readable again: receivers then need the table again.
  bool Tick();

  // Names and units, in the order of values(). Its values are those of the inspection.
  const CounterSets& table() const { return table_; }
  std::span<const Value> values() const { return values_; }

  // Whether Tick() reads the counter; otherwise it has the value of the last inspection.
  bool IsRead(std::size_t index) const { return origins_[index] != Origin::kInspected; }

 private:
  struct Slice {  // Counters [begin, begin + size) of the table
    Place place;
    std::size_t begin = 0;
    std::size_t size = 0;
    std::unique_ptr<Reader> reader;  // nullptr: values of the last inspection
    unsigned failures = 0;           // Consecutive
  };
  // Source of a value: a reading, the sum of two others ("a+b"), or the last inspection.
  enum class Origin { kRead, kSum, kInspected };
  struct Sum {
    std::size_t place = 0;
    std::size_t first = 0;
    std::size_t second = 0;
  };

  void Open(const CounterSets& found);
  void FindSums();
  void TakeInspected(const CounterSets& found);
  void ReadSlice(Slice& slice);

  const host::Host host_;
  Progress& progress_;
  CounterSets table_;
  std::vector<Slice> slices_;
  std::vector<Register> registers_;
  std::vector<Reading> readings_;
  std::vector<Total> totals_;
  std::vector<Value> values_;
  std::vector<Origin> origins_;
  std::vector<Sum> sums_;
  bool lost_ = false;   // Any counter of the table
  bool back_ = false;   // Any lost counter
  bool fresh_ = false;  // Opened, not read yet
  unsigned ticks_ = 0;
};

// The table with these values, without lost counters.
CounterSets WithValues(const CounterSets& table, std::span<const Value> values);

}  // namespace fabric::counters
