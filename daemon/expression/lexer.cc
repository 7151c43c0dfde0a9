#include "daemon/expression/lexer.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace fabric::expression {
namespace {

constexpr std::string_view kSymbols[] = {"&&", "||", "==", "!=", "<=", ">=", "<", ">",
                                         "!",  "+",  "-",  "*",  "/",  "%",  "?", ":",
                                         ".",  ",",  "(",  ")",  "[",  "]"};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || IsDigit(c);
}

Token Wrong(std::size_t at, std::string message) {
  return {.kind = Token::Kind::kWrong, .at = at, .text = std::move(message)};
}

// 7, 7u, 0x10, 1.5, 2e9
Token Number(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const bool hex = rest.starts_with("0x") || rest.starts_with("0X");
  std::size_t end = hex ? 2 : 0;
  bool real = false;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    const bool exponent = !hex && (c == 'e' || c == 'E');
    const bool sign = (c == '-' || c == '+') && !hex && (rest[end - 1] | 0x20) == 'e';
    const bool point = c == '.' && !real && end + 1 < rest.size() && IsDigit(rest[end + 1]);
    real = real || exponent || point;
    if (!IsNameCharacter(c) && !sign && !point) break;
  }
  Token token{.kind = Token::Kind::kNumber, .at = at, .word = rest.substr(0, end)};
  std::string_view digits = token.word;
  if (hex) digits.remove_prefix(2);
  if (!real && digits.size() > 1 && (digits.back() | 0x20) == 'u') digits.remove_suffix(1);
  const char* const last = digits.data() + digits.size();
  double value = 0;
  std::uint64_t number = 0;
  const auto [stop, error] = real ? std::from_chars(digits.data(), last, value)
                                  : std::from_chars(digits.data(), last, number, hex ? 16 : 10);
  if (error != std::errc() || stop != last)
    return Wrong(at, Format("expected a number, saw {}", Quoted(token.word)));
  token.number = real ? Value{value} : FromWide(static_cast<Wide>(number));
  return token;
}

char Unescaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\':
    case '\'':
    case '"':
    case '`': return c;
    default: return '\0';
  }
}

// 'text', "text"; raw: r'\d+' keeps its backslashes.
Token Text(std::string_view text, std::size_t at, bool raw) {
  Token token{.kind = Token::Kind::kText, .at = at};
  std::size_t i = at + (raw ? 1 : 0);
  const char quote = text[i++];
  for (; i < text.size() && text[i] != quote; ++i) {
    if (text[i] != '\\' || raw) {
      token.text += text[i];
      continue;
    }
    if (++i == text.size()) break;
    const char c = Unescaped(text[i]);
    if (c == '\0')
      return Wrong(i - 1, Format("unknown escape {}; use \\\\ for a backslash, or r'...'",
                                 Quoted(text.substr(i - 1, 2))));
    token.text += c;
  }
  if (i >= text.size()) return Wrong(at, "unterminated text: expected a closing quote");
  token.word = text.substr(at, i + 1 - at);
  return token;
}

Token Unexpected(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '=') return Wrong(at, "unexpected '='; use '==' to compare");
  if (c == '&' || c == '|')
    return Wrong(at, Format("unexpected '{0}'; use '{0}{0}', or bit(mask, n)", c));
  return Wrong(at, Format("unexpected character {}", Quoted(text.substr(at, 1))));
}

}  // namespace

Token NextToken(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) ++at;
  if (at >= text.size()) return {.at = text.size()};
  const char c = text[at];
  const bool raw =
      c == 'r' && at + 1 < text.size() && (text[at + 1] == '\'' || text[at + 1] == '"');
  if (c == '\'' || c == '"' || raw) return Text(text, at, raw);
  if (IsDigit(c)) return Number(text, at);
  if (IsNameCharacter(c)) {
    std::size_t end = at;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    return {.kind = Token::Kind::kName, .at = at, .word = text.substr(at, end - at)};
  }
  for (const std::string_view symbol : kSymbols)
    if (text.substr(at).starts_with(symbol))
      return {.kind = Token::Kind::kSymbol, .at = at, .word = text.substr(at, symbol.size())};
  return Unexpected(text, at);
}

}  // namespace fabric::expression
