// Puts messages into values, part by part.
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
  // `counters`: only these; else all but these.
  explicit Flattener(bool counters) : counters_(counters) {}

  void Go(std::string path) { path_ = std::move(path); }  // Where what follows stands

  // All of a message, or one field of it, its own path being where we are.
  void AddMessage(const google::protobuf::Message& message);
  void AddField(const google::protobuf::Message& message, const Field& field);
  // One element of the list where we are.
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

// Names of the elements of a list, each once, in their order.
std::vector<std::string> KeysOf(const google::protobuf::Message& message,
                                const google::protobuf::FieldDescriptor& field);

}  // namespace fabric::snapshot_diff
