#include "agents/counters/sampler.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::counters {
namespace {

constexpr unsigned kRefreshEvery =
    10;  // Ticks. A driver may rename counters without changing their number.
constexpr unsigned kFailuresMax = 3;  // In a row, of a kind that may pass

using Key = std::tuple<std::string, std::uint32_t, std::string, int, std::string>;
constexpr std::size_t kNameOfKey = 4;

Key KeyOf(const v1::CounterSet& set, const v1::Counter& counter) {
  return {set.device(), set.port(), set.netdev(), counter.source(), counter.name()};
}

bool SameCounter(const v1::Counter& a, const v1::Counter& b) {
  return a.source() == b.source() && a.name() == b.name() && a.unit() == b.unit() &&
         a.neutral() == b.neutral();
}

bool SameTable(const CounterSets& a, const CounterSets& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const v1::CounterSet& x, const v1::CounterSet& y) {
        return x.device() == y.device() && x.port() == y.port() && x.netdev() == y.netdev() &&
               std::equal(x.counters().begin(), x.counters().end(), y.counters().begin(),
                          y.counters().end(), SameCounter);
      });
}

Register RegisterOf(const v1::Counter& counter) {
  Register reg;
  if (counter.width_bits() >= 1 && counter.width_bits() <= 64)
    reg.width_bits = counter.width_bits();
  if (counter.source() != v1::COUNTER_SOURCE_PORT) return reg;
  const inspect::PortRegister* const row = inspect::FindPortRegister(counter.name());
  if (row == nullptr) return reg;
  return {.width_bits = row->width_bits, .stops = true, .factor = row->factor};
}

bool MayPass(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded ||
         status.code() == Code::kResourceExhausted;
}

// The part of a set from `first` on that has one source.
Group GroupAt(const v1::CounterSet& set, int first) {
  Group group{.place = {.device = set.device(),
                        .port = set.port(),
                        .netdev = set.netdev(),
                        .source = set.counters(first).source()},
              .names = {}};
  for (int i = first; i < set.counters_size() && set.counters(i).source() == group.place.source;
       ++i)
    group.names.push_back(set.counters(i).name());
  return group;
}

}  // namespace

void Progress::At(const Place& place) {
  const MutexLock lock(mutex_);
  place_ = place;
  ++steps_;
}

Place Progress::place() {
  const MutexLock lock(mutex_);
  return place_;
}

std::uint64_t Progress::steps() {
  const MutexLock lock(mutex_);
  return steps_;
}

bool Sampler::Plan(const CounterSets& found) {
  const bool same = SameTable(table_, found);
  const bool lost = lost_;
  // In a captured tree a file may have been replaced by another of its name.
  if (!same || lost || host_.captured) Open(found);
  for (Slice& slice : slices_)
    if (slice.reader != nullptr) slice.reader->Refresh();
  TakeInspected(found);
  return !same || lost;
}

void Sampler::Open(const CounterSets& found) {
  std::map<Key, std::pair<Total, Origin>> before;
  std::size_t index = 0;
  for (const v1::CounterSet& set : table_)
    for (const v1::Counter& counter : set.counters()) {
      before[KeyOf(set, counter)] = {totals_[index], origins_[index]};
      ++index;
    }
  slices_.clear();  // Closes all files before others are opened.
  registers_.clear();
  totals_.clear();
  origins_.clear();
  table_ = found;
  for (const v1::CounterSet& set : table_) {
    for (int first = 0; first < set.counters_size();) {
      const Group group = GroupAt(set, first);
      progress_.At(group.place);
      Slice slice{.place = group.place, .begin = totals_.size(), .size = group.names.size()};
      slice.reader = OpenReader(host_, group);
      for (std::size_t i = 0; i < slice.size; ++i) {
        const v1::Counter& counter = set.counters(first + static_cast<int>(i));
        const bool read = slice.reader != nullptr && slice.reader->Reads(i);
        const Origin origin = read ? Origin::kRead : Origin::kInspected;
        // An inspection has already made units of counts.
        registers_.push_back(read ? RegisterOf(counter) : Register());
        const auto old = before.find(KeyOf(set, counter));
        const bool goes_on = old != before.end() && old->second.second == origin;
        totals_.push_back(goes_on ? old->second.first : Total());
        origins_.push_back(origin);
      }
      first += static_cast<int>(slice.size);
      slices_.push_back(std::move(slice));
    }
  }
  FindSums();
  readings_.assign(totals_.size(), Reading());
  values_.clear();
  for (const Total& total : totals_)  // Never read: not 0
    values_.push_back({.value = total.value,
                       .resets = total.resets,
                       .saturated = total.saturated,
                       .lost = !total.known});
  lost_ = false;
  fresh_ = true;
}

// An inspection creates counter "a+b" from two counters of the driver.
void Sampler::FindSums() {
  sums_.clear();
  std::map<Key, std::size_t> places;
  std::size_t index = 0;
  for (const v1::CounterSet& set : table_)
    for (const v1::Counter& counter : set.counters()) places[KeyOf(set, counter)] = index++;
  for (const auto& [key, place] : places) {
    const std::string& name = std::get<kNameOfKey>(key);
    const std::size_t plus = name.find('+');
    if (plus == std::string::npos || origins_[place] != Origin::kInspected) continue;
    Key part = key;
    std::get<kNameOfKey>(part) = name.substr(0, plus);
    const auto first = places.find(part);
    std::get<kNameOfKey>(part) = name.substr(plus + 1);
    const auto second = places.find(part);
    if (first == places.end() || second == places.end()) continue;
    origins_[place] = Origin::kSum;
    sums_.push_back({.place = place, .first = first->second, .second = second->second});
  }
}

// Counters that only inspections read.
void Sampler::TakeInspected(const CounterSets& found) {
  std::size_t index = 0;
  for (const v1::CounterSet& set : found)
    for (const v1::Counter& counter : set.counters()) {
      if (origins_[index] == Origin::kInspected) {
        const Reading reading{.raw = counter.value(), .there = true};
        Advance({&registers_[index], 1}, {&reading, 1}, {&totals_[index], 1});
        const Total& total = totals_[index];
        values_[index] = {
            .value = total.value, .resets = total.resets, .saturated = counter.saturated()};
      }
      ++index;
    }
}

bool Sampler::Tick() {
  back_ = false;
  const bool refresh = ++ticks_ % kRefreshEvery == 0;
  for (Slice& slice : slices_) {
    if (slice.reader == nullptr) continue;
    progress_.At(slice.place);
    if (refresh) slice.reader->Refresh();
    ReadSlice(slice);
  }
  for (const Sum& sum : sums_) {
    const Value& first = values_[sum.first];
    const Value& second = values_[sum.second];
    values_[sum.place] = {.value = first.value + second.value,
                          .resets = first.resets + second.resets,
                          .saturated = first.saturated || second.saturated,
                          .lost = first.lost || second.lost};
  }
  return !std::exchange(fresh_, false) && back_;
}

void Sampler::ReadSlice(Slice& slice) {
  const std::span<Reading> readings = std::span(readings_).subspan(slice.begin, slice.size);
  const Status status = slice.reader->Read(readings);
  if (!status.ok()) {
    if (MayPass(status) && ++slice.failures < kFailuresMax) return;
    for (Reading& reading : readings) reading.there = false;
    slice.reader.reset();
  }
  slice.failures = status.ok() ? 0 : slice.failures;
  const std::span<Total> totals = std::span(totals_).subspan(slice.begin, slice.size);
  Advance(std::span(registers_).subspan(slice.begin, slice.size), readings, totals);
  for (std::size_t i = 0; i < slice.size; ++i) {
    if (origins_[slice.begin + i] != Origin::kRead) continue;
    Value& value = values_[slice.begin + i];
    const bool lost = !readings[i].there;
    back_ = back_ || (value.lost && !lost);
    lost_ = lost_ || lost;
    value = {.value = totals[i].value,
             .resets = totals[i].resets,
             .saturated = totals[i].saturated,
             .lost = lost};
  }
}

CounterSets WithValues(const CounterSets& table, std::span<const Value> values) {
  CounterSets sets;
  std::size_t index = 0;
  for (const v1::CounterSet& from : table) {
    v1::CounterSet& to = *sets.Add();
    to.set_device(from.device());
    to.set_port(from.port());
    to.set_netdev(from.netdev());
    for (const v1::Counter& counter : from.counters()) {
      const Value& value = values[index++];
      if (value.lost) continue;
      v1::Counter& added = *to.add_counters();
      added = counter;
      added.set_value(value.value);
      added.set_saturated(value.saturated);
    }
  }
  return sets;
}

}  // namespace fabric::counters
