// Which fields of a snapshot are settings, which count, and which are different on every node or at
// every moment.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace fabric::facts {

enum class FieldKind {
  kSetting,
  kIdentity,  // Different on every node
  kCounter,
  kLeftOut,  // Different at every moment
};
FieldKind KindOf(const google::protobuf::FieldDescriptor& field);

// What an element of a list goes by: "rail0", "dscp 26". Empty: by its index.
std::string KeyOf(const google::protobuf::Message& element);

// Whether the field is part of that.
bool IsKey(const google::protobuf::FieldDescriptor& field);

// A scalar as text; `index` of a list, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field, int index);

}  // namespace fabric::facts
