// What the controller has to be told of counters: the table once, then only what has changed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agents/counters/sampler.h"
#include "base/clock.h"
#include "fabric/v1/counters.pb.h"

namespace fabric::counters {

// What is sampled, until the next one.
struct Table {
  std::uint64_t number = 0;
  CounterSets sets;
};

// All counters of a table at one moment.
struct Sample {
  std::uint64_t table = 0;  // Its number
  WallTime taken_at;
  std::vector<Value> values;
};

// Of samples that were not sent the next one carries all, so that the newest is enough.
class Feed {
 public:
  void SetTable(Table table);
  void SetSample(Sample sample);  // One of another table is dropped.

  // The controller has nothing: the table has to come first.
  void Restart() { sent_.reset(); }

  // The table, when it has to be sent; empty until it has values. What is lost is not in it.
  std::optional<v1::CounterTable> NextTable();
  // What has changed since the last one; empty when nothing has, and before the table was sent.
  std::optional<v1::CounterSample> NextSample();

 private:
  Table table_;
  std::optional<Sample> latest_;
  std::uint32_t sent_tables_ = 0;
  std::optional<std::vector<Value>> sent_;  // What the controller has, by index in the sent table
  std::vector<std::size_t> places_;         // Where these stand in `latest_`
};

}  // namespace fabric::counters
