// Built-in functions, one row for each overload.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "daemon/expression/syntax.h"

namespace fabric::expression {
namespace {

using Kind = Type::Kind;
using Parameter = Function::Parameter;

std::string_view Text(const Call& call, std::size_t index) {
  const auto* text = call.arguments[index].As<std::string_view>();
  return text == nullptr ? std::string_view() : *text;
}

Value Because(std::string_view reason) {
  return {Unknown{.reason = reason}};
}

Value SizeOfText(const Call& call) {
  std::int64_t characters = 0;
  for (const char c : Text(call, 0)) characters += (c & 0xc0) != 0x80 ? 1 : 0;  // UTF-8
  return {characters};
}
Value SizeOfList(const Call& call) {
  return {static_cast<std::int64_t>(SizeOf(call.arguments[0]))};
}
Value StartsWith(const Call& call) {
  return {Text(call, 0).starts_with(Text(call, 1))};
}
Value EndsWith(const Call& call) {
  return {Text(call, 0).ends_with(Text(call, 1))};
}
Value Contains(const Call& call) {
  return {Text(call, 0).find(Text(call, 1)) != std::string_view::npos};
}
Value Matches(const Call& call) {
  const std::string_view text = Text(call, 0);
  return {re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *call.pattern)};
}

Value Bit(const Call& call) {
  const Wide mask = ToWide(call.arguments[0]);
  const Wide bit = ToWide(call.arguments[1]);
  if (bit < 0 || bit > 63) return Because("expected a bit from 0 to 63");
  return {(mask >> static_cast<int>(bit) & 1) != 0};
}

Value String(const Call& call) {
  return {std::string_view(call.texts.emplace_front(ToText(call.arguments[0])))};
}

Value IntOfText(const Call& call) {
  const auto number = ParseNumber<std::int64_t>(Text(call, 0));
  return number.ok() ? Value{*number} : Because("the text is not an int");
}
Value IntOfNumber(const Call& call) {
  const Value& number = call.arguments[0];
  if (IsInteger(number)) return number;
  const double real = std::trunc(ToDouble(number));
  const bool fits = real >= -0x1p63 && real < 0x1p64;  // Not of NaN either
  return fits ? FromWide(static_cast<Wide>(real)) : Because("the number is too large for an int");
}

Value DoubleOfText(const Call& call) {
  const std::string_view text = Text(call, 0);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? Value{number} : Because("the text is not a number");
}
Value DoubleOfNumber(const Call& call) {
  return {ToDouble(call.arguments[0])};
}

constexpr Function kFunctions[] = {
    {"size", {Parameter::kText}, Kind::kInt, true, true, false, SizeOfText},
    {"size", {Parameter::kList}, Kind::kInt, true, true, false, SizeOfList},
    {"startsWith",
     {Parameter::kText, Parameter::kText},
     Kind::kBool,
     false,
     true,
     false,
     StartsWith},
    {"endsWith", {Parameter::kText, Parameter::kText}, Kind::kBool, false, true, false, EndsWith},
    {"contains", {Parameter::kText, Parameter::kText}, Kind::kBool, false, true, false, Contains},
    {"matches", {Parameter::kText, Parameter::kPattern}, Kind::kBool, false, true, false, Matches},
    {"bit", {Parameter::kInt, Parameter::kInt}, Kind::kBool, true, false, false, Bit},
    {"string", {Parameter::kScalar}, Kind::kText, true, false, false, String},
    {"int", {Parameter::kText}, Kind::kInt, true, false, false, IntOfText},
    {"int", {Parameter::kNumber}, Kind::kInt, true, false, false, IntOfNumber},
    {"double", {Parameter::kText}, Kind::kDouble, true, false, false, DoubleOfText},
    {"double", {Parameter::kNumber}, Kind::kDouble, true, false, false, DoubleOfNumber},
};

}  // namespace

std::span<const Function> BuiltInFunctions() {
  return kFunctions;
}

std::string_view Noun(Function::Parameter parameter) {
  switch (parameter) {
    case Function::Parameter::kText: return "a string";
    case Function::Parameter::kInt: return "an int";
    case Function::Parameter::kNumber: return "a number";
    case Function::Parameter::kList: return "a list";
    case Function::Parameter::kScalar: return "a single value";
    case Function::Parameter::kPattern: return "a written-out pattern";
    case Function::Parameter::kNone: break;
  }
  return "nothing";
}

bool Fits(const Node& argument, Function::Parameter parameter) {
  const Type& type = argument.type;
  switch (parameter) {
    case Function::Parameter::kText: return type.Is(Type::Kind::kText);
    case Function::Parameter::kInt: return type.Is(Type::Kind::kInt);
    case Function::Parameter::kNumber: return type.IsNumber();
    case Function::Parameter::kList: return type.lists > 0;
    case Function::Parameter::kScalar: return type.lists == 0 && !type.Is(Type::Kind::kMessage);
    case Function::Parameter::kPattern: return argument.op == Op::kText;
    case Function::Parameter::kNone: return false;
  }
  return false;
}

std::size_t ParameterCount(const Function& function) {
  const auto& all = function.parameters;
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), Function::Parameter::kNone) -
                                  all.begin());
}

}  // namespace fabric::expression
