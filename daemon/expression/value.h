// Values of expressions and their static types. Values borrow texts, messages and lists from the
// snapshot or the evaluation.
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
  Kind kind = Kind::kAny;  // kAny: element of [], or an unconstrained parameter
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
// kAny for fields that expressions cannot read: maps and bytes.
Type TypeOfField(const google::protobuf::FieldDescriptor& field);
// "int", "PortState", "list of Gid"
std::string Name(const Type& type);

struct Value;
using List = std::vector<Value>;

// Third truth value. The reason is set only for explanations.
struct Unknown {
  bool absent = false;  // Caused by an absent field; has() makes that false
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

// For an absent field or an UNSPECIFIED enumerator: Unknown, absent.
Value ReadField(const google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor& field);

std::size_t SizeOf(const Value& list);
Value ElementOf(const Value& list, std::size_t index);  // The index must be within

bool Equal(const Value& a, const Value& b);   // Of two known values that may be compared
int Compare(const Value& a, const Value& b);  // Of two numbers or two texts: below, at or above 0
std::string ToText(const Value& value);       // "9000", "ACTIVE", "[0, 50]", "3 entries"

// Enumerator without the prefix of its type: "ACTIVE" of PORT_STATE_ACTIVE.
std::string_view ShortName(const google::protobuf::EnumValueDescriptor& value);

}  // namespace fabric::expression
