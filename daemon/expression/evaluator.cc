// Evaluator of a checked tree. Unknown operands make the result unknown, unless it does not depend
// on them.
#include <algorithm>

#include "base/text.h"
#include "daemon/expression/syntax.h"

namespace fabric::expression {
namespace {

using google::protobuf::Message;

constexpr std::string_view kTooManySteps = "too many steps";
constexpr std::size_t kJoinedBytesMax = 1 << 16;
constexpr std::size_t kBytesOfStep = 16;

Truth TruthOf(const Value& value) {
  const auto* truth = value.As<bool>();
  if (truth == nullptr) return Truth::kUnknown;
  return *truth ? Truth::kTrue : Truth::kFalse;
}

std::size_t BytesOf(const Value& value) {
  const auto* text = value.As<std::string_view>();
  return text == nullptr ? 0 : text->size();
}

bool Holds(Op op, int order) {
  switch (op) {
    case Op::kLess: return order < 0;
    case Op::kLessEqual: return order <= 0;
    case Op::kGreater: return order > 0;
    default: return order >= 0;
  }
}

}  // namespace

bool Evaluator::Spend(std::size_t steps) {
  steps_ = static_cast<std::uint32_t>(std::min<std::size_t>(steps_ + steps, kStepsMax));
  return steps_ < kStepsMax;
}

Value Evaluator::Fail(std::string_view reason) {
  return {Unknown{.reason = reason}};
}

Value Evaluator::Absent(const Node& node) {
  if (explanation_ == nullptr) return {Unknown{.absent = true}};
  return {Unknown{.absent = true, .reason = texts_.emplace_front(Path(node) + " is absent")}};
}

Value Evaluator::Evaluate(const Node& node) {
  return Spend(1) ? Dispatch(node) : Fail(kTooManySteps);
}

Value Evaluator::Dispatch(const Node& node) {
  switch (node.op) {
    case Op::kConstant: return node.value;
    case Op::kText: return {std::string_view(node.text)};
    case Op::kVariable: {
      const Value& value = bindings_.values[node.slot];
      return value.IsUnknown() ? Absent(node) : value;
    }
    case Op::kLocal: {
      const Value& value = locals_[node.slot].value;
      return value.IsUnknown() ? Absent(node) : value;
    }
    case Op::kSelect: return Select(node);
    case Op::kHas: return Has(node);
    case Op::kIndex: return Index(node);
    case Op::kList: return MakeList(node);
    case Op::kCall: return CallFunction(node);
    case Op::kNot: {
      const Value value = Evaluate(node.args[0]);
      return value.IsUnknown() ? value : Value{TruthOf(value) == Truth::kFalse};
    }
    case Op::kAnd: return Logic(node, false);
    case Op::kOr: return Logic(node, true);
    case Op::kConditional: return Conditional(node);
    case Op::kNegate:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder: return Arithmetic(node);
    case Op::kAll:
    case Op::kExists:
    case Op::kExistsOne:
    case Op::kFilter:
    case Op::kMap: return Macro(node);
    default: return Relation(node);
  }
}

Value Evaluator::Select(const Node& node) {
  const Value from = Evaluate(node.args[0]);
  const auto* message = from.As<const Message*>();
  if (message == nullptr) return from;
  Value value = ReadField(**message, *node.field);
  if (explanation_ == nullptr) return value;
  if (value.As<const Message*>() == nullptr) Note(node, value);
  return value.IsUnknown() ? Absent(node) : value;
}

// True when the whole path is present; false for an empty list, and for zero in a field without
// presence.
Value Evaluator::Has(const Node& node) {
  const Node& path = node.args[0];
  const Value from = Evaluate(path.op == Op::kSelect ? path.args[0] : path);
  if (const auto* unknown = from.As<Unknown>(); unknown != nullptr && !unknown->absent) return from;
  bool there = !from.IsUnknown();
  if (const auto* message = from.As<const Message*>();
      message != nullptr && path.field != nullptr) {
    const auto& reflection = *(*message)->GetReflection();
    there = path.field->is_repeated() ? reflection.FieldSize(**message, path.field) > 0
                                      : reflection.HasField(**message, path.field) &&
                                            !ReadField(**message, *path.field).IsUnknown();
  }
  if (explanation_ != nullptr) NoteText(Path(path), there ? "present" : "absent");
  return {there};
}

Value Evaluator::Index(const Node& node) {
  const Value list = Evaluate(node.args[0]);
  if (list.IsUnknown()) return list;
  const Value index = Evaluate(node.args[1]);
  if (index.IsUnknown()) return index;
  const Wide at = ToWide(index);
  const std::size_t size = SizeOf(list);
  if (at >= 0 && at < static_cast<Wide>(size)) {
    Value value = ElementOf(list, static_cast<std::size_t>(at));
    return value.IsUnknown() ? Absent(node) : value;
  }
  if (explanation_ == nullptr) return {Unknown{.absent = true}};
  return {Unknown{
      .absent = true,
      .reason = texts_.emplace_front(Format("{} is absent: the list has {}", Path(node), size))}};
}

Value Evaluator::MakeList(const Node& node) {
  List list;
  list.reserve(node.args.size());
  for (const Node& item : node.args) {
    list.push_back(Evaluate(item));
    if (list.back().IsUnknown()) return list.back();
  }
  return {static_cast<const List*>(&lists_.emplace_front(std::move(list)))};
}

Value Evaluator::CallFunction(const Node& node) {
  std::array<Value, std::tuple_size_v<decltype(Function::parameters)>> arguments;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    arguments[i] = Evaluate(node.args[i]);
    if (arguments[i].IsUnknown()) return arguments[i];
    if (!Spend(BytesOf(arguments[i]) / kBytesOfStep)) return Fail(kTooManySteps);
  }
  Value value = node.function->call({.arguments = std::span(arguments).first(node.args.size()),
                                     .context = bindings_.context,
                                     .pattern = node.pattern.get(),
                                     .texts = texts_});
  if (explanation_ == nullptr || !node.function->reads) return value;
  Note(node, value);
  const auto* unknown = value.As<Unknown>();
  return unknown != nullptr && unknown->absent ? Absent(node) : value;
}

// One deciding operand is enough, even if others are unknown.
Value Evaluator::Logic(const Node& node, bool decides) {
  Value result{!decides};
  for (const Node& arg : node.args) {
    const Value value = Evaluate(arg);
    if (value.IsUnknown() && !result.IsUnknown()) result = value;
    if (value.As<bool>() != nullptr && *value.As<bool>() == decides) return {decides};
  }
  return result;
}

Value Evaluator::Conditional(const Node& node) {
  const Value condition = Evaluate(node.args[0]);
  if (condition.IsUnknown()) return condition;
  return Evaluate(node.args[TruthOf(condition) == Truth::kTrue ? 1 : 2]);
}

Value Evaluator::Relation(const Node& node) {
  const Value left = Evaluate(node.args[0]);
  if (left.IsUnknown()) return left;
  const Value right = Evaluate(node.args[1]);
  if (right.IsUnknown()) return right;
  if (node.op == Op::kIn) return Contained(left, right);
  const std::size_t elements = std::min(SizeOf(left), SizeOf(right));
  if (!Spend(elements + std::min(BytesOf(left), BytesOf(right)) / kBytesOfStep))
    return Fail(kTooManySteps);
  if (node.op == Op::kEqual) return {Equal(left, right)};
  if (node.op == Op::kNotEqual) return {!Equal(left, right)};
  return {Holds(node.op, Compare(left, right))};
}

Value Evaluator::Contained(const Value& item, const Value& list) {
  const std::size_t size = SizeOf(list);
  if (!Spend(size * (1 + BytesOf(item) / kBytesOfStep))) return Fail(kTooManySteps);
  for (std::size_t i = 0; i < size; ++i)
    if (Equal(item, ElementOf(list, i))) return {true};
  return {false};
}

Value Evaluator::Arithmetic(const Node& node) {
  const Value left = Evaluate(node.args[0]);
  if (left.IsUnknown()) return left;
  if (node.op == Op::kNegate)
    return IsInteger(left) ? FromWide(-ToWide(left)) : Value{-ToDouble(left)};
  const Value right = Evaluate(node.args[1]);
  if (right.IsUnknown()) return right;
  if (const auto* text = left.As<std::string_view>()) {
    const std::string_view more = *right.As<std::string_view>();
    const std::size_t bytes = text->size() + more.size();
    if (bytes > kJoinedBytesMax || !Spend(bytes / kBytesOfStep))
      return Fail("the text is too long");
    std::string& joined = texts_.emplace_front(*text);
    joined += more;
    return {std::string_view(joined)};
  }
  if (!IsInteger(left) || !IsInteger(right)) {
    const double a = ToDouble(left);
    const double b = ToDouble(right);
    if (node.op == Op::kAdd) return {a + b};
    if (node.op == Op::kSubtract) return {a - b};
    if (node.op == Op::kMultiply) return {a * b};
    return b == 0 ? Fail("division by zero") : Value{a / b};
  }
  const Wide a = ToWide(left);
  const Wide b = ToWide(right);
  Wide result = 0;
  if (node.op == Op::kAdd) result = a + b;
  if (node.op == Op::kSubtract) result = a - b;
  if (node.op == Op::kMultiply && __builtin_mul_overflow(a, b, &result))
    return Fail("the result is not a 64-bit number");
  const bool divides = node.op == Op::kDivide || node.op == Op::kRemainder;
  if (divides && b == 0) return Fail("division by zero");
  if (divides) result = node.op == Op::kDivide ? a / b : a % b;
  const Value value = FromWide(result);
  return value.IsUnknown() ? Fail("the result is not a 64-bit number") : value;
}

Value Evaluator::Macro(const Node& node) {
  const Value list = Evaluate(node.args[0]);
  if (list.IsUnknown()) return list;
  const bool collects = node.op == Op::kFilter || node.op == Op::kMap;
  return collects ? Collect(node, list) : Quantify(node, list);
}

Value Evaluator::Body(const Node& node, const Value& list, std::size_t index) {
  locals_[node.slot] = {ElementOf(list, index), &node, index};
  return Evaluate(node.args[1]);
}

Value Evaluator::Quantify(const Node& node, const Value& list) {
  std::optional<Value> unknown;
  std::size_t count = 0;
  const std::size_t size = SizeOf(list);
  for (std::size_t i = 0; i < size; ++i) {
    const Value value = Body(node, list, i);
    if (value.IsUnknown() && !unknown) unknown = value;
    if (!Spend(0)) break;
    const Truth truth = TruthOf(value);
    if (truth == Truth::kTrue) ++count;
    if (node.op == Op::kAll && truth == Truth::kFalse) return {false};
    if (node.op == Op::kExists && truth == Truth::kTrue) return {true};
    if (node.op == Op::kExistsOne && count > 1) return {false};
  }
  if (!Spend(0)) return Fail(kTooManySteps);
  if (unknown) return *unknown;
  return {node.op == Op::kAll || (node.op == Op::kExistsOne && count == 1)};
}

Value Evaluator::Collect(const Node& node, const Value& list) {
  List collected;
  const std::size_t size = SizeOf(list);
  for (std::size_t i = 0; i < size; ++i) {
    const Value value = Body(node, list, i);
    if (value.IsUnknown()) return value;
    if (node.op == Op::kMap)
      collected.push_back(value);
    else if (TruthOf(value) == Truth::kTrue)
      collected.push_back(ElementOf(list, i));
  }
  return {static_cast<const List*>(&lists_.emplace_front(std::move(collected)))};
}

void Evaluator::Note(const Node& node, const Value& value) {
  NoteText(Path(node), ToText(value));
}

void Evaluator::NoteText(std::string path, std::string seen) {
  std::vector<Read>& reads = explanation_->reads;
  const bool known =
      std::any_of(reads.begin(), reads.end(), [&](const Read& read) { return read.path == path; });
  if (!known && reads.size() < kReadsMax) reads.push_back({std::move(path), std::move(seen)});
}

// The path in this evaluation: "port.gids[2].type", where the expression has "g.type".
std::string Evaluator::Path(const Node& node) {
  switch (node.op) {
    case Op::kVariable: return node.text;
    case Op::kSelect: return Path(node.args[0]) + "." + node.text;
    case Op::kLocal: {
      const Local& local = locals_[node.slot];
      return Format("{}[{}]", Path(local.macro->args[0]), local.index);
    }
    case Op::kIndex: {
      const Value index = Evaluate(node.args[1]);
      return Format("{}[{}]", Path(node.args[0]), index.IsUnknown() ? "?" : ToText(index));
    }
    case Op::kFilter: return Path(node.args[0]) + ".filter()";
    case Op::kMap: return Path(node.args[0]) + ".map()";
    case Op::kCall: {
      std::vector<std::string> arguments;
      for (const Node& arg : node.args)
        arguments.push_back(arg.op == Op::kText ? "'" + arg.text + "'" : Path(arg));
      return Format("{}({})", node.text, Join(arguments, ", "));
    }
    default: return "(...)";
  }
}

}  // namespace fabric::expression
