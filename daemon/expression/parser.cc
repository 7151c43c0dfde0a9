// Recursive-descent parser, with one function for all binary operators.
#include <algorithm>

#include "base/text.h"
#include "daemon/expression/lexer.h"
#include "daemon/expression/syntax.h"

namespace fabric::expression {
namespace {

struct Operator {
  std::string_view symbol;
  int strength;  // Binds tighter when greater
  Op op;
};
constexpr int kRelation = 3;  // a < b < c is an error
constexpr Operator kOperators[] = {
    {"||", 1, Op::kOr},
    {"&&", 2, Op::kAnd},
    {"==", kRelation, Op::kEqual},
    {"!=", kRelation, Op::kNotEqual},
    {"<=", kRelation, Op::kLessEqual},
    {">=", kRelation, Op::kGreaterEqual},
    {"<", kRelation, Op::kLess},
    {">", kRelation, Op::kGreater},
    {"in", kRelation, Op::kIn},
    {"+", 4, Op::kAdd},
    {"-", 4, Op::kSubtract},
    {"*", 5, Op::kMultiply},
    {"/", 5, Op::kDivide},
    {"%", 5, Op::kRemainder},
};

struct MacroName {
  std::string_view name;
  Op op;
};
constexpr MacroName kMacros[] = {
    {"all", Op::kAll},       {"exists", Op::kExists}, {"exists_one", Op::kExistsOne},
    {"filter", Op::kFilter}, {"map", Op::kMap},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { Advance(); }

  std::variant<Node, Error> Parse() {
    if (text_.size() > kTextBytesMax) {
      Fail(0, Format("too long: {} bytes, at most {}", text_.size(), kTextBytesMax));
    }
    Node root = Whole();
    if (token_.kind != Token::Kind::kEnd) FailHere("an operator or the end");
    if (error_) return *std::move(error_);
    return root;
  }

 private:
  void Advance() {
    token_ = NextToken(text_, token_.at + token_.word.size());
    if (token_.kind == Token::Kind::kWrong) Fail(token_.at, token_.text);
  }

  // Only the first error is reported; then all tokens are kEnd, so that parsing stops.
  void Fail(std::size_t at, std::string message) {
    if (!error_) error_ = Error{at, std::move(message)};
    token_ = {.at = text_.size()};
  }

  void FailHere(std::string_view expected) {
    const std::string seen = token_.kind == Token::Kind::kEnd ? "the end" : Quoted(token_.word);
    Fail(token_.at, Format("expected {}, saw {}", expected, seen));
  }

  bool Sees(std::string_view word) const {
    const bool fits = token_.kind == Token::Kind::kSymbol || token_.kind == Token::Kind::kName;
    return fits && token_.word == word;
  }

  bool Take(std::string_view word) {
    if (!Sees(word)) return false;
    Advance();
    return true;
  }

  void Want(std::string_view word) {
    if (!Take(word)) FailHere(Quoted(word));
  }

  Node Make(Op op, std::size_t at, std::vector<Node> args = {}) {
    Node node{.op = op, .at = at, .args = std::move(args)};
    for (const Node& arg : node.args) node.depth = std::max(node.depth, arg.depth + 1);
    if (node.depth > kDepthMax) Fail(at, Format("nested deeper than {} levels", kDepthMax));
    return node;
  }

  Node Make(Op op, std::size_t at, Node first) {
    std::vector<Node> args;
    args.push_back(std::move(first));
    return Make(op, at, std::move(args));
  }

  Node Make(Op op, std::size_t at, Node first, Node second) {
    std::vector<Node> args;
    args.push_back(std::move(first));
    args.push_back(std::move(second));
    return Make(op, at, std::move(args));
  }

  Node Whole() {
    if (++level_ > kDepthMax) Fail(token_.at, Format("nested deeper than {} levels", kDepthMax));
    Node node = Binary(1);
    if (Sees("?")) {
      std::vector<Node> args;
      const std::size_t at = token_.at;
      Advance();
      args.push_back(std::move(node));
      args.push_back(Whole());
      Want(":");
      args.push_back(Whole());
      node = Make(Op::kConditional, at, std::move(args));
    }
    --level_;
    return node;
  }

  const Operator* SeenOperator() const {
    for (const Operator& row : kOperators)
      if (Sees(row.symbol)) return &row;
    return nullptr;
  }

  Node Binary(int strength) {
    Node left = Unary();
    for (const Operator* row = SeenOperator(); row != nullptr && row->strength >= strength;
         row = SeenOperator()) {
      const std::size_t at = token_.at;
      Advance();
      Node right = Binary(row->strength + 1);
      const bool logic = row->op == Op::kAnd || row->op == Op::kOr;
      if (logic && left.op == row->op) {
        left.depth = std::max(left.depth, right.depth + 1);
        left.args.push_back(std::move(right));
      } else {
        left = Make(row->op, at, std::move(left), std::move(right));
      }
      if (row->strength == kRelation && SeenOperator() != nullptr &&
          SeenOperator()->strength == kRelation)
        Fail(token_.at, "comparisons cannot be chained: use a < b && b < c");
    }
    return left;
  }

  Node Unary() {
    const std::size_t at = token_.at;
    std::vector<Op> signs;
    while (Sees("!") || Sees("-")) {
      signs.push_back(Sees("!") ? Op::kNot : Op::kNegate);
      if (signs.size() > static_cast<std::size_t>(kDepthMax))
        Fail(at, Format("nested deeper than {} levels", kDepthMax));
      Advance();
    }
    Node node = Postfix();
    for (; !signs.empty(); signs.pop_back()) node = Make(signs.back(), at, std::move(node));
    return node;
  }

  Node Postfix() {
    Node node = Primary();
    for (;;) {
      const std::size_t at = token_.at;
      if (Take(".")) {
        node = Member(std::move(node));
      } else if (Take("[")) {
        Node index = Whole();
        Want("]");
        node = Make(Op::kIndex, at, std::move(node), std::move(index));
      } else {
        return node;
      }
    }
  }

  Node Member(Node from) {
    const std::size_t at = token_.at;
    const std::string name(token_.word);
    if (token_.kind != Token::Kind::kName) {
      FailHere("the name of a field");
      return from;
    }
    Advance();
    if (!Sees("(")) {
      Node node = Make(Op::kSelect, at, std::move(from));
      node.text = name;
      return node;
    }
    for (const MacroName& row : kMacros)
      if (row.name == name) return Macro(row, at, std::move(from));
    std::vector<Node> args;
    args.push_back(std::move(from));
    Node node = Make(Op::kCall, at, Arguments(std::move(args)));
    node.text = name;
    node.method = true;
    return node;
  }

  Node Macro(const MacroName& row, std::size_t at, Node list) {
    Want("(");
    const std::string name(token_.word);
    if (token_.kind != Token::Kind::kName)
      FailHere(Format("the name of a variable, as in {}(x, ...)", row.name));
    else
      Advance();
    Want(",");
    Node body = Whole();
    Want(")");
    Node node = Make(row.op, at, std::move(list), std::move(body));
    node.text = name;
    return node;
  }

  // Appends "(a, b)" to the arguments.
  std::vector<Node> Arguments(std::vector<Node> args) {
    Want("(");
    if (Take(")")) return args;
    do {
      args.push_back(Whole());
    } while (Take(","));
    Want(")");
    return args;
  }

  Node Primary() {
    const std::size_t at = token_.at;
    if (token_.kind == Token::Kind::kNumber) {
      Node node = Make(Op::kConstant, at);
      node.value = token_.number;
      Advance();
      return node;
    }
    if (token_.kind == Token::Kind::kText) {
      Node node = Make(Op::kText, at);
      node.text = token_.text;
      Advance();
      return node;
    }
    if (token_.kind == Token::Kind::kName && !Sees("in")) return Name();
    if (Take("(")) {
      Node node = Whole();
      Want(")");
      return node;
    }
    if (Take("[")) return ListOf(at);
    FailHere("a value");
    return Make(Op::kConstant, at);
  }

  Node ListOf(std::size_t at) {
    std::vector<Node> items;
    while (!Sees("]") && !error_) {
      items.push_back(Whole());
      if (!Take(",")) break;
    }
    Want("]");
    return Make(Op::kList, at, std::move(items));
  }

  Node Name() {
    const std::size_t at = token_.at;
    const std::string name(token_.word);
    Advance();
    if (name == "true" || name == "false") {
      Node node = Make(Op::kConstant, at);
      node.value = Value{name == "true"};
      return node;
    }
    if (name == "null") Fail(at, "null is not supported: use has(x.y) to test for presence");
    if (!Sees("(")) {
      Node node = Make(Op::kName, at);
      node.text = name;
      return node;
    }
    Node node = Make(name == "has" ? Op::kHas : Op::kCall, at, Arguments({}));
    node.text = name;
    return node;
  }

  std::string_view text_;
  Token token_;
  int level_ = 0;
  std::optional<Error> error_;
};

}  // namespace

std::variant<Node, Error> Parse(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace fabric::expression
