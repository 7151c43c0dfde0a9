// Expression language over messages: a typed subset of CEL, Google's Common Expression Language
// (github.com/google/cel-spec). Compiled once against the schema, evaluated many times. Pure.
// Differences from CEL: an absent field makes an expression that reads it unknown (CEL uses the
// field's default, and a missing key is an error). Integers have one type, "int", from -2^63 to
// 2^64 - 1, and can be mixed with doubles. Enumerations are compared with the names of their
// values. User documentation: docs/CUSTOM_RULES.md.
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

inline constexpr std::size_t kTextBytesMax = 4096;     // Per expression
inline constexpr int kDepthMax = 48;                   // Nesting
inline constexpr std::uint64_t kCostMax = 10'000'000;  // Estimate, for lists of 50 elements
inline constexpr std::uint32_t kStepsMax = 200'000;    // Per evaluation

struct Variable {
  std::string_view name;
  Type type;
};

// Call of a function. Arguments are known and have the right types.
struct Call {
  std::span<const Value> arguments;
  const void* context = nullptr;          // Bindings::context
  const re2::RE2* pattern = nullptr;      // Of a function with a kPattern
  std::forward_list<std::string>& texts;  // Owns the texts that returned values refer to
};

struct Function {
  enum class Parameter : std::uint8_t { kNone, kText, kInt, kNumber, kList, kScalar, kPattern };
  std::string_view name;
  std::array<Parameter, 2> parameters = {};  // Ends with the first kNone
  Type::Kind result = Type::Kind::kAny;
  bool called = true;   // name(a, b)
  bool method = false;  // a.name(b)
  bool reads = false;   // Reads the snapshot: its result is evidence
  Value (*call)(const Call& call) = nullptr;
};

struct Environment {
  std::span<const Variable> variables;
  std::span<const Function> functions;  // In addition to the built-in ones
};

struct Bindings {
  std::span<const Value> values;  // By variable; Unknown{.absent = true}: absent
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
  std::string text;         // The value, or the reason why it is unknown: "netdev.dcb is absent"
  std::vector<Read> reads;  // In order of access; unique, at most kReadsMax
};
inline constexpr std::size_t kReadsMax = 8;

struct Node;

// A value; const functions are safe to call from any thread.
class Expression {
 public:
  // `wanted`: required type. `environment` may be destroyed afterwards, but not its function table.
  static std::variant<Expression, Error> Compile(std::string_view text,
                                                 const Environment& environment,
                                                 std::optional<Type::Kind> wanted = {});
  Expression(const Expression& other);
  Expression& operator=(const Expression& other);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  // For bool expressions. Allocates only for filter, map and + on texts.
  Truth Test(const Bindings& bindings) const;
  // The same, with the value as text and the values read.
  Explanation Explain(const Bindings& bindings) const;

 private:
  explicit Expression(std::unique_ptr<const Node> root);
  std::unique_ptr<const Node> root_;
};

// Text with embedded expressions: "MTU ${netdev.mtu_bytes}"; "$${" escapes "${".
class Template {
 public:
  static std::variant<Template, Error> Compile(std::string_view text,
                                               const Environment& environment);
  // Unknown values are shown as "?".
  std::string Render(const Bindings& bindings) const;

 private:
  struct Part {
    std::string text;  // Before the expression
    std::optional<Expression> expression;
  };
  std::vector<Part> parts_;
};

}  // namespace fabric::expression
