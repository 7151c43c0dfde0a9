// Field mask: the fields of a message that are wanted, "name,state,subject.node". Pure.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

class FieldMask {
 public:
  static constexpr std::size_t kBytesMax = 1024;

  // Empty text: all fields of this type. INVALID_ARGUMENT, with the closest name, for an unknown
  // field.
  static Result<FieldMask> Parse(std::string_view text,
                                 const google::protobuf::Descriptor& element);

  // The mask for a message that has a list of such elements in `list`: all of its other fields.
  FieldMask Within(const google::protobuf::FieldDescriptor& list) const;

  // Clears all other fields.
  void Apply(google::protobuf::Message& message) const;

  // Mask of a field. nullptr: the field is not wanted.
  const FieldMask* Find(const std::string& field) const;

 private:
  std::map<std::string, FieldMask> fields_;  // Empty: all
};

}  // namespace fabric
