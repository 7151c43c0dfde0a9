#include "proto/fields.h"

#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/priority_mask.h"
#include "base/text.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/names.h"

namespace fabric {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::uint64_t Unsigned(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64)
    return index >= 0 ? reflection.GetRepeatedUInt64(message, &field, index)
                      : reflection.GetUInt64(message, &field);
  return index >= 0 ? reflection.GetRepeatedUInt32(message, &field, index)
                    : reflection.GetUInt32(message, &field);
}

bool Truth(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  return index >= 0 ? reflection.GetRepeatedBool(message, &field, index)
                    : reflection.GetBool(message, &field);
}

const EnumValueDescriptor& Enumerator(const Message& message, const FieldDescriptor& field,
                                      int index) {
  const Reflection& reflection = *message.GetReflection();
  return index >= 0 ? *reflection.GetRepeatedEnum(message, &field, index)
                    : *reflection.GetEnum(message, &field);
}

}  // namespace

std::string EnumText(const EnumValueDescriptor& value) {
  const std::string_view type = value.type()->name();
  const int number = value.number();
  std::string_view name = "?";
  if (type == "PortState") name = Name(static_cast<v1::PortState>(number));
  if (type == "PhysicalState") name = Name(static_cast<v1::PhysicalState>(number));
  if (type == "LinkLayer") name = Name(static_cast<v1::LinkLayer>(number));
  if (type == "Protocol") name = Name(static_cast<v1::Protocol>(number));
  if (type == "GidType") name = Name(static_cast<v1::GidType>(number));
  if (type == "NodeType") name = Name(static_cast<v1::NodeType>(number));
  if (type == "OperState") name = Name(static_cast<v1::OperState>(number));
  if (type == "Trust") name = Name(static_cast<v1::Trust>(number));
  if (type == "GapCode") name = Name(static_cast<v1::GapCode>(number));
  if (name != "?") return std::string(name);
  std::size_t prefix = 0;
  for (std::size_t i = 0; i < type.size(); ++i)
    prefix += i > 0 && std::isupper(static_cast<unsigned char>(type[i])) != 0 ? 2 : 1;
  std::string text = value.name().size() > prefix ? value.name().substr(prefix + 1) : value.name();
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<int>(c)));
  return text;
}

bool HasValue(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) > 0;
  return !field.has_presence() || reflection.HasField(message, &field);
}

std::string ValueText(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return Truth(message, field, index) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return index >= 0 ? reflection.GetRepeatedString(message, &field, index)
                        : reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM: return EnumText(Enumerator(message, field, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Format("{}", reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_INT32: return Format("{}", reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_UINT32: {
      const std::uint64_t number = Unsigned(message, field, index);
      if (field.name() == "enabled_mask")
        return ToText(PriorityMask(static_cast<std::uint32_t>(number)));
      return field.name() == "pkeys" ? Format("0x{:04x}", number) : Format("{}", number);
    }
    default: return {};
  }
}

double ValueNumber(const Message& message, const FieldDescriptor& field, int index) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return Truth(message, field, index) ? 1 : 0;
    case FieldDescriptor::CPPTYPE_ENUM: return Enumerator(message, field, index).number();
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return message.GetReflection()->GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_INT32: return message.GetReflection()->GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_UINT32:
      return static_cast<double>(Unsigned(message, field, index));
    default: return 0;
  }
}

}  // namespace fabric
