// A YAML text as a plain tree in which every part knows its place. The one file here that meets
// yaml-cpp, which throws.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fabric::custom {

inline constexpr std::size_t kFileBytesMax = 1 << 20;

// Counted from 1; columns are bytes. Line 0: the file as a whole.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;

  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Problem {
  std::string file;
  Place place;
  std::string message;  // One line
};
std::string ToString(const Problem& problem);  // "FILE:LINE:COLUMN: message"

struct Part {
  enum class Kind { kNothing, kText, kList, kMap };
  Kind kind = Kind::kNothing;
  Place place;
  std::size_t offset = 0;                           // In the YAML text
  std::string text;                                 // kText
  bool quoted = false;                              // So that it is a text, whatever it looks like
  std::vector<Part> items;                          // kList
  std::vector<std::pair<Part, Part>> entries = {};  // kMap, as they are written

  // nullptr when the map has no such key.
  const Part* Find(std::string_view key) const;
};
std::string_view KindName(const Part& part);  // "a list"

// The problem has no file. Refused: what is no UTF-8, is larger than kFileBytesMax, or has too many
// or too deeply nested parts, be it by aliases.
std::variant<Part, Problem> ReadYaml(std::string_view yaml);

// Where byte `at` of a text's value stands in the YAML it was read from, whether the text is plain,
// quoted, or a block; the text's own place where that cannot be told.
Place PlaceIn(std::string_view yaml, const Part& text, std::size_t at);

// The same data as JSON, for protobuf's parser. Plain numbers, true, false and null stay such.
std::string ToJson(const Part& part);

}  // namespace fabric::custom
