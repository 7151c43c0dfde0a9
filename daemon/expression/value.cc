#include "daemon/expression/value.h"

#include <algorithm>
#include <limits>

#include "base/lists.h"
#include "base/text.h"
#include "base/utf8.h"

namespace fabric::expression {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kShownElementsMax = 16;
constexpr std::size_t kShownBytesMax = 200;

Value FromUnsigned(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return {static_cast<std::int64_t>(number)};
  return {number};
}

Value FromEnumerator(Enumerator value) {
  if (value->number() == 0 && ShortName(*value) == "UNSPECIFIED") return {Unknown{.absent = true}};
  return {value};
}

// Scratch for texts that are not std::string in memory; those of our messages are.
std::string_view TextOf(const std::string& text, const std::string& scratch) {
  return &text == &scratch ? std::string_view() : std::string_view(text);
}

std::string Shortened(std::string_view text) {
  if (text.size() <= kShownBytesMax) return std::string(text);
  return std::string(Utf8Prefix(text, kShownBytesMax)) + "...";
}

std::string ListText(const Value& list) {
  const std::size_t size = SizeOf(list);
  if (size == 0) return "empty";
  if (ElementOf(list, 0).As<const Message*>() != nullptr)
    return Format("{} {}", size, size == 1 ? "entry" : "entries");
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(size, kShownElementsMax); ++i)
    parts.push_back(ToText(ElementOf(list, i)));
  return "[" + ListSome(parts, kShownElementsMax, size) + "]";
}

}  // namespace

Type Type::Element() const {
  Type element = *this;
  if (lists > 0) --element.lists;
  return element;
}

Type Type::ListOf() const {
  Type list = *this;
  ++list.lists;
  return list;
}

Type MessageType(const google::protobuf::Descriptor& message) {
  return {.kind = Type::Kind::kMessage, .message = &message};
}

Type TypeOfField(const FieldDescriptor& field) {
  if (field.is_map() || field.type() == FieldDescriptor::TYPE_BYTES) return {};
  Type type{.lists = field.is_repeated() ? 1 : 0};
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: type.kind = Type::Kind::kBool; break;
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64: type.kind = Type::Kind::kInt; break;
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE: type.kind = Type::Kind::kDouble; break;
    case FieldDescriptor::CPPTYPE_STRING: type.kind = Type::Kind::kText; break;
    case FieldDescriptor::CPPTYPE_ENUM:
      type.kind = Type::Kind::kEnum;
      type.enumeration = field.enum_type();
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      type.kind = Type::Kind::kMessage;
      type.message = field.message_type();
      break;
  }
  return type;
}

std::string Name(const Type& type) {
  std::string name;
  for (int i = 0; i < type.lists; ++i) name += "list of ";
  switch (type.kind) {
    case Type::Kind::kBool: return name + "bool";
    case Type::Kind::kInt: return name + "int";
    case Type::Kind::kDouble: return name + "double";
    case Type::Kind::kText: return name + "string";
    case Type::Kind::kEnum: return name + type.enumeration->name();
    case Type::Kind::kMessage: return name + type.message->name();
    case Type::Kind::kAny: return name + "anything";
  }
  return name;
}

bool IsInteger(const Value& value) {
  return value.As<std::int64_t>() != nullptr || value.As<std::uint64_t>() != nullptr;
}

Wide ToWide(const Value& integer) {
  if (const auto* number = integer.As<std::int64_t>()) return *number;
  const auto* number = integer.As<std::uint64_t>();
  return number == nullptr ? 0 : static_cast<Wide>(*number);
}

Value FromWide(Wide number) {
  if (number < std::numeric_limits<std::int64_t>::min()) return {};
  if (number <= std::numeric_limits<std::int64_t>::max())
    return {static_cast<std::int64_t>(number)};
  if (number <= static_cast<Wide>(std::numeric_limits<std::uint64_t>::max()))
    return {static_cast<std::uint64_t>(number)};
  return {};
}

double ToDouble(const Value& number) {
  if (const auto* real = number.As<double>()) return *real;
  return static_cast<double>(ToWide(number));
}

Value ReadField(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated()) return {FieldList{&message, &field}};
  const Reflection& reflection = *message.GetReflection();
  if (field.has_presence() && !reflection.HasField(message, &field))
    return {Unknown{.absent = true}};
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return {reflection.GetBool(message, &field)};
    case FieldDescriptor::CPPTYPE_INT32:
      return {std::int64_t{reflection.GetInt32(message, &field)}};
    case FieldDescriptor::CPPTYPE_INT64:
      return {std::int64_t{reflection.GetInt64(message, &field)}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {std::int64_t{reflection.GetUInt32(message, &field)}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return FromUnsigned(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT: return {double{reflection.GetFloat(message, &field)}};
    case FieldDescriptor::CPPTYPE_DOUBLE: return {reflection.GetDouble(message, &field)};
    case FieldDescriptor::CPPTYPE_ENUM: return FromEnumerator(reflection.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE: return {&reflection.GetMessage(message, &field)};
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      return {TextOf(reflection.GetStringReference(message, &field, &scratch), scratch)};
    }
  }
  return {};
}

std::size_t SizeOf(const Value& list) {
  if (const auto* own = list.As<const List*>()) return (*own)->size();
  const auto* repeated = list.As<FieldList>();
  if (repeated == nullptr) return 0;
  const Message& message = *repeated->message;
  return static_cast<std::size_t>(message.GetReflection()->FieldSize(message, repeated->field));
}

Value ElementOf(const Value& list, std::size_t index) {
  if (const auto* own = list.As<const List*>()) return (**own)[index];
  const auto* repeated = list.As<FieldList>();
  if (repeated == nullptr) return {};
  const Message& message = *repeated->message;
  const FieldDescriptor* field = repeated->field;
  const Reflection& reflection = *message.GetReflection();
  const int at = static_cast<int>(index);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return {reflection.GetRepeatedBool(message, field, at)};
    case FieldDescriptor::CPPTYPE_INT32:
      return {std::int64_t{reflection.GetRepeatedInt32(message, field, at)}};
    case FieldDescriptor::CPPTYPE_INT64:
      return {std::int64_t{reflection.GetRepeatedInt64(message, field, at)}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {std::int64_t{reflection.GetRepeatedUInt32(message, field, at)}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return FromUnsigned(reflection.GetRepeatedUInt64(message, field, at));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {double{reflection.GetRepeatedFloat(message, field, at)}};
    case FieldDescriptor::CPPTYPE_DOUBLE: return {reflection.GetRepeatedDouble(message, field, at)};
    case FieldDescriptor::CPPTYPE_ENUM:
      return FromEnumerator(reflection.GetRepeatedEnum(message, field, at));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return {&reflection.GetRepeatedMessage(message, field, at)};
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      return {TextOf(reflection.GetRepeatedStringReference(message, field, at, &scratch), scratch)};
    }
  }
  return {};
}

bool Equal(const Value& a, const Value& b) {
  if (IsInteger(a) && IsInteger(b)) return ToWide(a) == ToWide(b);
  if (a.As<double>() != nullptr || b.As<double>() != nullptr) return ToDouble(a) == ToDouble(b);
  if (const auto* text = a.As<std::string_view>())
    return b.As<std::string_view>() != nullptr && *text == *b.As<std::string_view>();
  if (const auto* truth = a.As<bool>()) return b.As<bool>() != nullptr && *truth == *b.As<bool>();
  if (const auto* value = a.As<Enumerator>())
    return b.As<Enumerator>() != nullptr && (*value)->number() == (*b.As<Enumerator>())->number();
  const std::size_t size = SizeOf(a);
  if (size != SizeOf(b)) return false;
  for (std::size_t i = 0; i < size; ++i)
    if (!Equal(ElementOf(a, i), ElementOf(b, i))) return false;
  return true;
}

int Compare(const Value& a, const Value& b) {
  if (IsInteger(a) && IsInteger(b)) return ToWide(a) < ToWide(b) ? -1 : ToWide(a) > ToWide(b);
  if (const auto* text = a.As<std::string_view>())
    return b.As<std::string_view>() == nullptr ? 0 : text->compare(*b.As<std::string_view>());
  return ToDouble(a) < ToDouble(b) ? -1 : ToDouble(a) > ToDouble(b);
}

std::string ToText(const Value& value) {
  if (const auto* truth = value.As<bool>()) return *truth ? "true" : "false";
  if (const auto* number = value.As<std::int64_t>()) return Format("{}", *number);
  if (const auto* number = value.As<std::uint64_t>()) return Format("{}", *number);
  if (const auto* number = value.As<double>()) return Format("{:g}", *number);
  if (const auto* text = value.As<std::string_view>()) return Shortened(*text);
  if (const auto* enumerator = value.As<Enumerator>()) return std::string(ShortName(**enumerator));
  if (const auto* message = value.As<const Message*>())
    return "a " + (*message)->GetDescriptor()->name();
  if (value.IsUnknown()) return "absent";
  return ListText(value);
}

std::string_view ShortName(const google::protobuf::EnumValueDescriptor& value) {
  constexpr std::string_view kUnspecified = "UNSPECIFIED";
  const std::string_view name = value.name();
  const std::string_view first = value.type()->value(0)->name();
  if (!first.ends_with(kUnspecified)) return name;
  const std::string_view prefix = first.substr(0, first.size() - kUnspecified.size());
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

}  // namespace fabric::expression
