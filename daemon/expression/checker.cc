// Checker: resolves names and assigns types.
#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "daemon/expression/syntax.h"

namespace fabric::expression {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using Kind = Type::Kind;

constexpr std::uint64_t kElementsEstimated = 50;
constexpr std::size_t kNamesListedMax = 12;
constexpr std::int64_t kPatternMemoryMax = 1 << 20;

bool ComparableKinds(const Type& a, const Type& b) {
  if (a.kind == Kind::kMessage || b.kind == Kind::kMessage) return false;
  const bool numbers = (a.kind == Kind::kInt || a.kind == Kind::kDouble) &&
                       (b.kind == Kind::kInt || b.kind == Kind::kDouble);
  return numbers || (a.kind == b.kind && a.enumeration == b.enumeration);
}

// True when the types can be compared with ==.
bool Comparable(const Type& a, const Type& b) {
  const bool empty = (a.kind == Kind::kAny || b.kind == Kind::kAny) && a.lists > 0 && b.lists > 0;
  return empty || (a.lists == b.lists && ComparableKinds(a, b));
}

// Common type of two alternatives; kAny: none.
Type Common(const Type& a, const Type& b) {
  if (a == b || (b.kind == Kind::kAny && b.lists > 0 && a.lists > 0)) return a;
  if (a.kind == Kind::kAny && a.lists > 0 && b.lists > 0) return b;
  if (a.IsNumber() && b.IsNumber()) return {.kind = Kind::kDouble};
  return {};
}

std::uint64_t Cost(const Node& node) {
  std::uint64_t cost = 1;
  for (const Node& arg : node.args) cost += Cost(arg);
  if (node.op >= Op::kAll && node.op <= Op::kMap)
    cost += (kElementsEstimated - 1) * Cost(node.args[1]);
  return std::min(cost, kCostMax + 1);
}

class Checker {
 public:
  explicit Checker(const Environment& environment) : environment_(environment) {}

  std::optional<Error> Run(Node& root) {
    Check(root);
    if (!error_ && Cost(root) > kCostMax)
      Fail(root, "too costly: nested macros multiply the number of steps");
    return std::move(error_);
  }

 private:
  void Fail(std::size_t at, std::string message) {
    if (!error_) error_ = Error{at, std::move(message)};
  }
  void Fail(const Node& node, std::string message) { Fail(node.at, std::move(message)); }

  void Mismatch(const Node& node, std::string_view what, const Type& seen) {
    Fail(node, Format("{}, saw {}", what, Name(seen)));
  }

  void Check(Node& node) {
    const bool own_order = node.op == Op::kHas || (node.op >= Op::kAll && node.op <= Op::kMap);
    for (Node& arg : node.args) {
      if (own_order || error_) break;
      Check(arg);
    }
    if (!error_) Resolve(node);
  }

  void Resolve(Node& node) {
    switch (node.op) {
      case Op::kConstant: return Constant(node);
      case Op::kText: node.type.kind = Kind::kText; return;
      case Op::kName: return ResolveName(node);
      case Op::kVariable:
      case Op::kLocal: return;
      case Op::kSelect: return Select(node);
      case Op::kHas: return Has(node);
      case Op::kIndex: return Index(node);
      case Op::kList: return ListOf(node);
      case Op::kCall: return CallOf(node);
      case Op::kNot:
      case Op::kAnd:
      case Op::kOr: return Logic(node);
      case Op::kNegate:
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
      case Op::kDivide:
      case Op::kRemainder: return Arithmetic(node);
      case Op::kConditional: return Conditional(node);
      case Op::kEqual:
      case Op::kNotEqual:
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual: return Relation(node);
      case Op::kIn: return Contained(node);
      case Op::kAll:
      case Op::kExists:
      case Op::kExistsOne:
      case Op::kFilter:
      case Op::kMap: return Macro(node);
    }
  }

  static void Constant(Node& node) {
    if (node.value.As<bool>() != nullptr) node.type.kind = Kind::kBool;
    if (IsInteger(node.value)) node.type.kind = Kind::kInt;
    if (node.value.As<double>() != nullptr) node.type.kind = Kind::kDouble;
    if (const auto* enumerator = node.value.As<Enumerator>())
      node.type = {.kind = Kind::kEnum, .enumeration = (*enumerator)->type()};
  }

  void ResolveName(Node& node) {
    for (std::size_t i = locals_.size(); i-- > 0;)
      if (locals_[i].name == node.text) {
        node.op = Op::kLocal;
        node.slot = i;
        node.type = locals_[i].type;
        return;
      }
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < environment_.variables.size(); ++i) {
      const Variable& variable = environment_.variables[i];
      names.push_back(variable.name);
      if (variable.name != node.text) continue;
      node.op = Op::kVariable;
      node.slot = i;
      node.type = variable.type;
      return;
    }
    for (const Variable& variable : environment_.variables) {
      if (variable.type.message == nullptr) continue;
      const auto& file = *variable.type.message->file();
      const EnumValueDescriptor* value =
          file.pool()->FindEnumValueByName(file.package() + "." + node.text);
      if (value == nullptr) continue;
      node.op = Op::kConstant;
      node.value = Value{value};
      return Constant(node);
    }
    for (const Local& local : locals_) names.push_back(local.name);
    const std::string known = Join({names.begin(), names.end()}, ", ");
    Fail(node, UnknownName("name", node.text, names, known.empty() ? "" : "; expected " + known));
  }

  void Select(Node& node) {
    const Type& from = node.args[0].type;
    if (!from.Is(Kind::kMessage))
      return Fail(node, Format("{} has no fields, so no {}{}", Name(from), Quoted(node.text),
                               from.lists > 0 ? "; index it, or use exists() or all()" : ""));
    node.field = from.message->FindFieldByName(node.text);
    if (node.field == nullptr) {
      std::vector<std::string_view> names;
      for (int i = 0; i < from.message->field_count(); ++i)
        names.push_back(from.message->field(i)->name());
      return Fail(node, UnknownName(Name(from) + " field", node.text, names));
    }
    node.type = TypeOfField(*node.field);
    if (node.type.kind == Kind::kAny)
      Fail(node, Format("the field {} cannot be used in expressions", Quoted(node.text)));
  }

  void Has(Node& node) {
    if (node.args.size() != 1) return Fail(node, "has() takes one path, as in has(netdev.dcb)");
    Node& path = node.args[0];
    Check(path);
    if (!error_ && path.op != Op::kSelect && path.op != Op::kVariable)
      Fail(path, "has() takes a path, as in has(netdev.dcb)");
    node.type.kind = Kind::kBool;
  }

  void Index(Node& node) {
    const Type& from = node.args[0].type;
    if (from.lists == 0) return Mismatch(node, "only lists can be indexed", from);
    if (!node.args[1].type.Is(Kind::kInt))
      return Mismatch(node.args[1], "an index must be an int", node.args[1].type);
    node.type = from.Element();
  }

  void ListOf(Node& node) {
    Type element;
    for (Node& item : node.args) {
      const bool first = &item == &node.args.front();
      element = first ? item.type : Common(element, item.type);
      if (element.kind == Kind::kAny && element.lists == 0)
        return Fail(item, Format("list elements must have one type: expected {}, saw {}",
                                 Name(node.args[0].type), Name(item.type)));
    }
    node.type = element.ListOf();
  }

  void Logic(Node& node) {
    for (const Node& arg : node.args)
      if (!arg.type.Is(Kind::kBool))
        return Mismatch(arg, "'!', '&&' and '||' require bools", arg.type);
    node.type.kind = Kind::kBool;
  }

  void Arithmetic(Node& node) {
    const Type& first = node.args.front().type;
    const Type& second = node.args.back().type;
    const bool texts = first.Is(Kind::kText) && second.Is(Kind::kText);
    if (node.op == Op::kAdd && texts) return void(node.type = first);
    for (const Node& arg : node.args)
      if (!arg.type.IsNumber())
        return Mismatch(node, Format("arithmetic requires numbers{}", AddsTexts(node)), arg.type);
    node.type = Common(first, second);
    if (node.op == Op::kRemainder && !node.type.Is(Kind::kInt))
      Mismatch(node, "'%' requires ints", node.type);
  }

  static std::string_view AddsTexts(const Node& node) {
    return node.op == Op::kAdd ? " (or '+' two strings; see string())" : "";
  }

  void Conditional(Node& node) {
    if (!node.args[0].type.Is(Kind::kBool))
      return Mismatch(node.args[0], "'?' requires a bool condition", node.args[0].type);
    node.type = Common(node.args[1].type, node.args[2].type);
    if (node.type == Type())
      Fail(node, Format("both sides of ':' must have one type, saw {} and {}",
                        Name(node.args[1].type), Name(node.args[2].type)));
  }

  // Texts that are compared with an enumeration are names of its values.
  void ReadAsValues(Node& node, const Type& type) {
    if (type.kind != Kind::kEnum || error_) return;
    if (node.op == Op::kList) {
      for (Node& item : node.args) ReadAsValues(item, type);
      if (!node.args.empty()) node.type = node.args[0].type.ListOf();
    }
    if (node.op != Op::kText) return;
    std::vector<std::string_view> names;
    for (int i = 0; i < type.enumeration->value_count(); ++i) {
      const EnumValueDescriptor* value = type.enumeration->value(i);
      if (node.text == value->name() || node.text == ShortName(*value)) {
        node.op = Op::kConstant;
        node.value = Value{value};
        return Constant(node);
      }
      if (i > 0 && names.size() < kNamesListedMax) names.push_back(ShortName(*value));
    }
    Fail(node, Format("{} is not a {}; expected one of {}", Quoted(node.text),
                      type.enumeration->name(), Join({names.begin(), names.end()}, ", ")));
  }

  void Relation(Node& node) {
    Node& left = node.args[0];
    Node& right = node.args[1];
    const bool equality = node.op == Op::kEqual || node.op == Op::kNotEqual;
    if (equality) {
      ReadAsValues(right, left.type);
      ReadAsValues(left, right.type);
    }
    if (error_) return;
    const bool ordered = (left.type.IsNumber() && right.type.IsNumber()) ||
                         (left.type.Is(Kind::kText) && right.type.Is(Kind::kText));
    if (equality ? !Comparable(left.type, right.type) : !ordered)
      return Fail(node, Format("cannot compare {} with {}{}", Name(left.type), Name(right.type),
                               left.type.Is(Kind::kEnum) || right.type.Is(Kind::kEnum)
                                   ? "; an enumeration is compared by '==' with a name in quotes"
                                   : ""));
    node.type.kind = Kind::kBool;
  }

  void Contained(Node& node) {
    Node& item = node.args[0];
    Node& list = node.args[1];
    if (list.type.lists == 0)
      return Mismatch(list,
                      list.type.Is(Kind::kText) ? "'in' requires a list (for texts use contains())"
                                                : "'in' requires a list",
                      list.type);
    ReadAsValues(list, item.type);
    ReadAsValues(item, list.type);
    if (error_) return;
    const Type element = list.type.Element();
    if (element.kind != Kind::kAny && !Comparable(item.type, element))
      Fail(node, Format("cannot look for {} in a {}", Name(item.type), Name(list.type)));
    node.type.kind = Kind::kBool;
  }

  void Macro(Node& node) {
    Check(node.args[0]);
    if (error_) return;
    const Type list = node.args[0].type;
    if (list.lists == 0) return Mismatch(node, "macros require a list", list);
    if (locals_.size() == kMacroDepthMax)
      return Fail(node, Format("macros nested deeper than {}", kMacroDepthMax));
    node.slot = locals_.size();
    locals_.push_back({node.text, list.Element()});
    Check(node.args[1]);
    locals_.pop_back();
    if (error_) return;
    const Type& body = node.args[1].type;
    if (node.op != Op::kMap && !body.Is(Kind::kBool))
      return Mismatch(node.args[1], "the second argument of this macro must be a bool", body);
    node.type.kind = Kind::kBool;
    if (node.op == Op::kFilter) node.type = list;
    if (node.op == Op::kMap) node.type = body.ListOf();
  }

  void CallOf(Node& node) {
    std::vector<std::string_view> names = {"has"};
    const Function* closest = nullptr;
    for (const auto functions : {BuiltInFunctions(), environment_.functions})
      for (const Function& row : functions) {
        if (node.method ? !row.method : !row.called) continue;
        names.push_back(row.name);
        if (row.name != node.text) continue;
        closest = &row;
        if (Matches(node, row)) return Bind(node, row);
      }
    if (closest != nullptr) return WrongArguments(node, *closest);
    Fail(node, UnknownName(node.method ? "method" : "function", node.text, names));
  }

  static bool Matches(const Node& node, const Function& row) {
    if (node.args.size() != ParameterCount(row)) return false;
    for (std::size_t i = 0; i < node.args.size(); ++i)
      if (!Fits(node.args[i], row.parameters[i])) return false;
    return true;
  }

  void WrongArguments(const Node& node, const Function& row) {
    std::string takes;
    for (std::size_t i = 0; i < ParameterCount(row); ++i)
      takes += Format("{}{}", i == 0 ? "" : " and ", Noun(row.parameters[i]));
    std::vector<std::string> seen;
    for (const Node& arg : node.args) seen.push_back(Name(arg.type));
    Fail(node, Format("{}() takes {}, saw {}", node.text, takes,
                      seen.empty() ? "nothing" : Join(seen, " and ")));
  }

  void Bind(Node& node, const Function& row) {
    node.function = &row;
    node.type.kind = row.result;
    if (row.parameters[1] != Function::Parameter::kPattern) return;
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemoryMax);
    node.pattern = Pattern(node.args[1].text, options);
    if (!node.pattern.get()->ok())
      Fail(node.args[1], Format("invalid pattern: {}", node.pattern.get()->error()));
  }

  struct Local {
    std::string_view name;
    Type type;
  };

  const Environment& environment_;
  std::vector<Local> locals_;
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> Check(Node& root, const Environment& environment) {
  return Checker(environment).Run(root);
}

}  // namespace fabric::expression
