// Messages as JSON and YAML by the protobuf mapping, with the field names of the .proto files.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// One line if `pretty` is false; else indented by two blanks, with a newline at the end.
// Times that JSON cannot express (outside of the years 1 to 9999) are absent.
std::string ToJson(const google::protobuf::Message& message, bool pretty);

// The same data as YAML, newline at the end.
std::string ToYaml(const google::protobuf::Message& message);

// Clears `message` first. INVALID_ARGUMENT with the message of protobuf, which has the position,
// for malformed text, unknown fields and wrong types.
Status FromJson(std::string_view json, google::protobuf::Message& message);

// The encoded message of this type, before it is decoded: for a check against the bounds. Errors as
// above.
Result<std::string> WireOfJson(std::string_view json, const google::protobuf::Descriptor& type);

}  // namespace fabric
