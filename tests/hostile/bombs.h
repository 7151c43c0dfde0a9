// Messages with more elements or longer texts than their bounds permit, by descriptor.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace fabric::testing {

// The fields that lead to a list or a text.
using Path = std::vector<const google::protobuf::FieldDescriptor*>;

// Each list of messages or texts below the type, once.
std::vector<Path> ListsOf(const google::protobuf::Descriptor& type);
// Each text below the type that is not in a list, once.
std::vector<Path> TextsOf(const google::protobuf::Descriptor& type);

// With so many empty elements in the last list of the path, and one in those before.
void FillList(const Path& path, int elements, google::protobuf::Message& message);
// With so many bytes in the last text of the path.
void FillText(const Path& path, std::size_t bytes, google::protobuf::Message& message);

std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);

}  // namespace fabric::testing
