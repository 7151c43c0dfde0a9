#include "daemon/control/subnets/subnet_histories.h"

#include <algorithm>
#include <utility>

#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

bool IsSame(const v1::SubnetChange& one, const v1::SubnetChange& other) {
  return one.kind() == other.kind() && one.before() == other.before() && one.now() == other.now();
}

std::int64_t LastAt(const v1::SubnetHistory& history) {
  return history.entries().empty() ? 0 : Nanoseconds(history.entries(0).last_at());
}

// Puts the change first: a new entry, or the one of the same change.
void AddTo(v1::SubnetHistory& history, const v1::SubnetChange& change,
           const google::protobuf::Timestamp& at) {
  auto& entries = *history.mutable_entries();
  const auto known = std::ranges::find_if(
      entries, [&](const v1::SubnetHistoryEntry& entry) { return IsSame(entry.change(), change); });
  v1::SubnetHistoryEntry entry;
  if (known != entries.end()) {
    entry = std::move(*known);
    entries.erase(known);
    entry.mutable_change()->set_flaps(entry.change().flaps() + change.flaps());
  } else {
    *entry.mutable_change() = change;
    *entry.mutable_first_at() = at;
  }
  *entry.mutable_last_at() = at;
  entry.set_times(entry.times() + 1);
  if (entries.size() == SubnetHistories::kEntriesMax) entries.RemoveLast();
  *entries.Add() = std::move(entry);
  std::rotate(entries.begin(), entries.end() - 1, entries.end());
}

}  // namespace

void SubnetHistories::Restore(std::vector<v1::SubnetHistory> stored) {
  for (v1::SubnetHistory& history : stored) {
    const std::string name = history.subnet();
    while (history.entries_size() > kEntriesMax) history.mutable_entries()->RemoveLast();
    MakeRoom(name);
    histories_.insert_or_assign(name, std::move(history));
  }
}

void SubnetHistories::MakeRoom(const std::string& subnet) {
  if (histories_.size() < Limit("subnets") || histories_.contains(subnet)) return;
  const auto oldest = std::ranges::min_element(
      histories_, {}, [](const auto& history) { return LastAt(history.second); });
  outbox_.store().DeleteSubnetHistory(oldest->first);
  histories_.erase(oldest);
}

void SubnetHistories::Add(const v1::SubnetEvent& event, Moment now) {
  if (event.changes().empty()) return;
  MakeRoom(event.subnet());
  v1::SubnetHistory& history = histories_[event.subnet()];
  history.set_subnet(event.subnet());
  for (const v1::SubnetChange& change : event.changes()) AddTo(history, change, ToProto(now.wall));
  outbox_.store().PutSubnetHistory(history);
}

const v1::SubnetHistory* SubnetHistories::Find(const std::string& subnet) const {
  const auto history = histories_.find(subnet);
  return history == histories_.end() ? nullptr : &history->second;
}

}  // namespace fabric::control
