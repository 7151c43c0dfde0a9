// YAML parser: a tree with positions and limits. Pure. The only file of the tree that parses YAML
// with yaml-cpp, which throws.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fabric::yaml {

// Counted from 1; columns are bytes. Line 0: the file as a whole.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;

  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Problem {
  std::string file;
  Position position;
  std::string message;  // One line
};
std::string ToString(const Problem& problem);  // "FILE:LINE:COLUMN: message"

struct Node {
  enum class Kind { kNothing, kText, kList, kMap };
  Kind kind = Kind::kNothing;
  Position position;                                // An absent value has the position of its key.
  std::size_t offset = 0;                           // In the YAML text
  std::string text;                                 // kText
  bool quoted = false;                              // Always a text, never a number or null
  std::vector<Node> items;                          // kList
  std::vector<std::pair<Node, Node>> entries = {};  // kMap, in the order of the text

  // nullptr when the map has no such key.
  const Node* Find(std::string_view key) const;
};
std::string_view KindName(const Node& node);  // "a list"
std::string Seen(const Node& node);           // For messages: the text in quotes, or the kind

// Nodes and depth are counted after aliases are expanded.
struct Limits {
  std::size_t bytes = 1 << 20;
  std::size_t nodes = 100'000;
  int depth = 64;
};

// On failure a Problem without a file: invalid YAML, invalid UTF-8, or a limit is exceeded.
std::variant<Node, Problem> Parse(std::string_view text, const Limits& limits = {});

// The same for each document of a text; lines "---" separate documents.
std::vector<std::variant<Node, Problem>> ParseDocuments(std::string_view text,
                                                        const Limits& limits = {});

// Position of byte `at` of the value of a plain, quoted or block text, in the YAML it was parsed
// from. The text's own position if it cannot be determined.
Position PositionIn(std::string_view yaml, const Node& text, std::size_t at);

// A scalar that Parse() reads back: plain if possible, else in double quotes.
std::string Scalar(std::string_view text);
std::string QuotedScalar(std::string_view text);

// JSON text of the tree. Plain numbers, true, false and null keep their types; other scalars are
// strings.
std::string ToJson(const Node& node);

}  // namespace fabric::yaml
