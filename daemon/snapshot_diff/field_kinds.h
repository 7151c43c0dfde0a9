// Classification of snapshot fields: settings, identities, counters, and fields that always change.
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
  bool key = false;  // Part of the key of a list element
};
// Fields of a message type that occurs in snapshots; empty for other types.
const std::vector<Field>& FieldsOf(const google::protobuf::Descriptor& type);

// Key of a list element: "rail0", "dscp 26". Empty: identified by index.
std::string KeyOf(const google::protobuf::Message& element);

// A scalar as text; `index` within a list, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field, int index);

}  // namespace fabric::snapshot_diff
