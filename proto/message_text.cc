#include "proto/message_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"
#include "proto/map_entries.h"

namespace fabric {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};
// Control and format characters: viewers act on them instead of showing them.
constexpr CodeRange kEscaped[] = {
    {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},   {0xfffe, 0xffff},   {0x1d173, 0x1d17a},
    {'<', '<'},       {'>', '>'},       {0xe0000, 0xe007f}, {0xf0000, 0x10ffff}};

constexpr std::uint32_t kReplacement = 0xfffd;

enum class Escapes { kJson, kYaml };

void AppendEscaped(std::uint32_t code, Escapes escapes, std::string& out) {
  if (code <= 0xffff) {
    out += Format("\\u{:04x}", code);
  } else if (escapes == Escapes::kYaml) {
    out += Format("\\U{:08x}", code);
  } else {
    const std::uint32_t above = code - 0x10000;
    out += Format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
  }
}

// The longest beginning of the text that needs no escapes.
std::size_t PlainLength(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const char c = text[length];
    if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '<' || c == '>') break;
    ++length;
  }
  return length;
}

void AppendQuoted(std::string_view text, Escapes escapes, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = PlainLength(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Rune rune = FirstRune(text);
    const std::uint32_t code = rune.valid ? rune.code : kReplacement;
    if (code == '"' || code == '\\')
      out += {'\\', static_cast<char>(code)};
    else if (code == '\n')
      out += "\\n";
    else if (code == '\t')
      out += "\\t";
    else if (std::any_of(std::begin(kEscaped), std::end(kEscaped), [&](const CodeRange& range) {
               return range.first <= code && code <= range.last;
             }))
      AppendEscaped(code, escapes, out);
    else if (rune.valid)
      out += text.substr(0, rune.bytes);
    else
      out += "\xef\xbf\xbd";
    text.remove_prefix(rune.bytes);
  }
  out += '"';
}

// True if YAML reads the plain text back as the same string.
bool IsPlainYaml(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "~"};
  const auto in = [](char c, std::string_view set) { return set.find(c) != set.npos; };
  if (text.empty() || text.size() > 200 || in(text.front(), " -?:,[]{}#&*!|>'\"%@`=") ||
      in(text.back(), " :") || text.find(": ") != text.npos || text.find(" #") != text.npos)
    return false;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
    return false;
  if (text.find_first_not_of("0123456789.:+-eExXoO_~ ") == text.npos) return false;
  if (text.find_first_of("<>\\") != text.npos) return false;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords) &&
         lower != ".nan" && !lower.ends_with(".inf");
}

// Number as JSON; JSON has no infinities.
std::string DoubleText(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return Format("{}", value);
}

// A field of a message, or one element of it.
struct FieldValue {
  const Message& message;
  const FieldDescriptor& field;
  int index = -1;  // -1: not a list

  template <class Get, class GetRepeated>
  auto Read(Get get, GetRepeated get_repeated) const {
    const Reflection& reflection = *message.GetReflection();
    return index < 0 ? (reflection.*get)(message, &field)
                     : (reflection.*get_repeated)(message, &field, index);
  }
  const Message& Sub() const {
    const Reflection& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetMessage(message, &field)
                     : reflection.GetRepeatedMessage(message, &field, index);
  }
  std::string_view String(std::string& scratch) const {
    const Reflection& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetStringReference(message, &field, &scratch)
                     : reflection.GetRepeatedStringReference(message, &field, index, &scratch);
  }
};

void AppendString(std::string_view text, Escapes escapes, std::string& out) {
  if (escapes == Escapes::kYaml && IsPlainYaml(text))
    out += text;
  else
    AppendQuoted(text, escapes, out);
}

// Base64 with padding (RFC 4648), as protobuf writes bytes.
void AppendBase64(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += '"';
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  out += '"';
}

void AppendEnum(const FieldValue& value, Escapes escapes, std::string& out) {
  const int number = value.Read(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
  const auto* const name = value.field.enum_type()->FindValueByNumber(number);
  if (name == nullptr)
    out += Format("{}", number);  // From a newer agent
  else
    AppendString(name->name(), escapes, out);
}

// Any value except a message.
void AppendScalar(const FieldValue& value, Escapes escapes, std::string& out) {
  using R = Reflection;
  std::string scratch;
  switch (value.field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      out += Format("{}", value.Read(&R::GetInt32, &R::GetRepeatedInt32));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out += Format("{}", value.Read(&R::GetUInt32, &R::GetRepeatedUInt32));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      out += Format("\"{}\"", value.Read(&R::GetInt64, &R::GetRepeatedInt64));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      out += Format("\"{}\"", value.Read(&R::GetUInt64, &R::GetRepeatedUInt64));
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out += DoubleText(value.Read(&R::GetDouble, &R::GetRepeatedDouble));
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      out += DoubleText(value.Read(&R::GetFloat, &R::GetRepeatedFloat));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      out += value.Read(&R::GetBool, &R::GetRepeatedBool) ? "true" : "false";
      return;
    case FieldDescriptor::CPPTYPE_ENUM: AppendEnum(value, escapes, out); return;
    case FieldDescriptor::CPPTYPE_STRING:
      if (value.field.type() == FieldDescriptor::TYPE_BYTES)
        return AppendBase64(value.String(scratch), out);
      return AppendString(value.String(scratch), escapes, out);
    case FieldDescriptor::CPPTYPE_MESSAGE: return;
  }
}

bool IsTimestamp(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() == Timestamp::descriptor();
}

Status AppendTimestamp(const FieldValue& value, Escapes escapes, std::string& out) {
  constexpr std::int64_t kFirst = -62'135'596'800;  // Year 1
  constexpr std::int64_t kLast = 253'402'300'799;   // Year 9999
  const auto& time = static_cast<const Timestamp&>(value.Sub());
  if (time.seconds() < kFirst || time.seconds() > kLast || time.nanos() < 0 ||
      time.nanos() > 999'999'999)
    return {Code::kDataLoss,
            Format("{}: expected a time in the years 1 to 9999, saw {} s and {} ns",
                   value.field.full_name(), time.seconds(), time.nanos())};
  AppendString(google::protobuf::util::TimeUtil::ToString(time), escapes, out);
  return {};
}

bool IsWritten(const Message& message, const FieldDescriptor& field) {
  return !field.has_presence() || message.GetReflection()->HasField(message, &field);
}

class JsonWriter {
 public:
  JsonWriter(JsonStyle style, std::string& out)
      : indented_(style == JsonStyle::kIndented), out_(out) {}

  Status Write(const Message& message, std::size_t depth, const FieldMask& mask) {
    const auto& type = *message.GetDescriptor();
    bool first = true;
    out_ += '{';
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const FieldMask* const kept = mask.Find(field.name());
      if (kept == nullptr || !IsWritten(message, field)) continue;
      Separate(first, depth + 1);
      first = false;
      out_ += '"';
      out_ += field.name();
      out_ += indented_ ? "\": " : "\":";
      RETURN_IF_ERROR(field.is_map()        ? WriteMap(message, field, depth + 1)
                      : field.is_repeated() ? WriteList(message, field, depth + 1, *kept)
                                            : WriteValue({message, field}, depth + 1, *kept));
    }
    if (!first) NewLine(depth);
    out_ += '}';
    return {};
  }

 private:
  Status WriteMap(const Message& message, const FieldDescriptor& map, std::size_t depth) {
    bool first = true;
    out_ += '{';
    for (const auto& [key, entry] : MapEntries(message, map)) {
      Separate(first, depth + 1);
      first = false;
      AppendString(key, Escapes::kJson, out_);
      out_ += indented_ ? ": " : ":";
      RETURN_IF_ERROR(WriteValue({*entry, *map.message_type()->map_value()}, depth + 1, {}));
    }
    if (!first) NewLine(depth);
    out_ += '}';
    return {};
  }

  Status WriteList(const Message& message, const FieldDescriptor& field, std::size_t depth,
                   const FieldMask& mask) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    out_ += '[';
    for (int i = 0; i < size; ++i) {
      Separate(i == 0, depth + 1);
      RETURN_IF_ERROR(WriteValue({message, field, i}, depth + 1, mask));
    }
    if (size > 0) NewLine(depth);
    out_ += ']';
    return {};
  }

  Status WriteValue(const FieldValue& value, std::size_t depth, const FieldMask& mask) {
    if (IsTimestamp(value.field)) return AppendTimestamp(value, Escapes::kJson, out_);
    if (value.field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      return Write(value.Sub(), depth, mask);
    AppendScalar(value, Escapes::kJson, out_);
    return {};
  }

  void Separate(bool first, std::size_t depth) {
    if (!first) out_ += ',';
    NewLine(depth);
  }
  void NewLine(std::size_t depth) {
    if (!indented_) return;
    out_ += '\n';
    out_.append(depth, ' ');
  }

  const bool indented_;
  std::string& out_;
};

class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  // One line for each field. The first one continues the current line if `continues`.
  Status Write(const Message& message, std::size_t depth, bool continues) {
    const auto& type = *message.GetDescriptor();
    bool empty = true;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!IsWritten(message, field)) continue;
      if (!continues || !empty) out_.append(2 * depth, ' ');
      empty = false;
      out_ += field.name();
      out_ += ':';
      RETURN_IF_ERROR(field.is_map()        ? WriteMap(message, field, depth)
                      : field.is_repeated() ? WriteList(message, field, depth)
                                            : WriteMember({message, field}, depth));
    }
    if (empty) {
      if (!continues) out_.append(2 * depth, ' ');
      out_ += "{}\n";
    }
    return {};
  }

 private:
  Status WriteMap(const Message& message, const FieldDescriptor& map, std::size_t depth) {
    const auto entries = MapEntries(message, map);
    out_ += entries.empty() ? " {}\n" : "\n";
    for (const auto& [key, entry] : entries) {
      out_.append(2 * (depth + 1), ' ');
      AppendString(key, Escapes::kYaml, out_);
      out_ += ':';
      RETURN_IF_ERROR(WriteMember({*entry, *map.message_type()->map_value()}, depth + 1));
    }
    return {};
  }

  Status WriteList(const Message& message, const FieldDescriptor& field, std::size_t depth) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    out_ += size == 0 ? " []\n" : "\n";
    for (int i = 0; i < size; ++i) {
      const FieldValue value{message, field, i};
      out_.append(2 * (depth + 1), ' ');
      out_ += "- ";
      if (IsNested(field))
        RETURN_IF_ERROR(Write(value.Sub(), depth + 2, true));
      else
        RETURN_IF_ERROR(WriteScalar(value));
    }
    return {};
  }

  Status WriteMember(const FieldValue& value, std::size_t depth) {
    out_ += IsNested(value.field) ? '\n' : ' ';
    return IsNested(value.field) ? Write(value.Sub(), depth + 1, false) : WriteScalar(value);
  }

  Status WriteScalar(const FieldValue& value) {
    if (IsTimestamp(value.field))
      RETURN_IF_ERROR(AppendTimestamp(value, Escapes::kYaml, out_));
    else
      AppendScalar(value, Escapes::kYaml, out_);
    out_ += '\n';
    return {};
  }

  static bool IsNested(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsTimestamp(field);
  }

  std::string& out_;
};

}  // namespace

Status AppendJson(const Message& message, JsonStyle style, std::string& out,
                  const FieldMask& mask) {
  return JsonWriter(style, out).Write(message, 0, mask);
}

Status AppendYaml(const Message& message, std::string& out) {
  return YamlWriter(out).Write(message, 0, false);
}

std::string JsonString(std::string_view text) {
  std::string quoted;
  AppendQuoted(text, Escapes::kJson, quoted);
  return quoted;
}

}  // namespace fabric
