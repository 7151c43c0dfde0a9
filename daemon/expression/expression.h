// Expressions over messages: a typed subset of CEL, the Common Expression Language of Google
// (github.com/google/cel-spec). Compiled once against the schema, evaluated many times. Pure.
//
// What differs from CEL, on purpose: a field that is absent makes what reads it unknown (CEL takes
// the default of a field, and calls a missing key an error); integers are of one type, "int", from
// -2^63 to 2^64 - 1, and may be mixed with doubles; enumerations are compared with the names of
// their values. docs/CUSTOM_RULES.md is the reference for those who write them.
#pragma once

#include <array>
#include <forward_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/expression/value.h"

namespace re2 {
class RE2;
}

namespace fabric::expression {

inline constexpr std::size_t kTextBytesMax = 4096;     // Of an expression
inline constexpr int kDepthMax = 48;                   // Of its nesting
inline constexpr std::uint64_t kCostMax = 10'000'000;  // Estimated: lists of 50 elements
inline constexpr std::uint32_t kStepsMax = 200'000;    // Of one evaluation

struct Variable {
  std::string_view name;
  Type type;
};

// What a function gets, apart from its context: arguments that are known and of the right types.
struct Call {
  std::span<const Value> arguments;
  const void* context = nullptr;          // Bindings::context
  const re2::RE2* pattern = nullptr;      // Of a function with a kPattern
  std::forward_list<std::string>& texts;  // Keeps what a returned text points to
};

struct Function {
  enum class Parameter : std::uint8_t { kNone, kText, kInt, kNumber, kList, kScalar, kPattern };
  std::string_view name;
  std::array<Parameter, 2> parameters = {};  // Ends with the first kNone
  Type::Kind result = Type::Kind::kAny;
  bool called = true;   // name(a, b)
  bool method = false;  // a.name(b)
  bool reads = false;   // Reads the facts, so that its result is evidence
  Value (*call)(const Call& call) = nullptr;
};

struct Environment {
  std::span<const Variable> variables;
  std::span<const Function> functions;  // Beside the built-in ones
};

struct Bindings {
  std::span<const Value> values;  // One for each variable; Unknown{.absent = true}: it is not there
  const void* context = nullptr;  // For the environment's functions
};

struct Error {
  std::size_t at = 0;  // Offset in the text, in bytes
  std::string message;
};

enum class Truth : std::uint8_t { kFalse, kTrue, kUnknown };

struct Read {
  std::string path;  // "port.gids[0].type"
  std::string seen;  // "ROCE_V2", "absent"
};

struct Explanation {
  bool known = false;
  std::string text;         // The value; when it is not known, why: "netdev.dcb is absent"
  std::vector<Read> reads;  // In the order of reading; each path once, at most kReadsMax
};
inline constexpr std::size_t kReadsMax = 8;

struct Node;

// A value that can be moved; const functions are safe to call from any thread.
class Expression {
 public:
  // `wanted`: refuses an expression of another type. `environment` may be gone afterwards, but not
  // the functions' table.
  static std::variant<Expression, Error> Compile(std::string_view text,
                                                 const Environment& environment,
                                                 std::optional<Type::Kind> wanted = {});
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  // Of an expression that is a bool. Allocates nothing unless filter, map or + on texts are used.
  Truth Test(const Bindings& bindings) const;
  // The same again, with the value as text and what was read.
  Explanation Explain(const Bindings& bindings) const;

 private:
  explicit Expression(std::unique_ptr<const Node> root);
  std::unique_ptr<const Node> root_;
};

// Text with expressions in it: "MTU ${netdev.mtu_bytes}"; "$${" stands for "${".
class Template {
 public:
  static std::variant<Template, Error> Compile(std::string_view text,
                                               const Environment& environment);
  // What is not known is "?".
  std::string Render(const Bindings& bindings) const;

 private:
  struct Part {
    std::string text;  // Before the expression
    std::optional<Expression> expression;
  };
  std::vector<Part> parts_;
};

}  // namespace fabric::expression
