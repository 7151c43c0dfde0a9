#include "daemon/api/rest/rest_fields.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Status Bad(std::string_view path, std::string_view expected, std::string_view text) {
  return {Code::kInvalidArgument,
          Format("parameter {}: expected {}, saw {}", Quoted(path), expected, Quoted(text))};
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// The part of an enumerator that differs: "ERROR" of SEVERITY_ERROR, by the zero enumerator's
// "_UNSPECIFIED".
std::string_view ShortName(const EnumDescriptor& type, std::string_view name) {
  constexpr std::string_view kUnset = "UNSPECIFIED";
  const std::string_view zero = type.value(0)->name();
  if (!zero.ends_with(kUnset)) return name;
  const std::string_view prefix = zero.substr(0, zero.size() - kUnset.size());
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

const EnumValueDescriptor* FindEnumerator(const EnumDescriptor& type, std::string_view text) {
  const auto number = ParseNumber<int>(text);
  if (number.ok()) return type.FindValueByNumber(*number);
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string& name = type.value(i)->name();
    if (SameWord(name, text) || SameWord(ShortName(type, name), text)) return type.value(i);
  }
  return nullptr;
}

std::string Choices(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) {
    std::string name(ShortName(type, type.value(i)->name()));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    names.push_back(name);
  }
  return "one of " + Join(names, ", ");
}

struct Target {
  Message& message;
  const FieldDescriptor& field;
  std::string_view path;
  std::string_view text;
};

// `set` and `add` are members of Reflection.
template <class T, class Setter, class Adder>
Status Put(const Target& to, T value, Setter set, Adder add) {
  const Reflection& reflection = *to.message.GetReflection();
  if (to.field.is_repeated())
    (reflection.*add)(&to.message, &to.field, std::move(value));
  else
    (reflection.*set)(&to.message, &to.field, std::move(value));
  return {};
}

template <class T, class Setter, class Adder>
Status PutNumber(const Target& to, Setter set, Adder add) {
  const auto value = ParseNumber<T>(to.text);
  if (!value.ok())
    return Bad(to.path,
               std::is_signed_v<T>
                   ? Format("a whole number of {} bits", 8 * sizeof(T))
                   : Format("a whole number of {} bits, not negative", 8 * sizeof(T)),
               to.text);
  return Put(to, *value, set, add);
}

Status PutBool(const Target& to) {
  // "?include_resolved" without a value means yes.
  const bool yes = to.text == "true" || to.text == "1" || to.text.empty();
  if (!yes && to.text != "false" && to.text != "0") return Bad(to.path, "true or false", to.text);
  return Put(to, yes, &Reflection::SetBool, &Reflection::AddBool);
}

Status PutDouble(const Target& to) {
  double value = 0;
  const char* const end = to.text.data() + to.text.size();
  const auto [at, error] = std::from_chars(to.text.data(), end, value);
  if (error != std::errc() || at != end) return Bad(to.path, "a number", to.text);
  return Put(to, value, &Reflection::SetDouble, &Reflection::AddDouble);
}

Status PutEnum(const Target& to) {
  const EnumDescriptor& type = *to.field.enum_type();
  const EnumValueDescriptor* const value = FindEnumerator(type, to.text);
  if (value == nullptr) return Bad(to.path, Choices(type), to.text);
  return Put(to, value, &Reflection::SetEnum, &Reflection::AddEnum);
}

Status SetScalar(const Target& to) {
  switch (to.field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return PutNumber<std::int32_t>(to, &Reflection::SetInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_UINT32:
      return PutNumber<std::uint32_t>(to, &Reflection::SetUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return PutNumber<std::int64_t>(to, &Reflection::SetInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return PutNumber<std::uint64_t>(to, &Reflection::SetUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE: return PutDouble(to);
    case FieldDescriptor::CPPTYPE_BOOL: return PutBool(to);
    case FieldDescriptor::CPPTYPE_ENUM: return PutEnum(to);
    case FieldDescriptor::CPPTYPE_STRING:
      if (to.field.type() == FieldDescriptor::TYPE_BYTES) break;
      return Put(to, std::string(to.text), &Reflection::SetString, &Reflection::AddString);
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  return {Code::kInvalidArgument,
          Format("parameter {}: cannot be given in the address", Quoted(to.path))};
}

}  // namespace

std::vector<std::string_view> ParameterNames(const Descriptor& type) {
  std::vector<std::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

Status SetField(Message& message, std::string_view path, std::string_view text) {
  Message* target = &message;
  const std::vector<std::string_view> parts = Split(path, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Descriptor& type = *target->GetDescriptor();
    const FieldDescriptor* const field = type.FindFieldByName(std::string(parts[i]));
    if (field == nullptr)
      return {Code::kInvalidArgument, Format("unknown parameter {}{}", Quoted(path),
                                             Suggest(parts[i], ParameterNames(type)))};
    if (i + 1 == parts.size()) return SetScalar({*target, *field, path, text});
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated())
      return {Code::kInvalidArgument,
              Format("unknown parameter {}: {} has no fields", Quoted(path), Quoted(parts[i]))};
    target = target->GetReflection()->MutableMessage(target, field);
  }
  return {};
}

}  // namespace fabric::api
