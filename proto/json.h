// Messages as JSON and YAML by the protobuf mapping, with the field names of the .proto files.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// One line with `pretty` false; else two blanks of indentation and a newline at the end.
std::string ToJson(const google::protobuf::Message& message, bool pretty);

// The same data as YAML, newline at the end.
std::string ToYaml(const google::protobuf::Message& message);

// INVALID_ARGUMENT with protobuf's own words, which name the place, for malformed text, unknown
// fields and wrong types. `message` is cleared first.
Status FromJson(std::string_view json, google::protobuf::Message& message);

}  // namespace fabric
