// Fields of snapshots with their options for comparison (fabric/v1/options.proto).
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "fabric/v1/options.pb.h"

namespace fabric::snapshot_diff {

struct Field {
  const google::protobuf::FieldDescriptor* descriptor = nullptr;
  v1::Comparison comparison = v1::COMPARISON_UNSPECIFIED;
  bool key = false;  // Part of the key of a list element
};
// Valid as long as the thread.
const std::vector<Field>& FieldsOf(const google::protobuf::Descriptor& type);

// Key of a list element: "rail0", "dscp 26". Empty: identified by index.
std::string KeyOf(const google::protobuf::Message& element);

}  // namespace fabric::snapshot_diff
