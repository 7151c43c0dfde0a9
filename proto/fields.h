// Values of message fields by reflection: display text and numbers. Pure.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

namespace fabric {

// Display name of an enumerator: the name of proto/names.h where the type has one, else "pix" for
// PCI_DISTANCE_PIX of PciDistance.
std::string EnumText(const google::protobuf::EnumValueDescriptor& value);

// False for an absent field and an empty list.
bool HasValue(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field);

// A scalar as text; `index` within a list, else -1.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field, int index);

// A number, truth value (0, 1) or enumerator (its number); 0 for other types.
double ValueNumber(const google::protobuf::Message& message,
                   const google::protobuf::FieldDescriptor& field, int index);

}  // namespace fabric
