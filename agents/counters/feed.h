// Counter feed to the controller: the table once, then the changes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agents/counters/sampler.h"
#include "base/clock.h"
#include "fabric/v1/counters.pb.h"

namespace fabric::counters {

// The sampled counters.
struct Table {
  std::uint64_t number = 0;
  CounterSets sets;
};

// All counters of a table at one moment.
struct Sample {
  std::uint64_t table = 0;  // Number of the table
  WallTime taken_at;
  std::vector<Value> values;
};

// A sample includes the changes of all samples that were not sent.
class Feed {
 public:
  void SetTable(Table table);
  void SetSample(Sample sample);  // Drops a sample of another table.

  // The controller has no state: the table comes first.
  void Restart() { sent_.reset(); }

  // The table when it must be sent; empty until it has values. Without lost counters.
  std::optional<v1::CounterTable> NextTable();
  // Changes since the last one; empty without changes and before the table was sent.
  std::optional<v1::CounterSample> NextSample();

 private:
  Table table_;
  std::optional<Sample> latest_;
  std::uint32_t sent_tables_ = 0;
  std::optional<std::vector<Value>> sent_;  // State at the controller, by index in the sent table
  std::vector<std::size_t> places_;         // Their indexes in `latest_`
};

}  // namespace fabric::counters
