#include "daemon/custom/rule_file.h"

#include <algorithm>

#include "base/grammar.h"
#include "base/suggest.h"
#include "base/text.h"
#include "proto/json.h"
#include "proto/names.h"

namespace fabric::custom {
namespace {

using expression::Expression;
using expression::Template;
using Keys = std::vector<std::string_view>;

constexpr std::size_t kIdBytesMax = 64;
// Values of `for`.
constexpr Duration kHoldMin = std::chrono::seconds(1);
constexpr Duration kHoldMax = std::chrono::hours(24 * 7);

std::string Listed(const Keys& words) {
  return Join({words.begin(), words.end()}, ", ");
}

// Words separated by dots: "my_site.mtu_9000".
bool IsId(std::string_view id) {
  const auto is_word = [](std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  const auto words = Split(id, '.');
  return id.size() <= kIdBytesMax && std::all_of(words.begin(), words.end(), is_word);
}

class Loader {
 public:
  Loader(std::string_view yaml, std::string_view file, std::span<const std::string_view> taken)
      : yaml_(yaml), taken_(taken) {
    out_.name = file;
  }

  RuleFile Load() {
    auto read = yaml::Parse(yaml_);
    if (auto* problem = std::get_if<yaml::Problem>(&read)) {
      Report(problem->position, problem->message);
      return std::move(out_);
    }
    const yaml::Node& root = std::get<yaml::Node>(read);
    if (Map(root, {"rules", "tests"}, "a file of rules")) {
      for (const yaml::Node& node : ListOf(root, "rules")) LoadRule(node);
      for (const yaml::Node& node : ListOf(root, "tests")) LoadTest(node);
      if (root.Find("rules") == nullptr) Report(root.position, "no 'rules'");
    }
    std::stable_sort(
        out_.problems.begin(), out_.problems.end(),
        [](const yaml::Problem& a, const yaml::Problem& b) { return a.position < b.position; });
    return std::move(out_);
  }

 private:
  void Report(const yaml::Position& position, std::string message) {
    out_.problems.push_back({out_.name, position, std::move(message)});
  }

  bool Map(const yaml::Node& node, const Keys& known, std::string_view what) {
    if (node.kind != yaml::Node::Kind::kMap) {
      Report(node.position,
             Format("expected {} ({}), saw {}", what, Listed(known), KindName(node)));
      return false;
    }
    Keys seen;
    for (const auto& [key, value] : node.entries) {
      if (std::find(known.begin(), known.end(), key.text) == known.end())
        Report(key.position, UnknownName("key", key.text, known));
      else if (std::find(seen.begin(), seen.end(), key.text) != seen.end())
        Report(key.position, Format("{} is given twice", Quoted(key.text)));
      seen.push_back(key.text);
    }
    return true;
  }

  // The items under the key; empty when absent.
  const std::vector<yaml::Node>& ListOf(const yaml::Node& map, std::string_view key) {
    static const std::vector<yaml::Node> kNone;
    const yaml::Node* node = map.Find(key);
    if (node == nullptr || node->kind == yaml::Node::Kind::kNothing) return kNone;
    if (node->kind != yaml::Node::Kind::kList)
      Report(node->position, Format("{}: expected a list, saw {}", key, KindName(*node)));
    return node->items;
  }

  // nullptr if absent. Reports a value that is not a text.
  const yaml::Node* TextOf(const yaml::Node& map, std::string_view key, bool required) {
    const yaml::Node* node = map.Find(key);
    const bool there = node != nullptr && node->kind != yaml::Node::Kind::kNothing &&
                       !(node->kind == yaml::Node::Kind::kText && node->text.empty());
    if (!there && required) Report(map.position, Format("no {}", Quoted(key)));
    if (!there) return nullptr;
    if (node->kind == yaml::Node::Kind::kText) return node;
    Report(node->position, Format("{}: expected a text, saw {}", key, KindName(*node)));
    return nullptr;
  }

  std::string Text(const yaml::Node& map, std::string_view key, bool required = false) {
    const yaml::Node* node = TextOf(map, key, required);
    return node == nullptr ? std::string() : node->text;
  }

  // The enumerator among `choices` that the text names.
  template <class Enum>
  Enum Choice(const yaml::Node& map, std::string_view key, std::initializer_list<Enum> choices) {
    const yaml::Node* node = TextOf(map, key, true);
    if (node == nullptr) return Enum{};
    Keys names;
    for (const Enum choice : choices) {
      names.push_back(Name(choice));
      if (names.back() == node->text) return choice;
    }
    Report(node->position,
           Format("{}: expected one of {}; saw {}", key, Listed(names), Quoted(node->text)));
    return Enum{};
  }

  bool Flag(const yaml::Node& map, std::string_view key) {
    const std::string text = Text(map, key);
    if (!text.empty() && text != "true" && text != "false")
      Report(map.Find(key)->position,
             Format("{}: expected true or false; saw {}", key, Quoted(text)));
    return text == "true";
  }

  template <class T, class Compile>
  std::optional<T> Compiled(const yaml::Node& map, std::string_view key, bool required,
                            const Compile& compile) {
    const yaml::Node* node = TextOf(map, key, required);
    if (node == nullptr) return std::nullopt;
    std::variant<T, expression::Error> result = compile(node->text);
    if (const auto* error = std::get_if<expression::Error>(&result)) {
      Report(yaml::PositionIn(yaml_, *node, error->at), Format("{}: {}", key, error->message));
      return std::nullopt;
    }
    return std::get<T>(std::move(result));
  }

  std::optional<Expression> ExpressionOf(const yaml::Node& map, std::string_view key, bool required,
                                         v1::Scope scope,
                                         std::optional<expression::Type::Kind> wanted) {
    return Compiled<Expression>(map, key, required, [&](std::string_view text) {
      return Expression::Compile(text, EnvironmentOf(scope), wanted);
    });
  }

  std::optional<Template> TemplateOf(const yaml::Node& map, std::string_view key, bool required,
                                     v1::Scope scope) {
    return Compiled<Template>(map, key, required, [&](std::string_view text) {
      return Template::Compile(text, EnvironmentOf(scope));
    });
  }

  std::string Id(const yaml::Node& map) {
    const yaml::Node* node = TextOf(map, "id", true);
    if (node == nullptr) return {};
    const std::string& id = node->text;
    if (!IsId(id))
      Report(node->position,
             Format("id: expected words of a-z, 0-9 and _ with dots between them, at "
                    "most {} bytes; saw {}",
                    kIdBytesMax, Quoted(id)));
    else if (std::find(taken_.begin(), taken_.end(), id) != taken_.end())
      Report(node->position, Format("id: {} is taken by another rule", Quoted(id)));
    else if (std::find(ids_.begin(), ids_.end(), id) != ids_.end())
      Report(node->position, Format("id: {} is given twice", Quoted(id)));
    ids_.push_back(id);
    return id;
  }

  void LoadFix(const yaml::Node& node, Rule& rule) {
    if (!Map(node, {"platform", "command", "interrupts_traffic", "note"}, "a fix")) return;
    Fix fix;
    if (const yaml::Node* platform = TextOf(node, "platform", false)) fix.platform = platform->text;
    auto command = TemplateOf(node, "command", true, rule.scope);
    if (command) fix.command = *std::move(command);
    fix.interrupts_traffic = Flag(node, "interrupts_traffic");
    fix.note = TemplateOf(node, "note", false, rule.scope);
    rule.fixes.push_back(std::move(fix));
  }

  void LoadHold(const yaml::Node& node, Rule& rule) {
    const yaml::Node* const text = TextOf(node, "for", false);
    if (text == nullptr) return;
    const Result<Duration> hold = ParseDuration(text->text);
    if (!hold.ok() || *hold < kHoldMin || *hold > kHoldMax)
      return Report(text->position,
                    Format("for: expected a time from {} to {}, such as 5m; saw {}",
                           ToString(kHoldMin), ToString(kHoldMax), Quoted(text->text)));
    rule.hold = *hold;
  }

  void LoadRule(const yaml::Node& node) {
    const std::size_t problems = out_.problems.size();
    if (ids_.size() == kRulesMax) {
      if (!too_many_) Report(node.position, Format("more than {} rules in one file", kRulesMax));
      too_many_ = true;
      return;
    }
    if (!Map(node,
             {"id", "title", "severity", "scope", "nodes", "when", "check", "for", "expect", "seen",
              "why", "source", "fix"},
             "a rule"))
      return;
    Rule rule;
    rule.location = Format("{}:{}", out_.name, node.position.line);
    rule.id = Id(node);
    rule.title = Text(node, "title", true);
    rule.severity = Choice(
        node, "severity",
        {v1::SEVERITY_INFO, v1::SEVERITY_WARNING, v1::SEVERITY_ERROR, v1::SEVERITY_CRITICAL});
    rule.scope = Choice(node, "scope", {v1::SCOPE_PORT, v1::SCOPE_DEVICE, v1::SCOPE_NODE});
    rule.why = Text(node, "why");
    rule.source = Text(node, "source");
    rule.expect = Text(node, "expect");
    LoadHold(node, rule);
    for (const yaml::Node& pattern : ListOf(node, "nodes")) {
      if (pattern.kind == yaml::Node::Kind::kText && !pattern.text.empty())
        rule.nodes.push_back(pattern.text);
      else
        Report(pattern.position,
               Format("nodes: expected a pattern of node names, saw {}", KindName(pattern)));
    }
    // The variables depend on the scope.
    if (rule.scope != v1::SCOPE_UNSPECIFIED) {
      using expression::Type;
      rule.when = ExpressionOf(node, "when", false, rule.scope, Type::Kind::kBool);
      rule.check = ExpressionOf(node, "check", true, rule.scope, Type::Kind::kBool);
      rule.seen = ExpressionOf(node, "seen", false, rule.scope, std::nullopt);
      rule.title_template = TemplateOf(node, "title", false, rule.scope);
      if (rule.expect.empty()) rule.expect = Text(node, "check");
      for (const yaml::Node& fix : ListOf(node, "fix")) LoadFix(fix, rule);
    }
    if (out_.problems.size() == problems) out_.rules.push_back(std::move(rule));
  }

  v1::Verdict VerdictOf(const yaml::Node& node) {
    const yaml::Node* word = TextOf(node, "verdict", true);
    if (word == nullptr || word->text == "none") return v1::VERDICT_UNSPECIFIED;
    if (word->text == "pass") return v1::VERDICT_PASS;
    if (word->text == "fail") return v1::VERDICT_FAIL;
    if (word->text == "unknown") return v1::VERDICT_UNKNOWN;
    Report(word->position, Format("verdict: expected one of pass, fail, unknown, none; saw {}",
                                  Quoted(word->text)));
    return v1::VERDICT_UNSPECIFIED;
  }

  // The id that `node` names, else `fallback`.
  std::string RuleNamed(const yaml::Node& node, const std::string& fallback) {
    const yaml::Node* named = TextOf(node, "rule", false);
    if (named == nullptr) {
      if (fallback.empty())
        Report(node.position, "no 'rule': there are several, so name the one that is tested");
      return fallback;
    }
    if (std::find(ids_.begin(), ids_.end(), named->text) == ids_.end())
      Report(named->position, "rule: " + UnknownName("rule", named->text,
                                                     {ids_.begin(), ids_.end()}, " in this file"));
    return named->text;
  }

  void LoadSnapshot(const yaml::Node& node, RuleTest& test) {
    const yaml::Node* snapshot = node.Find("snapshot");
    if (snapshot == nullptr || snapshot->kind == yaml::Node::Kind::kNothing)
      return Report(node.position, "no 'snapshot'");
    if (snapshot->kind == yaml::Node::Kind::kText) {
      test.file = snapshot->text;
      if (test.file.empty()) Report(snapshot->position, "snapshot: the name of the file is empty");
      return;
    }
    ReadSnapshot(*snapshot, "snapshot", test.snapshot);
  }

  void LoadBefore(const yaml::Node& node, RuleTest& test) {
    if (const yaml::Node* const before = node.Find("before"))
      ReadSnapshot(*before, "before", test.before.emplace());
  }

  void ReadSnapshot(const yaml::Node& node, std::string_view key, v1::NodeSnapshot& snapshot) {
    const Status status = FromJson(yaml::ToJson(node), snapshot);
    if (status.ok()) return;
    std::string message = status.message();
    std::replace(message.begin(), message.end(), '\n', ' ');
    Report(node.position, Format("{}: {}", key, message));
  }

  void LoadTest(const yaml::Node& node) {
    const std::size_t problems = out_.problems.size();
    if (!Map(node, {"name", "rule", "before", "snapshot", "expect"}, "a test")) return;
    RuleTest test{.name = Text(node, "name", true), .position = node.position};
    const std::string only = ids_.size() == 1 ? ids_[0] : std::string();
    const std::string named = node.Find("rule") == nullptr ? only : RuleNamed(node, only);
    LoadSnapshot(node, test);
    LoadBefore(node, test);
    for (const yaml::Node& item : ListOf(node, "expect")) {
      if (!Map(item, {"rule", "subject", "verdict"}, "an expectation")) continue;
      Expectation expectation{.rule = RuleNamed(item, named),
                              .subject = Text(item, "subject", true),
                              .verdict = VerdictOf(item)};
      test.rules.push_back(expectation.rule);
      test.expectations.push_back(std::move(expectation));
    }
    if (test.expectations.empty() && out_.problems.size() == problems)
      Report(node.position, "expect: expected at least one expectation, saw none");
    std::sort(test.rules.begin(), test.rules.end());
    test.rules.erase(std::unique(test.rules.begin(), test.rules.end()), test.rules.end());
    // Skip tests of invalid rules.
    const auto loaded = [&](const std::string& id) {
      return std::any_of(out_.rules.begin(), out_.rules.end(),
                         [&](const Rule& rule) { return rule.id == id; });
    };
    if (out_.problems.size() == problems &&
        std::all_of(test.rules.begin(), test.rules.end(), loaded))
      out_.tests.push_back(std::move(test));
  }

  std::string_view yaml_;
  std::span<const std::string_view> taken_;
  std::vector<std::string> ids_;  // Of valid and invalid rules
  bool too_many_ = false;
  RuleFile out_;
};

}  // namespace

RuleFile LoadRules(std::string_view yaml, std::string_view file,
                   std::span<const std::string_view> taken) {
  return Loader(yaml, file, taken).Load();
}

}  // namespace fabric::custom
