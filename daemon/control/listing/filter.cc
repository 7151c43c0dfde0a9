#include "daemon/control/listing/filter.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <variant>

#include "base/grammar.h"
#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "proto/fields.h"

namespace fabric::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

constexpr std::size_t kFieldsShown = 12;
constexpr std::int64_t kRegexBytesMax = 1 << 20;

enum class Operator {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kLike,
  kUnlike
};

struct OperatorName {
  std::string_view text;
  Operator op;
};
// Longer ones first.
constexpr OperatorName kOperators[] = {
    {"!=", Operator::kNotEqual}, {"<=", Operator::kLessEqual}, {">=", Operator::kGreaterEqual},
    {"=~", Operator::kLike},     {"!~", Operator::kUnlike},    {"=", Operator::kEqual},
    {"<", Operator::kLess},      {">", Operator::kGreater}};

struct TermText {
  std::string_view whole;
  std::string field;
  Operator op = Operator::kEqual;
  std::string value;
};

Status BadTerm(std::string_view term, std::string_view why) {
  return {Code::kInvalidArgument, Format("filter: {}: {}", Quoted(term), why)};
}

// Takes the first term off `text`, which starts with no blank.
Result<TermText> TakeTerm(std::string_view& text) {
  TermText words;
  const std::string_view rest = text;
  const std::size_t at = text.find_first_of("=!<> ");
  if (at == text.npos || at == 0 || text[at] == ' ')
    return BadTerm(text.substr(0, text.find(' ')), "expected FIELD=VALUE");
  words.field = text.substr(0, at);
  text.remove_prefix(at);
  const auto op =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const OperatorName& name) { return text.starts_with(name.text); });
  if (op == std::end(kOperators))
    return BadTerm(rest, "expected an operator: = != < <= > >= =~ !~");
  words.op = op->op;
  text.remove_prefix(op->text.size());
  if (text.starts_with('"')) {
    std::size_t n = 1;
    for (; n < text.size() && text[n] != '"'; ++n) {
      if (text[n] == '\\' && n + 1 < text.size() && (text[n + 1] == '"' || text[n + 1] == '\\'))
        ++n;
      words.value += text[n];
    }
    if (n >= text.size()) return BadTerm(rest, "expected a closing quote");
    text.remove_prefix(n + 1);
    if (!text.empty() && text.front() != ' ')
      return BadTerm(rest, "expected a blank after a quote");
  } else {
    words.value = text.substr(0, text.find(' '));
    text.remove_prefix(words.value.size());
  }
  words.whole = rest.substr(0, rest.size() - text.size());
  return words;
}

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() != Timestamp::descriptor();
}

struct Path {
  std::vector<const FieldDescriptor*> fields;  // The last one is of the value
  std::string key = {};                        // Of the map before it: "pool" of "labels.pool"
};

// `rest`: the part of a path behind the name of the map. A key may have dots.
Result<Path> PathInMap(Path path, std::string_view rest, std::string_view term) {
  const FieldDescriptor& map = *path.fields.back();
  const FieldDescriptor& value = *map.message_type()->map_value();
  // All maps of the schema have texts as keys.
  if (rest.empty() || IsMessage(value))
    return BadTerm(term, Format("expected {}.KEY, such as {}.pool=h100", map.name(), map.name()));
  path.fields.push_back(&value);
  path.key = rest;
  return path;
}

Result<Path> ExactPath(std::string_view text, const Descriptor& element, std::string_view term) {
  Path path;
  const Descriptor* type = &element;
  for (const std::string_view part : Split(text, '.')) {
    const FieldDescriptor* const field =
        type == nullptr ? nullptr : type->FindFieldByName(std::string(part));
    if (field == nullptr) {
      std::vector<std::string> known;
      for (int i = 0; type != nullptr && i < type->field_count(); ++i)
        known.push_back(type->field(i)->name());
      return BadTerm(
          term,
          UnknownName("field", part, {known.begin(), known.end()},
                      known.empty() ? "" : "; expected one of " + ListSome(known, kFieldsShown)));
    }
    path.fields.push_back(field);
    const char* const end = part.data() + part.size();
    const auto used = static_cast<std::size_t>(end - text.data());
    if (field->is_map())
      return PathInMap(std::move(path), text.substr(std::min(text.size(), used + 1)), term);
    type = IsMessage(*field) ? field->message_type() : nullptr;
  }
  if (type != nullptr)
    return BadTerm(term, Format("{} has fields: expected one of them", Quoted(text)));
  return path;
}

// A field of the element, or of the only message in it that has one of this name.
Result<Path> PathOf(std::string_view text, const Descriptor& element, std::string_view term) {
  if (text.find('.') != text.npos || element.FindFieldByName(std::string(text)) != nullptr)
    return ExactPath(text, element, term);
  std::vector<Path> found;
  for (int i = 0; i < element.field_count(); ++i) {
    const FieldDescriptor& outer = *element.field(i);
    if (!IsMessage(outer)) continue;
    const FieldDescriptor* const inner = outer.message_type()->FindFieldByName(std::string(text));
    // Lists repeat what the element is about.
    if (inner != nullptr && !outer.is_repeated() && !IsMessage(*inner))
      found.push_back({.fields = {&outer, inner}});
  }
  // The subject of a finding, rather than what its silence or a suspect is about.
  const auto subject = std::find_if(found.begin(), found.end(), [](const Path& path) {
    return path.fields.front()->name() == "subject";
  });
  if (subject != found.end()) return *subject;
  if (found.size() == 1) return found.front();
  if (found.empty()) return ExactPath(text, element, term);
  std::vector<std::string> names;
  for (const Path& path : found) names.push_back(Format("{}.{}", path.fields[0]->name(), text));
  return BadTerm(term, Format("expected one of {}", Join(names, ", ")));
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

// "info", "warning", ... of SEVERITY_INFO, SEVERITY_WARNING, without the value 0, which is not set.
std::vector<std::string> WordsOf(const EnumDescriptor& type) {
  std::vector<std::string> words;
  std::string prefix = Upper(type.value(0)->name());
  prefix.resize(prefix.rfind('_') + 1);  // Of SEVERITY_UNSPECIFIED
  for (int i = 1; i < type.value_count(); ++i) {
    std::string_view name = type.value(i)->name();
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    std::string& word = words.emplace_back(name);
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

// "error" or "SEVERITY_ERROR"
Result<double> EnumNumber(const EnumDescriptor& type, const std::string& text,
                          std::string_view term) {
  const std::string wanted = Upper(text);
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string& name = type.value(i)->name();
    if (name == wanted || name.ends_with("_" + wanted)) return double(type.value(i)->number());
  }
  const std::vector<std::string> words = WordsOf(type);
  return BadTerm(term, UnknownName("value", text, {words.begin(), words.end()},
                                   "; expected one of " + Join(words, ", ")));
}

Result<double> TimeNumber(const std::string& text, Moment now, std::string_view term) {
  Timestamp time;
  if (google::protobuf::util::TimeUtil::FromString(text, &time))
    return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
  const auto before = ParseDuration(text);
  if (!before.ok())
    return BadTerm(term, "expected a time such as 2026-11-21T01:16:05Z, or a duration such as 1h");
  return std::chrono::duration<double>(now.wall.time_since_epoch() - *before).count();
}

Result<double> NumberOf(const FieldDescriptor& field, const std::string& text, Moment now,
                        std::string_view term) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: return EnumNumber(*field.enum_type(), text, term);
    case FieldDescriptor::CPPTYPE_MESSAGE: return TimeNumber(text, now, term);
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") return BadTerm(term, "expected true or false");
      return text == "true" ? 1.0 : 0.0;
    default: break;
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || text.empty()) return BadTerm(term, "expected a number");
  return number;
}

template <class T>
bool Compare(Operator op, const T& seen, const T& wanted) {
  switch (op) {
    case Operator::kEqual: return seen == wanted;
    case Operator::kNotEqual: return seen != wanted;
    case Operator::kLess: return seen < wanted;
    case Operator::kLessEqual: return seen <= wanted;
    case Operator::kGreater: return seen > wanted;
    case Operator::kGreaterEqual: return seen >= wanted;
    case Operator::kLike:
    case Operator::kUnlike: break;
  }
  return false;
}

// `index` -1: not a list.
double ReadNumber(const Message& message, const FieldDescriptor& field, int index) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return ValueNumber(message, field, index);
  const Reflection& reflection = *message.GetReflection();
  const auto& time = static_cast<const Timestamp&>(
      index < 0 ? reflection.GetMessage(message, &field)
                : reflection.GetRepeatedMessage(message, &field, index));
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

}  // namespace

struct Filter::Term {
  Path path;
  Operator op;
  std::variant<std::string, double, std::unique_ptr<const RE2>> value;

  bool Absent() const { return op == Operator::kNotEqual || op == Operator::kUnlike; }

  bool MatchesValue(const Message& message, const FieldDescriptor& field, int index) const {
    if (const auto* const number = std::get_if<double>(&value))
      return Compare(op, ReadNumber(message, field, index), *number);
    std::string scratch;
    const Reflection& reflection = *message.GetReflection();
    const std::string& text =
        index < 0 ? reflection.GetStringReference(message, &field, &scratch)
                  : reflection.GetRepeatedStringReference(message, &field, index, &scratch);
    if (const auto* const regex = std::get_if<std::unique_ptr<const RE2>>(&value))
      return RE2::FullMatch(text, **regex) == (op == Operator::kLike);
    return Compare(op, text, std::get<std::string>(value));
  }

  bool MatchesMap(const Message& message, const FieldDescriptor& map) const {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &map);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &map, i);
      if (entry.GetReflection()->GetString(entry, map.message_type()->map_key()) == path.key)
        return MatchesValue(entry, *path.fields.back(), -1);
    }
    return Absent();
  }

  bool Matches(const Message& message, std::size_t depth) const {
    const FieldDescriptor& field = *path.fields[depth];
    const Reflection& reflection = *message.GetReflection();
    if (field.is_map()) return MatchesMap(message, field);
    const bool last = depth + 1 == path.fields.size();
    if (!field.is_repeated()) {
      if (field.has_presence() && !reflection.HasField(message, &field)) return Absent();
      return last ? MatchesValue(message, field, -1)
                  : Matches(reflection.GetMessage(message, &field), depth + 1);
    }
    const int size = reflection.FieldSize(message, &field);
    for (int i = 0; i < size; ++i)
      if (last ? MatchesValue(message, field, i)
               : Matches(reflection.GetRepeatedMessage(message, &field, i), depth + 1))
        return true;
    return size == 0 && Absent();
  }

  static Result<Term> Make(const TermText& words, const Descriptor& element, Moment now) {
    ASSIGN_OR_RETURN(Path found, PathOf(words.field, element, words.whole));
    Term term{.path = std::move(found), .op = words.op, .value = words.value};
    const FieldDescriptor& field = *term.path.fields.back();
    const bool regex = words.op == Operator::kLike || words.op == Operator::kUnlike;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
      if (regex) return BadTerm(words.whole, "=~ and !~ need a text field");
      ASSIGN_OR_RETURN(term.value, NumberOf(field, words.value, now, words.whole));
    } else if (regex) {
      RE2::Options options(RE2::Quiet);
      options.set_max_mem(kRegexBytesMax);
      auto compiled = std::make_unique<const RE2>(words.value, options);
      if (!compiled->ok()) return BadTerm(words.whole, Quoted(compiled->error()));
      term.value = std::move(compiled);
    }
    return term;
  }
};

Filter::Filter() = default;
Filter::~Filter() = default;
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;

Result<Filter> Filter::Parse(std::string_view text, const Descriptor& element, Moment now) {
  if (text.size() > kBytesMax)
    return Status(Code::kInvalidArgument,
                  Format("filter: expected at most {} bytes, saw {}", kBytesMax, text.size()));
  Filter filter;
  while (!(text = Trim(text)).empty()) {
    if (filter.terms_.size() == kTermsMax)
      return Status(Code::kInvalidArgument, Format("filter: expected at most {} terms", kTermsMax));
    ASSIGN_OR_RETURN(const TermText words, TakeTerm(text));
    ASSIGN_OR_RETURN(Term term, Term::Make(words, element, now));
    filter.terms_.push_back(std::move(term));
  }
  return filter;
}

bool Filter::Matches(const Message& element) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return term.Matches(element, 0); });
}

}  // namespace fabric::control
