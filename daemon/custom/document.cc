#include "daemon/custom/document.h"

#include <yaml-cpp/yaml.h>

#include <charconv>

#include "base/text.h"
#include "base/utf8.h"

namespace fabric::custom {
namespace {

constexpr std::size_t kPartsMax = 100'000;
constexpr int kDepthMax = 64;  // Also what ends an anchor that holds itself

Place PlaceOf(const YAML::Mark& mark) {
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

class Copier {
 public:
  Part Copy(const YAML::Node& node, int depth = 1) {
    Part part;
    too_large_ = too_large_ || ++parts_ > kPartsMax || depth > kDepthMax;
    if (too_large_) return part;
    const YAML::Mark mark = node.Mark();
    if (!mark.is_null() && mark.pos >= 0) {
      part.place = PlaceOf(mark);
      part.offset = static_cast<std::size_t>(mark.pos);
    }
    if (node.IsScalar()) {
      part.kind = Part::Kind::kText;
      part.text = node.Scalar();
      part.quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      part.kind = Part::Kind::kList;
      for (const auto& item : node) part.items.push_back(Copy(item, depth + 1));
    } else if (node.IsMap()) {
      part.kind = Part::Kind::kMap;
      for (const auto& entry : node) {
        Part key = Copy(entry.first, depth + 1);
        Part value = Copy(entry.second, depth + 1);
        // yaml-cpp gives an absent value the place 1:1.
        if (value.kind == Part::Kind::kNothing) value.place = key.place;
        part.entries.emplace_back(std::move(key), std::move(value));
      }
    }
    return part;
  }
  bool TooLarge() const { return too_large_; }

 private:
  std::size_t parts_ = 0;
  bool too_large_ = false;
};

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool IsJsonLiteral(const Part& part) {
  if (part.quoted || part.text.empty()) return false;
  if (part.text == "true" || part.text == "false" || part.text == "null") return true;
  double number = 0;
  const char* const end = part.text.data() + part.text.size();
  const auto [stop, error] = std::from_chars(part.text.data(), end, number);
  const std::size_t digit = part.text.find_first_of("0123456789");
  const bool plain = digit <= 1 && (digit == 0 || part.text[0] == '-');
  return plain && error == std::errc() && stop == end && part.text.back() != '.' &&
         (part.text[digit] != '0' || part.text.size() == digit + 1 || part.text[digit + 1] == '.');
}

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (byte < 0x20)
      quoted += Format("\\u{:04x}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string ToString(const Problem& problem) {
  if (problem.place.line == 0) return Format("{}: {}", problem.file, problem.message);
  return Format("{}:{}:{}: {}", problem.file, problem.place.line, problem.place.column,
                problem.message);
}

const Part* Part::Find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name.text == key) return &value;
  return nullptr;
}

std::string_view KindName(const Part& part) {
  switch (part.kind) {
    case Part::Kind::kText: return "a text";
    case Part::Kind::kList: return "a list";
    case Part::Kind::kMap: return "a map";
    case Part::Kind::kNothing: break;
  }
  return "nothing";
}

std::variant<Part, Problem> ReadYaml(std::string_view yaml) {
  Problem problem;
  if (yaml.size() > kFileBytesMax)
    problem.message = Format("more than {} bytes", kFileBytesMax);
  else if (!IsUtf8(yaml))
    problem.message = "not UTF-8";
  if (!problem.message.empty()) return problem;
  try {
    Copier copier;
    Part part = copier.Copy(YAML::Load(std::string(yaml)));
    if (!copier.TooLarge()) return part;
    problem.message =
        Format("more than {} parts, or nested deeper than {} levels", kPartsMax, kDepthMax);
  } catch (const YAML::Exception& error) {
    if (!error.mark.is_null()) problem.place = PlaceOf(error.mark);
    for (const char c : error.msg)  // May quote the file as it is.
      problem.message += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return problem;
}

Place PlaceIn(std::string_view yaml, const Part& text, std::size_t at) {
  std::size_t i = text.offset;
  if (i >= yaml.size()) return text.place;
  const char style = yaml[i];
  if (text.quoted && (style == '|' || style == '>')) i = yaml.find('\n', i);
  if (text.quoted && (style == '\'' || style == '"')) ++i;
  // Both are walked together: what a line break and its indentation became is a blank or nothing.
  for (std::size_t k = 0; k <= at; ++k) {
    const bool end = k >= text.text.size();
    if (end || !IsBlank(text.text[k]))
      while (!end && i < yaml.size() && IsBlank(yaml[i])) ++i;
    if (i >= yaml.size()) return text.place;
    if (k == at || end) break;
    if (IsBlank(text.text[k])) {
      if (IsBlank(yaml[i])) ++i;
      continue;
    }
    const bool escaped = (style == '\'' && yaml[i] == '\'') || (style == '"' && yaml[i] == '\\');
    if (escaped) ++i;
    if (i >= yaml.size() || yaml[i] != text.text[k]) return text.place;
    ++i;
  }
  Place place = text.place;
  for (std::size_t k = text.offset; k < i; ++k) {
    ++place.column;
    if (yaml[k] == '\n') place = {place.line + 1, 1};
  }
  return place;
}

std::string ToJson(const Part& part) {
  std::string json;
  switch (part.kind) {
    case Part::Kind::kNothing: return "null";
    case Part::Kind::kText: return IsJsonLiteral(part) ? part.text : JsonText(part.text);
    case Part::Kind::kList:
      for (const Part& item : part.items) json += (json.empty() ? "" : ",") + ToJson(item);
      return "[" + json + "]";
    case Part::Kind::kMap:
      for (const auto& [key, value] : part.entries)
        json += (json.empty() ? "" : ",") + JsonText(key.text) + ":" + ToJson(value);
      return "{" + json + "}";
  }
  return json;
}

}  // namespace fabric::custom
