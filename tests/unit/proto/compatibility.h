// Wire and JSON compatibility of two versions of a protobuf schema.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace fabric::proto {

// Breaking changes from `before` to `now`: one line each, "fabric.v1.Port.lid: removed". Allowed:
// new files, messages, fields, enum values, services and methods, and a field that becomes
// `optional`. Everything else that clients can see (names, numbers, types, HTTP paths) is a break.
// A field that is removed must be `reserved`, but is still a break.
std::vector<std::string> BreakingChanges(const google::protobuf::FileDescriptorSet& before,
                                         const google::protobuf::FileDescriptorSet& now);

}  // namespace fabric::proto
