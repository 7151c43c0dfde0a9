// Tokens of an expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/expression/value.h"

namespace fabric::expression {

struct Token {
  enum class Kind : std::uint8_t { kEnd, kName, kNumber, kText, kSymbol, kWrong };
  Kind kind = Kind::kEnd;
  std::size_t at = 0;
  std::string_view word;  // As written
  std::string text;       // kText: the value; kWrong: the error
  Value number;           // kNumber
};

// The first token at or after `at`; the next one begins at token.at + token.word.size().
Token NextToken(std::string_view text, std::size_t at);

}  // namespace fabric::expression
