#include "base/yaml.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace fabric::yaml {
namespace {

Position PositionOf(const YAML::Mark& mark, std::size_t lines_before) {
  return {static_cast<std::size_t>(mark.line) + 1 + lines_before,
          static_cast<std::size_t>(mark.column) + 1};
}

class Copier {
 public:
  Copier(const Limits& limits, std::size_t lines_before)
      : limits_(limits), lines_before_(lines_before) {}

  Node Copy(const YAML::Node& from, int depth = 1) {
    Node node;
    // The depth limit also stops an anchor that contains itself.
    too_large_ = too_large_ || ++nodes_ > limits_.nodes || depth > limits_.depth;
    if (too_large_) return node;
    const YAML::Mark mark = from.Mark();
    if (!mark.is_null() && mark.pos >= 0) {
      node.position = PositionOf(mark, lines_before_);
      node.offset = static_cast<std::size_t>(mark.pos);
    }
    if (from.IsScalar()) {
      node.kind = Node::Kind::kText;
      node.text = from.Scalar();
      // yaml-cpp decodes "\_", "\N", "\L" and "\P" to bytes that are not UTF-8.
      if (!IsUtf8(node.text) && !not_utf8_) not_utf8_ = node.position;
      node.quoted = from.Tag() == "!";
    } else if (from.IsSequence()) {
      node.kind = Node::Kind::kList;
      for (const auto& item : from) node.items.push_back(Copy(item, depth + 1));
    } else if (from.IsMap()) {
      node.kind = Node::Kind::kMap;
      for (const auto& entry : from) {
        Node key = Copy(entry.first, depth + 1);
        Node value = Copy(entry.second, depth + 1);
        // yaml-cpp reports position 1:1 for an absent value.
        if (value.kind == Node::Kind::kNothing) value.position = key.position;
        node.entries.emplace_back(std::move(key), std::move(value));
      }
    }
    return node;
  }
  bool TooLarge() const { return too_large_; }
  // Of a text with an escape that is not read as UTF-8.
  const std::optional<Position>& NotUtf8() const { return not_utf8_; }

 private:
  const Limits& limits_;
  const std::size_t lines_before_;
  std::size_t nodes_ = 0;
  bool too_large_ = false;
  std::optional<Position> not_utf8_;
};

std::variant<Node, Problem> ParseDocument(const std::string& text, const Limits& limits,
                                          std::size_t lines_before) {
  Problem problem;
  problem.position.line += lines_before;
  try {
    Copier copier(limits, lines_before);
    Node node = copier.Copy(YAML::Load(text));
    if (!copier.TooLarge() && !copier.NotUtf8()) return node;
    if (copier.NotUtf8()) {
      problem.position = *copier.NotUtf8();
      problem.message = R"(expected UTF-8, saw an escape for other bytes, such as \_)";
      return problem;
    }
    problem.message = Format("expected at most {} nodes, nested at most {} levels, saw more",
                             limits.nodes, limits.depth);
  } catch (const YAML::Exception& error) {
    if (!error.mark.is_null()) problem.position = PositionOf(error.mark, lines_before);
    for (const char c : error.msg)  // May contain raw bytes of the file.
      problem.message += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return problem;
}

// The problem with the text as a whole; an empty message: none.
Problem Check(std::string_view text, const Limits& limits) {
  Problem problem;
  if (text.size() > limits.bytes)
    problem.message = Format("expected at most {} bytes, saw {}", limits.bytes, text.size());
  else if (!IsUtf8(text))
    problem.message = "expected UTF-8, saw other bytes";
  return problem;
}

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

nlohmann::ordered_json JsonOf(const Node& node) {
  using Json = nlohmann::ordered_json;
  switch (node.kind) {
    case Node::Kind::kNothing: break;
    case Node::Kind::kText: {
      Json literal = node.quoted ? Json() : Json::parse(node.text, nullptr, false);
      if (!node.quoted && literal.is_primitive() && !literal.is_discarded() && !literal.is_string())
        return literal;
      return node.text;
    }
    case Node::Kind::kList: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(JsonOf(item));
      return list;
    }
    case Node::Kind::kMap: {
      Json map = Json::object();
      for (const auto& [key, value] : node.entries) map[key.text] = JsonOf(value);
      return map;
    }
  }
  return nullptr;
}

}  // namespace

std::string ToString(const Problem& problem) {
  if (problem.position.line == 0) return Format("{}: {}", problem.file, problem.message);
  return Format("{}:{}:{}: {}", problem.file, problem.position.line, problem.position.column,
                problem.message);
}

const Node* Node::Find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name.text == key) return &value;
  return nullptr;
}

std::string_view KindName(const Node& copy) {
  switch (copy.kind) {
    case Node::Kind::kText: return "a text";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
    case Node::Kind::kNothing: break;
  }
  return "nothing";
}

std::string Seen(const Node& node) {
  return node.kind == Node::Kind::kText ? Quoted(node.text) : std::string(KindName(node));
}

std::variant<Node, Problem> Parse(std::string_view text, const Limits& limits) {
  if (Problem problem = Check(text, limits); !problem.message.empty()) return problem;
  return ParseDocument(std::string(text), limits, 0);
}

// Splits the text itself: yaml-cpp's LoadAll does not terminate for some inputs.
std::vector<std::variant<Node, Problem>> ParseDocuments(std::string_view text,
                                                        const Limits& limits) {
  if (Problem problem = Check(text, limits); !problem.message.empty()) return {std::move(problem)};
  std::vector<std::variant<Node, Problem>> documents;
  std::string document;
  std::size_t first_line = 0;
  std::size_t line_number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (Trim(line) == "---") {
      documents.push_back(ParseDocument(document, limits, first_line));
      document.clear();
      first_line = line_number + 1;
    } else {
      document.append(line) += '\n';
    }
    ++line_number;
  }
  documents.push_back(ParseDocument(document, limits, first_line));
  return documents;
}

Position PositionIn(std::string_view yaml, const Node& text, std::size_t at) {
  std::size_t i = text.offset;
  if (i >= yaml.size()) return text.position;
  const char style = yaml[i];
  if (text.quoted && (style == '|' || style == '>')) i = yaml.find('\n', i);
  if (text.quoted && (style == '\'' || style == '"')) ++i;
  // Walk the value and its source together: a line break with its indentation became a blank or
  // nothing.
  for (std::size_t k = 0; k <= at; ++k) {
    const bool end = k >= text.text.size();
    if (end || !IsBlank(text.text[k]))
      while (!end && i < yaml.size() && IsBlank(yaml[i])) ++i;
    if (i >= yaml.size()) return text.position;
    if (k == at || end) break;
    if (IsBlank(text.text[k])) {
      if (IsBlank(yaml[i])) ++i;
      continue;
    }
    const bool escaped = (style == '\'' && yaml[i] == '\'') || (style == '"' && yaml[i] == '\\');
    if (escaped) ++i;
    if (i >= yaml.size() || yaml[i] != text.text[k]) return text.position;
    ++i;
  }
  Position position = text.position;
  for (std::size_t k = text.offset; k < i; ++k) {
    ++position.column;
    if (yaml[k] == '\n') position = {position.line + 1, 1};
  }
  return position;
}

std::string QuotedScalar(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (byte < 0x20 || byte == 0x7f)
      quoted += Format("\\x{:02x}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string Scalar(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:-+";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == text.npos &&
                     text.front() != '-' && text.front() != ':' && text.back() != ':';
  return plain ? std::string(text) : QuotedScalar(text);
}

std::string ToJson(const Node& node) {
  return JsonOf(node).dump();
}

}  // namespace fabric::yaml
