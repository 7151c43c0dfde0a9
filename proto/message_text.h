// Messages as JSON and YAML text, written by reflection: the only memory they need is the text. The
// mapping is that of protobuf, with the field names of the .proto files. Pure.
//
// A field with presence (optional, message, oneof) is omitted if it is not set; all others are
// always written, so that 0 and "not read" differ. 64-bit integers are texts. Control and format
// characters are escaped, and bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "proto/field_mask.h"

namespace fabric {

enum class JsonStyle { kOneLine, kIndented };

// Appends the fields in the mask. DATA_LOSS, with the name of the field, for a timestamp outside of
// the years 1 to 9999; the text is then incomplete.
Status AppendJson(const google::protobuf::Message& message, JsonStyle style, std::string& out,
                  const FieldMask& mask = {});

// Appends lines in block style. Strings that a parser would take for another type are quoted.
Status AppendYaml(const google::protobuf::Message& message, std::string& out);

// The text in double quotes.
std::string JsonString(std::string_view text);

}  // namespace fabric
