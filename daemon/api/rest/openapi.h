// OpenAPI document and reference page of the REST API, from descriptors. Comments of the .proto
// files appear if the descriptors have source locations. Pure.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

namespace fabric::api {

// OpenAPI 3.0, JSON, indented.
std::string OpenApiJson(const google::protobuf::ServiceDescriptor& service,
                        std::string_view version);

// Markdown: every rpc with its address, parameters and messages.
std::string ApiReference(const google::protobuf::ServiceDescriptor& service);

}  // namespace fabric::api
