// Messages as YAML that people write, by reflection. Pure.
//
// Keys are field names. Enumerators are their names in lower case without the type's prefix: "dscp"
// for TRUST_DSCP. A message that has one repeated scalar field only is written as a plain list.
// Numbers are decimal, or hexadecimal with 0x.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace fabric {

// Range of a number field, narrower than its type's. Applies to all fields of that name.
struct FieldBound {
  std::string_view field;
  std::uint64_t min = 0, max = 0;
};

// Sets the fields of `message` that the map `node` has. Adds a problem, without a file, for each
// unknown or repeated key and each invalid value, and continues.
void ReadMessage(const yaml::Node& node, std::span<const FieldBound> bounds,
                 google::protobuf::Message& message, std::vector<yaml::Problem>& problems);

// YAML that ReadMessage() reads back.
std::string WriteMessage(const google::protobuf::Message& message);
// The value of one field, as WriteMessage() writes it after the key: a scalar or a list.
std::string WriteValue(const google::protobuf::Message& message,
                       const google::protobuf::FieldDescriptor& field);

}  // namespace fabric
