// Values of expressions, and the types that the checker gives them. Values borrow: texts, messages
// and lists belong to the snapshot or to the evaluation that made them.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fabric::expression {

struct Type {
  enum class Kind : std::uint8_t { kBool, kInt, kDouble, kText, kEnum, kMessage, kAny };
  Kind kind = Kind::kAny;  // kAny: the element of [], and whatever a function does not care about
  int lists = 0;           // 1: a list of these, 2: a list of such lists
  const google::protobuf::Descriptor* message = nullptr;
  const google::protobuf::EnumDescriptor* enumeration = nullptr;

  bool Is(Kind single) const { return lists == 0 && kind == single; }
  bool IsNumber() const { return Is(Kind::kInt) || Is(Kind::kDouble); }
  Type Element() const;
  Type ListOf() const;

  friend bool operator==(const Type&, const Type&) = default;
};

Type MessageType(const google::protobuf::Descriptor& message);
// kAny where expressions cannot read the field: maps and bytes.
Type TypeOfField(const google::protobuf::FieldDescriptor& field);
// "int", "PortState", "list of Gid"
std::string Name(const Type& type);

struct Value;
using List = std::vector<Value>;

// Third truth value: nothing is known. The reason is told only where somebody asked for it.
struct Unknown {
  bool absent = false;  // Because a field is not there; has() makes that false
  std::string_view reason = {};
};

// A repeated field of a message.
struct FieldList {
  const google::protobuf::Message* message = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
};

using Enumerator = const google::protobuf::EnumValueDescriptor*;

struct Value {
  // Integers that fit are int64_t; uint64_t holds only those above.
  std::variant<Unknown, bool, std::int64_t, std::uint64_t, double, std::string_view, Enumerator,
               const google::protobuf::Message*, FieldList, const List*>
      is;

  template <class T>
  const T* As() const {
    return std::get_if<T>(&is);
  }
  bool IsUnknown() const { return is.index() == 0; }
};

__extension__ typedef __int128 Wide;

bool IsInteger(const Value& value);
Wide ToWide(const Value& integer);
Value FromWide(Wide number);  // Unknown outside of -2^63 to 2^64 - 1
double ToDouble(const Value& number);

// Of a field that is not there, or of an enumeration that says UNSPECIFIED: Unknown, absent.
Value ReadField(const google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor& field);

std::size_t SizeOf(const Value& list);
Value ElementOf(const Value& list, std::size_t index);  // The index must be within

bool Equal(const Value& a, const Value& b);   // Of two known values that may be compared
int Compare(const Value& a, const Value& b);  // Of two numbers or two texts: below, at or above 0
std::string ToText(const Value& value);       // "9000", "ACTIVE", "[0, 50]", "3 entries"

// "ACTIVE" of PORT_STATE_ACTIVE: what is left without the name of the enumeration.
std::string_view ShortName(const google::protobuf::EnumValueDescriptor& value);

}  // namespace fabric::expression
