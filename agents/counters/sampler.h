// Counters each second. What there is to read an inspection has found, with care for what may be
// touched; from then on it is only read again.
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
  std::uint32_t resets = 0;  // Counts up when the register began anew
  bool saturated = false;
  bool lost = false;  // Cannot be read any more: `value` says nothing.
  friend bool operator==(const Value&, const Value&) = default;
};

// Where a sampler is. Safe to use from any thread.
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

  // What an inspection has found. When these are other counters than before, or some were lost
  // meanwhile, everything is opened anew; totals of counters of the same name go on. True when
  // the table is a new one.
  //
  // A counter that cannot be kept open (no more descriptors, a source that only an inspection
  // reads) has the value of the last inspection.
  bool Plan(const CounterSets& found);

  // Reads all counters of the table. Does not allocate, apart from messages of netlink. True when
  // one that was lost is there again: who was told of the loss needs the table anew.
  bool Tick();

  // Names and units, in the order of values(); the values in it are those of the inspection.
  const CounterSets& table() const { return table_; }
  std::span<const Value> values() const { return values_; }

  // Whether Tick() reads that counter; else its value is that of the last inspection.
  bool IsRead(std::size_t index) const { return origins_[index] != Origin::kInspected; }

 private:
  struct Slice {  // Counters [begin, begin + size) of the table
    Place place;
    std::size_t begin = 0;
    std::size_t size = 0;
    std::unique_ptr<Reader> reader;  // nullptr: the last inspection is all that is known.
    unsigned failures = 0;           // In a row
  };
  // Where a value comes from: a reading, others of its slice ("a+b"), or the last inspection.
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
  bool lost_ = false;   // Any of the table
  bool back_ = false;   // Any that was lost
  bool fresh_ = false;  // Opened, and not read since then
  unsigned ticks_ = 0;
};

// The table with these values, without what is lost.
CounterSets WithValues(const CounterSets& table, std::span<const Value> values);

}  // namespace fabric::counters
