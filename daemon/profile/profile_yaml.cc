#include "daemon/profile/profile_yaml.h"

#include <google/protobuf/descriptor.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::profile {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// What a number may be, where the type allows more.
struct Bound {
  std::string_view field;
  std::uint64_t min = 0, max = 0;
};
constexpr Bound kBounds[] = {
    {"priorities", 0, 7},
    {"data_priority", 0, 7},
    {"cnp_priority", 0, 7},
    {"data_dscp", 0, 63},
    {"cnp_dscp", 0, 63},
    {"traffic_class", 0, 255},
    {"rdma_cm_tos", 0, 255},
    {"data_bandwidth_min_percent", 0, 100},
    {"vlan_id", 1, 4094},
    {"netdev_mtu_bytes", 68, 65535},
    {"netdev_mtu_min_bytes", 68, 65535},
    {"rdma_mtu_bytes", 256, 4096},
    {"ib_mtu_bytes", 256, 4096},
    {"max_read_request_bytes", 128, 4096},
    {"width", 1, 16},
    {"full_pkeys", 0, 0x7fff},
};

// A text and where it stands in its file.
struct Document {
  std::string_view file;
  int lines_before = 0;
  std::string text;
};

std::string Place(const Document& document, const YAML::Mark& mark) {
  if (mark.is_null()) return std::string(document.file);
  return Format("{}:{}:{}", document.file, document.lines_before + mark.line + 1, mark.column + 1);
}

// At lines "---". yaml-cpp's own way of reading several documents does not end on some texts.
std::vector<Document> Documents(std::string_view yaml, std::string_view file) {
  std::vector<Document> documents = {{.file = file, .lines_before = 0, .text = {}}};
  int lines = 0;
  for (const std::string_view line : Split(yaml, '\n')) {
    if (Trim(line) == "---")
      documents.push_back({.file = file, .lines_before = lines + 1, .text = {}});
    else
      documents.back().text.append(line) += '\n';
    ++lines;
  }
  return documents;
}

std::string Seen(const YAML::Node& node) {
  if (node.IsScalar()) return Quoted(node.Scalar());
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return "nothing";
}

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

std::string ScalarType(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return "true or false";
    case FieldDescriptor::CPPTYPE_STRING: return "a text";
    case FieldDescriptor::CPPTYPE_DOUBLE: return "a number";
    default: break;
  }
  for (const Bound& bound : kBounds)
    if (bound.field == field.name()) return Format("a number from {} to {}", bound.min, bound.max);
  return "a whole number";
}

// Reads one document; goes on after a mistake, so that all are told at once.
class Reader {
 public:
  Reader(const Document& document, std::vector<std::string>& mistakes)
      : document_(document), mistakes_(mistakes) {}

  void ReadMessage(const YAML::Node& node, Message& message) {
    if (!node.IsMap()) return Expected(node, "lines 'name: value'");
    std::set<std::string> seen;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) {
        Expected(item.first, "a name");
        continue;
      }
      const std::string& name = item.first.Scalar();
      const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
      if (field == nullptr)
        Mistake(item.first, Format("unknown key {}{}", Quoted(name), Meant(name, message)));
      else if (!seen.insert(name).second)
        Mistake(item.first, Format("{} is given twice", Quoted(name)));
      else
        ReadField(item.first, item.second, *field, message);
    }
  }

  void Mistake(const YAML::Node& at, const std::string& what) {
    mistakes_.push_back(Place(document_, at.Mark()) + ": " + what);
  }

 private:
  void Expected(const YAML::Node& node, std::string_view what) {
    Mistake(node, Format("expected {}, saw {}", what, Seen(node)));
  }

  static std::string Meant(const std::string& name, const Message& message) {
    std::vector<std::string_view> known;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i)
      known.push_back(message.GetDescriptor()->field(i)->name());
    const std::string suggestion = Suggest(name, known);
    if (!suggestion.empty()) return suggestion;
    // There are many: those that begin alike, or all.
    constexpr std::size_t kAlike = 4;
    std::vector<std::string> names;
    for (const std::string_view each : known)
      if (each.substr(0, kAlike) == std::string_view(name).substr(0, kAlike))
        names.emplace_back(each);
    if (names.empty()) names.assign(known.begin(), known.end());
    std::sort(names.begin(), names.end());
    return Format("; expected {}", Join(names, ", "));
  }

  // yaml-cpp gives an absent value the place 1:1, so that its name has to tell the place.
  void ReadField(const YAML::Node& name, const YAML::Node& value, const FieldDescriptor& field,
                 Message& message) {
    const Reflection& reflection = *message.GetReflection();
    if (value.IsNull()) {
      Mistake(name, Format("{} has no value", field.name()));
    } else if (field.is_repeated()) {
      ReadList(value, field, message);
    } else if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      ReadScalar(value, field, message);
    } else if (field.message_type() == v1::PriorityList::descriptor()) {
      Message& list = *reflection.MutableMessage(&message, &field);
      ReadList(value, *field.message_type()->field(0), list);
    } else {
      ReadMessage(value, *reflection.MutableMessage(&message, &field));
    }
  }

  void ReadList(const YAML::Node& value, const FieldDescriptor& field, Message& message) {
    if (!value.IsSequence()) return Expected(value, Format("a list of {}", field.name()));
    for (const YAML::Node& item : value) {
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        ReadScalar(item, field, message);
        continue;
      }
      const std::size_t before = mistakes_.size();
      Message& read = *message.GetReflection()->AddMessage(&message, &field);
      ReadMessage(item, read);
      if (field.message_type() == v1::Place::descriptor() && mistakes_.size() == before)
        CheckPlace(item, static_cast<const v1::Place&>(read));
    }
  }

  void CheckPlace(const YAML::Node& item, const v1::Place& place) {
    if (place.leaf().empty() && place.pod().empty())
      Mistake(item, "the place says nothing of its ports: expected leaf, pod or both");
    if (!place.leaf().empty() && !place.leaves().empty())
      Mistake(item,
              "leaf names a switch that nobody was heard on, and leaves are those that ports are "
              "under: expected one of both");
  }

  void ReadScalar(const YAML::Node& node, const FieldDescriptor& field, Message& message) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return ReadEnum(node, field, message);
    if (!node.IsScalar() || !Store(node.Scalar(), field, message))
      Mistake(node, Format("{}: expected {}, saw {}", field.name(), ScalarType(field), Seen(node)));
  }

  void ReadEnum(const YAML::Node& node, const FieldDescriptor& field, Message& message) {
    std::vector<std::string> words;
    for (int i = 0; i < field.enum_type()->value_count(); ++i) {
      const EnumValueDescriptor& value = *field.enum_type()->value(i);
      if (value.number() == 0) continue;  // "Unspecified"
      words.push_back(Word(value));
      if (!node.IsScalar() || node.Scalar() != words.back()) continue;
      message.GetReflection()->SetEnum(&message, &field, &value);
      return;
    }
    Mistake(node,
            Format("{}: expected one of {}, saw {}", field.name(), Join(words, ", "), Seen(node)));
  }

  static bool InBounds(std::uint64_t number, const FieldDescriptor& field) {
    for (const Bound& bound : kBounds)
      if (bound.field == field.name()) return number >= bound.min && number <= bound.max;
    return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
           number <= std::numeric_limits<std::uint32_t>::max();
  }

  // False when the text is no value of the field.
  static bool Store(const std::string& text, const FieldDescriptor& field, Message& message) {
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

  const Document& document_;
  std::vector<std::string>& mistakes_;
};

void Read(const YAML::Node& node, Reader& reader, std::vector<v1::Profile>& profiles) {
  v1::Profile profile;
  reader.ReadMessage(node, profile);
  if (node.IsMap() && profile.name().empty())
    reader.Mistake(node, "the profile has no name: expected 'name: NAME'");
  const bool again = std::any_of(profiles.begin(), profiles.end(),
                                 [&](const auto& each) { return each.name() == profile.name(); });
  if (again && !profile.name().empty())
    reader.Mistake(node, Format("a second profile {}", Quoted(profile.name())));
  profiles.push_back(std::move(profile));
}

void ReadDocument(const Document& document, std::vector<v1::Profile>& profiles,
                  std::vector<std::string>& mistakes) {
  Reader reader(document, mistakes);
  try {
    const YAML::Node node = YAML::Load(document.text);
    if (node.IsDefined() && !node.IsNull()) Read(node, reader, profiles);
  } catch (const YAML::Exception& error) {
    std::string message = error.msg;  // May quote the file as it is.
    std::replace_if(
        message.begin(), message.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    mistakes.push_back(Place(document, error.mark) + ": " + message);
  }
}

// As in JSON, which is YAML.
std::string InQuotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

std::string ScalarText(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return InQuotes(repeated ? reflection.GetRepeatedString(message, &field, index)
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
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      out += head + " " +
             (field->is_repeated() ? ListText(message, *field) : ScalarText(message, *field, 0)) +
             "\n";
    } else if (field->is_repeated()) {
      out += head + "\n";
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        out += indent + "  -\n";
        Append(reflection.GetRepeatedMessage(message, field, i), indent + "    ", out);
      }
    } else if (field->message_type() == v1::PriorityList::descriptor()) {
      const Message& list = reflection.GetMessage(message, field);
      out += head + " " + ListText(list, *field->message_type()->field(0)) + "\n";
    } else {
      out += head + "\n";
      Append(reflection.GetMessage(message, field), indent + "  ", out);
    }
  }
}

}  // namespace

Result<std::vector<v1::Profile>> ParseProfiles(std::string_view yaml, std::string_view file) {
  std::vector<v1::Profile> profiles;
  std::vector<std::string> mistakes;
  for (const Document& document : Documents(yaml, file)) ReadDocument(document, profiles, mistakes);
  if (profiles.empty() && mistakes.empty())
    mistakes.push_back(Format("{}: expected a profile, saw nothing", file));
  if (!mistakes.empty()) return Status(Code::kInvalidArgument, Join(mistakes, "\n"));
  return profiles;
}

std::string ToYaml(const v1::Profile& profile) {
  std::string text;
  Append(profile, "", text);
  return text;
}

}  // namespace fabric::profile
