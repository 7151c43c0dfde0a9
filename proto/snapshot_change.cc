#include "proto/snapshot_change.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/v1/options.pb.h"

namespace fabric {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::RepeatedPtrField;
using google::protobuf::util::DefaultFieldComparator;
using google::protobuf::util::MessageDifferencer;

// Measured values that differ by less are equal: temperature and power change all the time.
constexpr double kFractionMax = 0.1;

// Calls `set` for each measured value in `type` and the messages in it: a double that the
// comparison of snapshots omits.
void ForMeasured(const Descriptor& type, std::set<const Descriptor*>& seen,
                 const std::function<void(const FieldDescriptor&)>& set) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.message_type() != nullptr) ForMeasured(*field.message_type(), seen, set);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE &&
        field.options().GetExtension(v1::comparison) == v1::COMPARISON_OMITTED)
      set(field);
  }
}

class SettingComparator : public DefaultFieldComparator {
 public:
  SettingComparator() {
    set_float_comparison(APPROXIMATE);
    std::set<const Descriptor*> seen;
    ForMeasured(*v1::NodeSnapshot::descriptor(), seen, [&](const FieldDescriptor& field) {
      SetFractionAndMargin(&field, kFractionMax, 0);
    });
  }
};

bool Same(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  if (a.SerializeAsString() == b.SerializeAsString()) return true;
  SettingComparator comparator;
  MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(a, b);
}

template <class T>
bool DiffByName(const RepeatedPtrField<T>& before, const RepeatedPtrField<T>& after,
                RepeatedPtrField<T>& changed, RepeatedPtrField<std::string>& removed) {
  std::map<std::string, const T*> old;
  for (const T& element : before) old[element.name()] = &element;
  for (const T& element : after) {
    const auto found = old.find(element.name());
    if (found == old.end() || !Same(*found->second, element)) *changed.Add() = element;
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [name, element] : old) *removed.Add() = name;
  return !changed.empty() || !removed.empty();
}

template <class T>
void ApplyByName(RepeatedPtrField<T>& changed, const RepeatedPtrField<std::string>& removed,
                 RepeatedPtrField<T>& elements) {
  if (changed.empty() && removed.empty()) return;
  std::map<std::string, T> by_name;
  for (T& element : elements) by_name[element.name()].Swap(&element);
  for (T& element : changed) by_name[element.name()].Swap(&element);
  for (const std::string& name : removed) by_name.erase(name);
  elements.Clear();
  for (auto& [name, element] : by_name) elements.Add()->Swap(&element);
}

// Fields of NodeSnapshot that a change handles separately, or that are not settings.
bool IsSeparate(const FieldDescriptor& field) {
  switch (field.number()) {
    case v1::NodeSnapshot::kTakenAtFieldNumber:
    case v1::NodeSnapshot::kRdmaDevicesFieldNumber:
    case v1::NodeSnapshot::kNetInterfacesFieldNumber:
    case v1::NodeSnapshot::kCountersFieldNumber: return true;
    default: return false;
  }
}

bool SameField(const v1::NodeSnapshot& a, const v1::NodeSnapshot& b, const FieldDescriptor& field) {
  SettingComparator comparator;
  MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.CompareWithFields(a, b, {&field}, {&field});
}

bool DiffRest(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after,
              v1::SnapshotChange& change) {
  const Descriptor& type = *v1::NodeSnapshot::descriptor();
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (IsSeparate(field) || SameField(before, after, field)) continue;
    change.add_fields(field.name());
    fields.push_back(&field);
  }
  if (fields.empty()) return false;
  v1::NodeSnapshot rest = after;
  rest.GetReflection()->SwapFields(&rest, change.mutable_rest(), fields);
  return change.fields_size() > 0;
}

}  // namespace

std::optional<v1::SnapshotChange> Difference(const v1::NodeSnapshot& before,
                                             const v1::NodeSnapshot& after) {
  v1::SnapshotChange change;
  bool any = DiffByName(before.rdma_devices(), after.rdma_devices(), *change.mutable_rdma_devices(),
                        *change.mutable_removed_rdma_devices());
  any |= DiffByName(before.net_interfaces(), after.net_interfaces(),
                    *change.mutable_net_interfaces(), *change.mutable_removed_net_interfaces());
  any |= DiffRest(before, after, change);
  if (!any) return std::nullopt;
  if (after.has_taken_at()) *change.mutable_taken_at() = after.taken_at();
  return change;
}

void Apply(v1::SnapshotChange change, v1::NodeSnapshot& snapshot) {
  if (change.has_taken_at()) *snapshot.mutable_taken_at() = change.taken_at();
  ApplyByName(*change.mutable_rdma_devices(), change.removed_rdma_devices(),
              *snapshot.mutable_rdma_devices());
  ApplyByName(*change.mutable_net_interfaces(), change.removed_net_interfaces(),
              *snapshot.mutable_net_interfaces());
  std::set<const FieldDescriptor*> fields;  // A name may occur more than once.
  for (const std::string& name : change.fields()) {
    const FieldDescriptor* const field = v1::NodeSnapshot::descriptor()->FindFieldByName(name);
    // Unknown field of a newer agent, or a field that is handled separately.
    if (field != nullptr && !IsSeparate(*field)) fields.insert(field);
  }
  v1::NodeSnapshot& rest = *change.mutable_rest();
  rest.GetReflection()->SwapFields(&rest, &snapshot, {fields.begin(), fields.end()});
}

}  // namespace fabric
