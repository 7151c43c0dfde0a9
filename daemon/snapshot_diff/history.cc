#include "daemon/snapshot_diff/history.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "daemon/snapshot_diff/flattener.h"
#include "proto/fields.h"
#include "proto/ports.h"

namespace fabric::snapshot_diff {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

// Fast test for equality; false negatives are possible.
bool SameBytes(const Message& a, const Message& b) {
  return a.ByteSizeLong() == b.ByteSizeLong() && a.SerializeAsString() == b.SerializeAsString();
}

// Walks two messages of one type in parallel and records differences.
class Walker {
 public:
  void Walk(const Message& before, const Message& after, const std::string& path) {
    for (const Field& field : FieldsOf(*before.GetDescriptor()))
      if (field.comparison == v1::COMPARISON_UNSPECIFIED ||
          field.comparison == v1::COMPARISON_IDENTITY)
        WalkField(before, after, field, path);
  }

  void WalkField(const Message& before, const Message& after, const Field& field,
                 const std::string& path) {
    const FieldDescriptor& descriptor = *field.descriptor;
    const bool message = descriptor.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (message && descriptor.is_repeated()) {
      if (SameElements(before, after, descriptor)) return;
      return WalkElements(before, after, descriptor, Below(path, descriptor.name()));
    }
    const Reflection& reflection = *before.GetReflection();
    if (message && reflection.HasField(before, &descriptor) &&
        reflection.HasField(after, &descriptor)) {
      if (SameBytes(reflection.GetMessage(before, &descriptor),
                    reflection.GetMessage(after, &descriptor)))
        return;
      return Walk(reflection.GetMessage(before, &descriptor),
                  reflection.GetMessage(after, &descriptor), Below(path, descriptor.name()));
    }
    if (!message && Same(before, after, descriptor)) return;
    before_.Go(path);
    before_.AddField(before, field);
    after_.Go(path);
    after_.AddField(after, field);
  }

  // nullptr: absent
  void WalkElement(const Message* before, const Message* after, const std::string& list,
                   const std::string& key) {
    if (before != nullptr && after != nullptr) return Walk(*before, *after, list + "[" + key + "]");
    Flattener& side = before != nullptr ? before_ : after_;
    side.Go(list);
    side.AddElement(before != nullptr ? *before : *after, key);
  }

  Differences Take() { return Compare(before_.Take(), after_.Take()); }

 private:
  static bool Same(const Message& before, const Message& after, const FieldDescriptor& field) {
    const Reflection& reflection = *before.GetReflection();
    if (!field.is_repeated()) {
      const bool has = HasValue(before, field);
      const bool had = HasValue(after, field);
      return has == had && (!has || ValueText(before, field, -1) == ValueText(after, field, -1));
    }
    const int size = reflection.FieldSize(before, &field);
    if (size != reflection.FieldSize(after, &field)) return false;
    for (int i = 0; i < size; ++i)
      if (ValueText(before, field, i) != ValueText(after, field, i)) return false;
    return true;
  }

  static bool SameElements(const Message& before, const Message& after,
                           const FieldDescriptor& field) {
    const Reflection& reflection = *before.GetReflection();
    const int size = reflection.FieldSize(before, &field);
    if (size != reflection.FieldSize(after, &field)) return false;
    for (int i = 0; i < size; ++i)
      if (!SameBytes(reflection.GetRepeatedMessage(before, &field, i),
                     reflection.GetRepeatedMessage(after, &field, i)))
        return false;
    return true;
  }

  static std::map<std::string, const Message*> ByKey(const Message& message,
                                                     const FieldDescriptor& field) {
    std::map<std::string, const Message*> elements;
    int index = 0;
    for (std::string& key : KeysOf(message, field))
      elements[std::move(key)] =
          &message.GetReflection()->GetRepeatedMessage(message, &field, index++);
    return elements;
  }

  void WalkElements(const Message& before, const Message& after, const FieldDescriptor& field,
                    const std::string& path) {
    const auto old = ByKey(before, field);
    const auto now = ByKey(after, field);
    for (const auto& [key, element] : old) {
      const auto found = now.find(key);
      WalkElement(element, found == now.end() ? nullptr : found->second, path, key);
    }
    for (const auto& [key, element] : now)
      if (!old.contains(key)) WalkElement(nullptr, element, path, key);
  }

  Flattener before_{false};
  Flattener after_{false};
};

template <class T>
void WalkList(const google::protobuf::RepeatedPtrField<T>& before,
              const google::protobuf::RepeatedPtrField<T>& changed,
              const google::protobuf::RepeatedPtrField<std::string>& removed,
              const std::string& path, Walker& walker) {
  for (const T& element : changed)
    walker.WalkElement(FindNamed(before, element.name()), &element, path, KeyOf(element));
  for (const std::string& name : removed)
    if (const T* const element = FindNamed(before, name))
      walker.WalkElement(element, nullptr, path, KeyOf(*element));
}

}  // namespace

Change ChangeOf(const v1::NodeSnapshot& before, const v1::SnapshotChange& report,
                const google::protobuf::Timestamp& at) {
  Walker walker;
  WalkList(before.rdma_devices(), report.rdma_devices(), report.removed_rdma_devices(),
           "rdma_devices", walker);
  WalkList(before.net_interfaces(), report.net_interfaces(), report.removed_net_interfaces(),
           "net_interfaces", walker);
  for (const Field& field : FieldsOf(*v1::NodeSnapshot::descriptor())) {
    const bool touched = std::find(report.fields().begin(), report.fields().end(),
                                   field.descriptor->name()) != report.fields().end();
    if (touched && field.comparison == v1::COMPARISON_UNSPECIFIED)
      walker.WalkField(before, report.rest(), field, "");
  }
  Change change;
  for (v1::FieldDifference& difference : walker.Take())
    *change.add_differences() = std::move(difference);
  *change.mutable_since() = at;
  return change;
}

Differences Together(const std::vector<Change>& changes) {
  std::map<std::string, v1::FieldDifference> by_path;
  for (const Change& change : changes) {
    for (const v1::FieldDifference& difference : change.differences()) {
      const auto [at, first] = by_path.try_emplace(difference.path(), difference);
      at->second.set_after(difference.after());
      at->second.set_after_absent(difference.after_absent());
      *at->second.mutable_changed_at() = change.since();
    }
  }
  Differences differences;
  for (auto& [path, difference] : by_path) {
    const bool same = difference.before_absent() == difference.after_absent() &&
                      difference.before() == difference.after();
    if (!same) differences.push_back(std::move(difference));
  }
  Fold(differences);
  return differences;
}

Change MarkOf(const v1::NodeSnapshot& snapshot, const google::protobuf::Timestamp& at) {
  Change mark;
  for (v1::FieldDifference& counter : Compare({}, FlattenCounters(snapshot)))
    *mark.add_differences() = std::move(counter);
  *mark.mutable_since() = at;
  return mark;
}

Differences SinceMark(const Change& mark, const v1::NodeSnapshot& now) {
  FieldValues then;
  for (const v1::FieldDifference& counter : mark.differences())
    then.push_back({.path = counter.path(), .value = counter.after(), .counter = true});
  return Compare(then, FlattenCounters(now));
}

}  // namespace fabric::snapshot_diff
