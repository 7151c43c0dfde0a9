#include "daemon/expression/expression.h"

#include "base/text.h"
#include "daemon/expression/syntax.h"

namespace fabric::expression {

std::variant<Expression, Error> Expression::Compile(std::string_view text,
                                                    const Environment& environment,
                                                    std::optional<Type::Kind> wanted) {
  auto parsed = Parse(text);
  if (auto* error = std::get_if<Error>(&parsed)) return std::move(*error);
  auto root = std::make_unique<Node>(std::get<Node>(std::move(parsed)));
  if (auto error = Check(*root, environment)) return *std::move(error);
  if (wanted && !root->type.Is(*wanted))
    return Error{root->at,
                 Format("expected a {}, saw {}", Name(Type{.kind = *wanted}), Name(root->type))};
  return Expression(std::move(root));
}

Expression::Expression(std::unique_ptr<const Node> root) : root_(std::move(root)) {}
Expression::Expression(const Expression& other)
    : root_(std::make_unique<const Node>(*other.root_)) {}
Expression& Expression::operator=(const Expression& other) {
  return *this = Expression(other);
}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Truth Expression::Test(const Bindings& bindings) const {
  const Value value = Evaluator(bindings, nullptr).Evaluate(*root_);
  const auto* truth = value.As<bool>();
  if (truth == nullptr) return Truth::kUnknown;
  return *truth ? Truth::kTrue : Truth::kFalse;
}

Explanation Expression::Explain(const Bindings& bindings) const {
  Explanation explanation;
  Evaluator evaluator(bindings, &explanation);
  const Value value = evaluator.Evaluate(*root_);
  const auto* unknown = value.As<Unknown>();
  explanation.known = unknown == nullptr;
  explanation.text = unknown == nullptr ? ToText(value) : std::string(unknown->reason);
  if (explanation.text.empty() && unknown != nullptr) explanation.text = "not known";
  return explanation;
}

std::variant<Template, Error> Template::Compile(std::string_view text,
                                                const Environment& environment) {
  Template result;
  std::string before;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.substr(at).starts_with("$${")) {
      before += "${";
      at += 3;
    } else if (text.substr(at).starts_with("${")) {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos) return Error{at, "expected '}' after '${'"};
      auto compiled = Expression::Compile(text.substr(at + 2, end - at - 2), environment);
      if (auto* error = std::get_if<Error>(&compiled))
        return Error{at + 2 + error->at, std::move(error->message)};
      result.parts_.push_back({std::move(before), std::get<Expression>(std::move(compiled))});
      before.clear();
      at = end + 1;
    } else {
      before += text[at++];
    }
  }
  result.parts_.push_back({std::move(before), std::nullopt});
  return result;
}

std::string Template::Render(const Bindings& bindings) const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.text;
    if (!part.expression) continue;
    const Explanation value = part.expression->Explain(bindings);
    text += value.known ? value.text : "?";
  }
  return text;
}

}  // namespace fabric::expression
