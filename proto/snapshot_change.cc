#include "proto/snapshot_change.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <string>

namespace fabric {
namespace {

using google::protobuf::RepeatedPtrField;
using google::protobuf::util::MessageDifferencer;

bool Same(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  return a.SerializeAsString() == b.SerializeAsString() || MessageDifferencer::Equals(a, b);
}

// A netdev without the frame counters that ride along with its PFC setting.
v1::NetInterface SettingsOnly(v1::NetInterface netdev) {
  if (netdev.has_dcb() && netdev.dcb().has_pfc()) {
    netdev.mutable_dcb()->mutable_pfc()->clear_requests();
    netdev.mutable_dcb()->mutable_pfc()->clear_indications();
  }
  return netdev;
}
const v1::RdmaDevice& SettingsOnly(const v1::RdmaDevice& device) {
  return device;
}

template <class T>
bool SameList(const RepeatedPtrField<T>& a, const RepeatedPtrField<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](const T& x, const T& y) { return Same(x, y); });
}

template <class T>
bool DiffByName(const RepeatedPtrField<T>& before, const RepeatedPtrField<T>& after,
                RepeatedPtrField<T>& changed, RepeatedPtrField<std::string>& removed) {
  std::map<std::string, const T*> old;
  for (const T& element : before) old[element.name()] = &element;
  for (const T& element : after) {
    const auto found = old.find(element.name());
    if (found == old.end() || !Same(SettingsOnly(*found->second), SettingsOnly(element)))
      *changed.Add() = element;
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [name, element] : old) *removed.Add() = name;
  return !changed.empty() || !removed.empty();
}

template <class T>
void ApplyByName(const RepeatedPtrField<T>& changed, const RepeatedPtrField<std::string>& removed,
                 RepeatedPtrField<T>& elements) {
  std::map<std::string, T> by_name;
  for (T& element : elements) by_name[element.name()].Swap(&element);
  for (const T& element : changed) by_name[element.name()] = element;
  for (const std::string& name : removed) by_name.erase(name);
  elements.Clear();
  for (auto& [name, element] : by_name) elements.Add()->Swap(&element);
}

}  // namespace

std::optional<v1::SnapshotChange> Difference(const v1::NodeSnapshot& before,
                                             const v1::NodeSnapshot& after, bool with_counters) {
  v1::SnapshotChange change;
  bool any = DiffByName(before.rdma_devices(), after.rdma_devices(), *change.mutable_rdma_devices(),
                        *change.mutable_removed_rdma_devices());
  any |= DiffByName(before.net_interfaces(), after.net_interfaces(),
                    *change.mutable_net_interfaces(), *change.mutable_removed_net_interfaces());
  if (!SameList(before.gpus(), after.gpus())) {
    *change.mutable_gpus()->mutable_gpus() = after.gpus();
    any = true;
  }
  if (before.has_peer_memory() != after.has_peer_memory() ||
      !Same(before.peer_memory(), after.peer_memory())) {
    *change.mutable_peer_memory() = after.peer_memory();
    any = true;
  }
  if (!SameList(before.gaps(), after.gaps())) {
    *change.mutable_gaps()->mutable_gaps() = after.gaps();
    any = true;
  }
  if (!Same(before.node(), after.node())) {
    *change.mutable_node() = after.node();
    any = true;
  }
  if (with_counters && !SameList(before.counters(), after.counters())) {
    *change.mutable_counters()->mutable_sets() = after.counters();
    any = true;
  }
  if (!any) return std::nullopt;
  if (after.has_taken_at()) *change.mutable_taken_at() = after.taken_at();
  return change;
}

void Apply(const v1::SnapshotChange& change, v1::NodeSnapshot& snapshot) {
  if (change.has_taken_at()) *snapshot.mutable_taken_at() = change.taken_at();
  ApplyByName(change.rdma_devices(), change.removed_rdma_devices(),
              *snapshot.mutable_rdma_devices());
  ApplyByName(change.net_interfaces(), change.removed_net_interfaces(),
              *snapshot.mutable_net_interfaces());
  if (change.has_gpus()) *snapshot.mutable_gpus() = change.gpus().gpus();
  if (change.has_peer_memory()) *snapshot.mutable_peer_memory() = change.peer_memory();
  if (change.has_gaps()) *snapshot.mutable_gaps() = change.gaps().gaps();
  if (change.has_node()) *snapshot.mutable_node() = change.node();
  if (change.has_counters()) *snapshot.mutable_counters() = change.counters().sets();
}

}  // namespace fabric
