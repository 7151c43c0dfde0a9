// Which fields of a snapshot are settings, which count, and which are different on every node or at
// every moment.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace fabric::snapshot_diff {

enum class FieldKind {
  kSetting,
  kIdentity,  // Different on every node
  kCounter,
  kLeftOut,  // Different at every moment
};
FieldKind KindOf(const google::protobuf::FieldDescriptor& field);

struct Field {
  const google::protobuf::FieldDescriptor* descriptor = nullptr;
  FieldKind kind = FieldKind::kSetting;
  bool key = false;  // Part of what an element goes by
};
// Of any message in a snapshot; none of a message of another kind.
const std::vector<Field>& FieldsOf(const google::protobuf::Descriptor& type);

// What an element of a list goes by: "rail0", "dscp 26". Empty: by its index.
std::string KeyOf(const google::protobuf::Message& element);

// A scalar as text; `index` of a list, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field, int index);

}  // namespace fabric::snapshot_diff
