// Entries of a map in a fixed order: a map of protobuf has none. Pure.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>

namespace fabric {

// By their keys, which are texts in all messages. The entries belong to `message`.
std::map<std::string, const google::protobuf::Message*> MapEntries(
    const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& map);

}  // namespace fabric
