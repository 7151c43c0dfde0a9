#include "proto/message_yaml.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using yaml::Node;

// TRUST_DSCP of enum Trust is "dscp".
std::string Word(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::string word = value.name().substr(prefix.size() + 1);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

std::string ScalarType(const FieldDescriptor& field, const FieldBound* bound) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return "true or false";
    case FieldDescriptor::CPPTYPE_STRING: return "a text";
    case FieldDescriptor::CPPTYPE_DOUBLE: return "a number";
    default: break;
  }
  if (bound != nullptr) return Format("a number from {} to {}", bound->min, bound->max);
  return "a whole number";
}

bool IsList(const FieldDescriptor& field) {
  const auto* const type = field.message_type();
  return type != nullptr && type->field_count() == 1 && type->field(0)->is_repeated() &&
         type->field(0)->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

// Continues after an error, to report all of them.
class Reader {
 public:
  Reader(std::span<const FieldBound> bounds, std::vector<yaml::Problem>& problems)
      : bounds_(bounds), problems_(problems) {}

  void ReadFields(const Node& node, Message& message) {
    if (node.kind != Node::Kind::kMap) return Expected(node, "lines 'name: value'");
    std::set<std::string> seen;
    for (const auto& [key, value] : node.entries) {
      if (key.kind != Node::Kind::kText) {
        Expected(key, "a name");
        continue;
      }
      const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(key.text);
      if (field == nullptr)
        Report(key, UnknownKey(key.text, message));
      else if (!seen.insert(key.text).second)
        Report(key, Format("{} is given twice", Quoted(key.text)));
      else
        ReadField(value, *field, message);
    }
  }

 private:
  void Report(const Node& at, std::string message) {
    problems_.push_back({.file = {}, .position = at.position, .message = std::move(message)});
  }
  void Expected(const Node& node, std::string_view what) {
    Report(node, Format("expected {}, saw {}", what, Seen(node)));
  }

  static std::string UnknownKey(const std::string& name, const Message& message) {
    Candidates known;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i)
      known.push_back(message.GetDescriptor()->field(i)->name());
    // Without a suggestion: names with the same prefix, or all.
    constexpr std::size_t kPrefix = 4;
    std::vector<std::string> names;
    for (const std::string_view each : known)
      if (each.substr(0, kPrefix) == std::string_view(name).substr(0, kPrefix))
        names.emplace_back(each);
    if (names.empty()) names.assign(known.begin(), known.end());
    std::sort(names.begin(), names.end());
    return UnknownName("key", name, known, Format("; expected {}", Join(names, ", ")));
  }

  void ReadField(const Node& value, const FieldDescriptor& field, Message& message) {
    const Reflection& reflection = *message.GetReflection();
    if (value.kind == Node::Kind::kNothing) {
      Report(value, Format("{} has no value", field.name()));
    } else if (field.is_repeated()) {
      ReadList(value, field, message);
    } else if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      ReadScalar(value, field, message);
    } else if (IsList(field)) {
      ReadList(value, *field.message_type()->field(0),
               *reflection.MutableMessage(&message, &field));
    } else {
      ReadFields(value, *reflection.MutableMessage(&message, &field));
    }
  }

  void ReadList(const Node& value, const FieldDescriptor& field, Message& message) {
    if (value.kind != Node::Kind::kList)
      return Expected(value, Format("a list of {}", field.name()));
    for (const Node& item : value.items) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        ReadFields(item, *message.GetReflection()->AddMessage(&message, &field));
      else
        ReadScalar(item, field, message);
    }
  }

  void ReadScalar(const Node& node, const FieldDescriptor& field, Message& message) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return ReadEnum(node, field, message);
    if (node.kind != Node::Kind::kText || !Store(node.text, field, message))
      Report(node, Format("{}: expected {}, saw {}", field.name(),
                          ScalarType(field, BoundOf(field)), Seen(node)));
  }

  void ReadEnum(const Node& node, const FieldDescriptor& field, Message& message) {
    std::vector<std::string> words;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      const EnumValueDescriptor& value = *field.enum_type()->value(i);
      if (value.number() == 0) continue;  // "Unspecified"
      words.push_back(Word(value));
      if (node.kind != Node::Kind::kText || node.text != words.back()) continue;
      message.GetReflection()->SetEnum(&message, &field, &value);
      return;
    }
    Report(node,
           Format("{}: expected one of {}, saw {}", field.name(), Join(words, ", "), Seen(node)));
  }

  const FieldBound* BoundOf(const FieldDescriptor& field) const {
    const auto found = std::find_if(bounds_.begin(), bounds_.end(), [&](const FieldBound& bound) {
      return bound.field == field.name();
    });
    return found == bounds_.end() ? nullptr : &*found;
  }

  bool InBounds(std::uint64_t number, const FieldDescriptor& field) const {
    if (const FieldBound* const bound = BoundOf(field))
      return number >= bound->min && number <= bound->max;
    return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
           number <= std::numeric_limits<std::uint32_t>::max();
  }

  // False when the text is not a value of the field.
  bool Store(const std::string& text, const FieldDescriptor& field, Message& message) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        if (text != "true" && text != "false") return false;
        reflection.SetBool(&message, &field, text == "true");
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.is_repeated())
          reflection.AddString(&message, &field, text);
        else
          reflection.SetString(&message, &field, text);
        return !text.empty();
      case FieldDescriptor::CPPTYPE_DOUBLE: return StoreDouble(text, field, message);
      default: break;
    }
    const bool hex = text.starts_with("0x");
    const auto number = ParseNumber<std::uint64_t>(text, hex ? 16 : 10);
    if (!number.ok() || !InBounds(*number, field)) return false;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64)
      reflection.SetUInt64(&message, &field, *number);
    else if (field.is_repeated())
      reflection.AddUInt32(&message, &field, static_cast<std::uint32_t>(*number));
    else
      reflection.SetUInt32(&message, &field, static_cast<std::uint32_t>(*number));
    return true;
  }

  static bool StoreDouble(const std::string& text, const FieldDescriptor& field, Message& message) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return false;
    message.GetReflection()->SetDouble(&message, &field, number);
    return true;
  }

  std::span<const FieldBound> bounds_;
  std::vector<yaml::Problem>& problems_;
};

std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return yaml::QuotedScalar(repeated ? reflection.GetRepeatedString(message, &field, index)
                                         : reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Format("{}", reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM: return Word(*reflection.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Format("{}", reflection.GetUInt64(message, &field));
    default:
      return Format("{}", repeated ? reflection.GetRepeatedUInt32(message, &field, index)
                                   : reflection.GetUInt32(message, &field));
  }
}

std::string ListText(const Message& message, const FieldDescriptor& field) {
  std::vector<std::string> items;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i)
    items.push_back(ScalarText(message, field, i));
  return "[" + Join(items, ", ") + "]";
}

void Append(const Message& message, const std::string& indent, std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string head = indent + field->name() + ":";
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        (IsList(*field) && !field->is_repeated())) {
      out += head + " " + WriteValue(message, *field) + "\n";
    } else if (field->is_repeated()) {
      out += head + "\n";
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        out += indent + "  -\n";
        Append(reflection.GetRepeatedMessage(message, field, i), indent + "    ", out);
      }
    } else {
      out += head + "\n";
      Append(reflection.GetMessage(message, field), indent + "  ", out);
    }
  }
}

}  // namespace

void ReadMessage(const Node& node, std::span<const FieldBound> bounds, Message& message,
                 std::vector<yaml::Problem>& problems) {
  Reader(bounds, problems).ReadFields(node, message);
}

std::string WriteValue(const Message& message, const FieldDescriptor& field) {
  if (IsList(field))
    return ListText(message.GetReflection()->GetMessage(message, &field),
                    *field.message_type()->field(0));
  return field.is_repeated() ? ListText(message, field) : ScalarText(message, field, 0);
}

std::string WriteMessage(const Message& message) {
  std::string text;
  Append(message, "", text);
  return text;
}

}  // namespace fabric
