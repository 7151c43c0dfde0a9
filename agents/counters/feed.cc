#include "agents/counters/feed.h"

#include <utility>

#include "proto/timestamps.h"

namespace fabric::counters {

void Feed::SetTable(Table table) {
  table_ = std::move(table);
  latest_.reset();
  sent_.reset();
}

void Feed::SetSample(Sample sample) {
  if (sample.table == table_.number) latest_ = std::move(sample);
}

std::optional<v1::CounterTable> Feed::NextTable() {
  if (sent_ || !latest_) return std::nullopt;
  v1::CounterTable table;
  table.set_table_id(++sent_tables_);
  *table.mutable_sets() = WithValues(table_.sets, latest_->values);
  places_.clear();
  sent_.emplace();
  for (std::size_t i = 0; i < latest_->values.size(); ++i) {
    if (latest_->values[i].lost) continue;
    places_.push_back(i);
    sent_->push_back(latest_->values[i]);
  }
  return table;
}

std::optional<v1::CounterSample> Feed::NextSample() {
  if (!sent_ || !latest_) return std::nullopt;
  v1::CounterSample sample;
  std::uint32_t last = 0;
  bool any = false;
  for (std::uint32_t i = 0; i < sent_->size(); ++i) {
    Value& sent = (*sent_)[i];
    const Value& now = latest_->values[places_[i]];
    if (sent == now || sent.lost) continue;
    any = true;
    if (now.lost) {
      sample.add_lost(i);
    } else {
      if (sent.value != now.value) {
        sample.add_index_steps(i - last);
        // Modulo 2^64, as the one who adds it does: also backwards after a reset.
        sample.add_deltas(static_cast<std::int64_t>(now.value - sent.value));
        last = i;
      }
      const bool moves_again = sent.saturated && !now.saturated;
      if (sent.resets != now.resets || moves_again) sample.add_resets(i);
      if (now.saturated && (!sent.saturated || sent.resets != now.resets)) sample.add_saturated(i);
    }
    sent = now;
  }
  if (!any) return std::nullopt;
  sample.set_table_id(sent_tables_);
  *sample.mutable_taken_at() = ToProto(latest_->taken_at);
  return sample;
}

}  // namespace fabric::counters
