// Syntax tree of an expression. Private to this folder.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/expression/expression.h"

namespace fabric::expression {

enum class Op : std::uint8_t {
  kConstant,
  kText,
  kName,  // Not resolved yet
  kVariable,
  kLocal,  // The variable of a macro
  kSelect,
  kHas,
  kIndex,
  kList,
  kCall,
  kNot,
  kNegate,
  kAnd,  // Two or more
  kOr,
  kConditional,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kAll,  // Macros: list and body
  kExists,
  kExistsOne,
  kFilter,
  kMap,
};

inline constexpr std::size_t kMacroDepthMax = 8;

// A compiled pattern. A copy compiles it again: RE2 cannot be copied.
class Pattern {
 public:
  Pattern() = default;
  Pattern(const std::string& text, const re2::RE2::Options& options)
      : compiled_(std::make_unique<const re2::RE2>(text, options)) {}
  Pattern(const Pattern& other) {
    if (other.compiled_) *this = Pattern(other.compiled_->pattern(), other.compiled_->options());
  }
  Pattern& operator=(const Pattern& other) { return *this = Pattern(other); }
  Pattern(Pattern&&) noexcept = default;
  Pattern& operator=(Pattern&&) noexcept = default;
  ~Pattern() = default;

  const re2::RE2* get() const { return compiled_.get(); }  // nullptr: none

 private:
  std::unique_ptr<const re2::RE2> compiled_;
};

struct Node {
  Op op = Op::kConstant;
  std::size_t at = 0;  // Offset in the text
  std::string text;    // Of a kText; the name of a variable, field, function or macro variable
  std::vector<Node> args;
  int depth = 1;
  bool method = false;  // Of a kCall: x.name()

  // Set by the checker:
  Type type;
  Value value;           // kConstant
  std::size_t slot = 0;  // kVariable, kLocal; of macros the slot of their variable
  const google::protobuf::FieldDescriptor* field = nullptr;
  const Function* function = nullptr;
  Pattern pattern;
};

// Grammar, literals, depth and length.
std::variant<Node, Error> Parse(std::string_view text);

// Resolves names and checks types, patterns and cost. nullopt: ready for evaluation.
std::optional<Error> Check(Node& root, const Environment& environment);

std::span<const Function> BuiltInFunctions();
std::size_t ParameterCount(const Function& function);
bool Fits(const Node& argument, Function::Parameter parameter);
// "a string", "an int" and so on, for messages.
std::string_view Noun(Function::Parameter parameter);

// Evaluation of a tree.
class Evaluator {
 public:
  Evaluator(const Bindings& bindings, Explanation* explanation)
      : bindings_(bindings), explanation_(explanation) {}

  Value Evaluate(const Node& node);

 private:
  struct Local {
    Value value;
    const Node* macro = nullptr;
    std::size_t index = 0;
  };

  Value Dispatch(const Node& node);
  Value Has(const Node& node);
  Value Select(const Node& node);
  Value Index(const Node& node);
  Value MakeList(const Node& node);
  Value CallFunction(const Node& node);
  Value Logic(const Node& node, bool decides);
  Value Conditional(const Node& node);
  Value Relation(const Node& node);
  Value Contained(const Value& item, const Value& list);
  Value Arithmetic(const Node& node);
  Value Macro(const Node& node);
  Value Quantify(const Node& node, const Value& list);
  Value Collect(const Node& node, const Value& list);
  Value Body(const Node& node, const Value& list, std::size_t index);

  bool Spend(std::size_t steps);  // False when the limit is reached
  Value Absent(const Node& node);
  Value Fail(std::string_view reason);
  void Note(const Node& node, const Value& value);
  void NoteText(std::string path, std::string seen);
  std::string Path(const Node& node);

  const Bindings& bindings_;
  Explanation* explanation_;  // nullptr: not requested
  std::uint32_t steps_ = 0;
  std::array<Local, kMacroDepthMax> locals_;
  std::forward_list<std::string> texts_;
  std::forward_list<List> lists_;
};

}  // namespace fabric::expression
