// OpenAPI document and reference page of the REST API, from descriptors. Comments of the .proto
// files appear if the descriptors have source locations. Pure.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::api {

struct OpenApiInput {
  const google::protobuf::ServiceDescriptor& service;
  std::string_view version;
  std::string_view examples;  // Table of class Examples, JSON
};

// OpenAPI 3.0, JSON, indented. Each request body and each answer has an example. Fails when one is
// missing, does not fit its message, or is not used.
Result<std::string> OpenApiJson(const OpenApiInput& input);

// Markdown: every rpc with its address, parameters and messages.
std::string ApiReference(const google::protobuf::ServiceDescriptor& service);

}  // namespace fabric::api
