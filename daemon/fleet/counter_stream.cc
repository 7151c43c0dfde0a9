#include "daemon/fleet/counter_stream.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace fabric::fleet {
namespace {

// A node with 128 virtual functions has some 10,000 counters.
constexpr int kSetsMax = 4096;
constexpr std::uint32_t kCountersMax = 65536;
constexpr std::size_t kNameBytesMax = 256;

using Indices = google::protobuf::RepeatedField<std::uint32_t>;

bool Fits(const std::string& name) {
  return name.size() <= kNameBytesMax;
}

Status CheckTable(const v1::CounterTable& table) {
  if (table.sets_size() > kSetsMax)
    return {Code::kInvalidArgument,
            Format("counter table: expected at most {} sets, saw {}", kSetsMax, table.sets_size())};
  std::size_t counters = 0;
  for (const v1::CounterSet& set : table.sets()) {
    counters += static_cast<std::size_t>(set.counters_size());
    bool fits = Fits(set.device()) && Fits(set.netdev());
    for (const v1::Counter& counter : set.counters())
      fits = fits && Fits(counter.name()) && Fits(counter.unit()) && Fits(counter.neutral());
    if (!fits)
      return {Code::kInvalidArgument,
              Format("counter table: expected names of at most {} bytes", kNameBytesMax)};
  }
  if (counters > kCountersMax)
    return {Code::kInvalidArgument,
            Format("counter table: expected at most {} counters, saw {}", kCountersMax, counters)};
  return {};
}

Status CheckIndices(std::string_view what, const Indices& indices, std::uint32_t counters) {
  // Each index at most once, which also bounds their number.
  std::uint64_t next = 0;
  for (const std::uint32_t index : indices) {
    if (index < next || index >= counters)
      return {
          Code::kInvalidArgument,
          Format("counter sample: expected {} to ascend below {}, saw {}", what, counters, index)};
    next = std::uint64_t{index} + 1;
  }
  return {};
}

}  // namespace

Status CounterStream::Take(const v1::CounterTable& table, v1::NodeSnapshot& snapshot) {
  RETURN_IF_ERROR(CheckTable(table));
  starts_.clear();
  lost_.clear();
  std::uint32_t counters = 0;
  for (const v1::CounterSet& set : table.sets()) {
    starts_.push_back(counters);
    counters += static_cast<std::uint32_t>(set.counters_size());
  }
  starts_.push_back(counters);
  table_id_ = table.table_id();
  *snapshot.mutable_counters() = table.sets();
  return {};
}

Status CounterStream::Check(const v1::CounterSample& sample) const {
  const std::uint32_t counters = starts_.back();
  if (sample.index_steps_size() != sample.deltas_size())
    return {Code::kInvalidArgument,
            Format("counter sample: expected equal numbers of deltas and indices, saw {} and {}",
                   sample.deltas_size(), sample.index_steps_size())};
  std::uint64_t index = 0;
  for (int i = 0; i < sample.index_steps_size(); ++i) {
    index += sample.index_steps(i);
    if ((i > 0 && sample.index_steps(i) == 0) || index >= counters)
      return {
          Code::kInvalidArgument,
          Format("counter sample: expected indices to ascend below {}, saw {}", counters, index)};
  }
  RETURN_IF_ERROR(CheckIndices("resets", sample.resets(), counters));
  RETURN_IF_ERROR(CheckIndices("saturated", sample.saturated(), counters));
  return CheckIndices("lost", sample.lost(), counters);
}

bool CounterStream::IsLost(std::uint32_t index) const {
  return std::binary_search(lost_.begin(), lost_.end(), index);
}

std::optional<std::pair<int, int>> CounterStream::PlaceOf(std::uint32_t index) const {
  if (starts_.empty() || index >= starts_.back() || IsLost(index)) return {};
  const auto next_set = std::upper_bound(starts_.begin(), starts_.end(), index);
  const std::uint32_t start = *(next_set - 1);
  const auto gone_of_set = std::lower_bound(lost_.begin(), lost_.end(), index) -
                           std::lower_bound(lost_.begin(), lost_.end(), start);
  const auto set = static_cast<int>(next_set - starts_.begin()) - 1;
  return std::pair(set, static_cast<int>(index - start) - static_cast<int>(gone_of_set));
}

Status CounterStream::Take(const v1::CounterSample& sample, v1::NodeSnapshot& snapshot) {
  if (!table_id_ || *table_id_ != sample.table_id())
    return {Code::kFailedPrecondition,
            Format("counter sample: expected table {}, saw table {}",
                   table_id_ ? Format("{}", *table_id_) : "(none)", sample.table_id())};
  RETURN_IF_ERROR(Check(sample));
  const auto at = [&](std::uint32_t index) -> v1::Counter* {
    const auto place = PlaceOf(index);
    if (!place) return nullptr;
    return snapshot.mutable_counters(place->first)->mutable_counters(place->second);
  };
  std::uint32_t index = 0;
  for (int i = 0; i < sample.index_steps_size(); ++i) {
    index += sample.index_steps(i);
    if (v1::Counter* const counter = at(index))
      counter->set_value(counter->value() + static_cast<std::uint64_t>(sample.deltas(i)));
  }
  for (const std::uint32_t reset : sample.resets())
    if (v1::Counter* const counter = at(reset)) counter->set_saturated(false);
  for (const std::uint32_t saturated : sample.saturated())
    if (v1::Counter* const counter = at(saturated)) counter->set_saturated(true);
  Lose(sample, snapshot);
  return {};
}

// Removes the sample's lost counters in one pass over all sets.
void CounterStream::Lose(const v1::CounterSample& sample, v1::NodeSnapshot& snapshot) {
  if (sample.lost().empty()) return;
  std::vector<bool> gone(starts_.back(), false);
  for (const std::uint32_t index : sample.lost()) gone[index] = true;
  for (int set = 0; set < snapshot.counters_size(); ++set) {
    auto& counters = *snapshot.mutable_counters(set)->mutable_counters();
    int from = 0;
    int kept = 0;
    const auto number = static_cast<std::size_t>(set);
    for (std::uint32_t index = starts_[number]; index < starts_[number + 1]; ++index) {
      if (IsLost(index)) continue;
      if (!gone[index]) counters.SwapElements(kept++, from);
      ++from;
    }
    counters.DeleteSubrange(kept, from - kept);
  }
  for (const std::uint32_t index : lost_) gone[index] = true;
  lost_.clear();
  for (std::uint32_t index = 0; index < gone.size(); ++index)
    if (gone[index]) lost_.push_back(index);
}

}  // namespace fabric::fleet
