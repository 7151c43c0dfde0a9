// Path and query parameters to fields of a request, by reflection. Pure.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::api {

// Sets the scalar field that `path` names ("name", "spec.seed"), or adds to a repeated one. Enums
// go by full name, by short name ("error" for SEVERITY_ERROR) or by number. INVALID_ARGUMENT names
// the parameter, what was expected and what was seen; an unknown name comes with "did you mean".
Status SetField(google::protobuf::Message& message, std::string_view path, std::string_view text);

// Names of the fields that SetField takes at the top level.
std::vector<std::string_view> ParameterNames(const google::protobuf::Descriptor& type);

}  // namespace fabric::api
