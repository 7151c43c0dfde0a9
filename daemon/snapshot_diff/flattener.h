// Builder of flattened messages.
#pragma once

#include <google/protobuf/message.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/snapshot_diff/field_kinds.h"
#include "daemon/snapshot_diff/flatten.h"

namespace fabric::snapshot_diff {

class Flattener {
 public:
  // `counters`: only counters; else all other fields.
  explicit Flattener(bool counters) : counters_(counters) {}

  void Go(std::string path) { path_ = std::move(path); }  // Sets the current path

  // Adds a message or one of its fields at the current path.
  void AddMessage(const google::protobuf::Message& message);
  void AddField(const google::protobuf::Message& message, const Field& field);
  // Adds one element of the list at the current path.
  void AddElement(const google::protobuf::Message& element, const std::string& key);
  void Put(std::string_view name, std::string value);

  FieldValues Take();  // Sorted

 private:
  void Append(std::string_view name);
  void AddElements(const google::protobuf::Message& message,
                   const google::protobuf::FieldDescriptor& field);
  void AddScalar(const google::protobuf::Message& message,
                 const google::protobuf::FieldDescriptor& field);
  void AddScalars(const google::protobuf::Message& message,
                  const google::protobuf::FieldDescriptor& field);
  void AddCommandLine(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field);

  const bool counters_;
  std::string path_;
  FieldValues values_;
};

// Keys of the elements of a list, unique, in order.
std::vector<std::string> KeysOf(const google::protobuf::Message& message,
                                const google::protobuf::FieldDescriptor& field);

}  // namespace fabric::snapshot_diff
