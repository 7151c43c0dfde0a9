#include "daemon/custom/rule_file.h"

#include <algorithm>

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
    auto read = ReadYaml(yaml_);
    if (auto* problem = std::get_if<Problem>(&read)) {
      Report(problem->place, problem->message);
      return std::move(out_);
    }
    const Part& root = std::get<Part>(read);
    if (Map(root, {"rules", "tests"}, "a file of rules")) {
      for (const Part& part : ListOf(root, "rules")) LoadRule(part);
      for (const Part& part : ListOf(root, "tests")) LoadTest(part);
      if (root.Find("rules") == nullptr) Report(root.place, "no 'rules'");
    }
    std::stable_sort(out_.problems.begin(), out_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.place < b.place; });
    return std::move(out_);
  }

 private:
  void Report(const Place& place, std::string message) {
    out_.problems.push_back({out_.name, place, std::move(message)});
  }

  bool Map(const Part& part, const Keys& known, std::string_view what) {
    if (part.kind != Part::Kind::kMap) {
      Report(part.place, Format("expected {} ({}), saw {}", what, Listed(known), KindName(part)));
      return false;
    }
    Keys seen;
    for (const auto& [key, value] : part.entries) {
      if (std::find(known.begin(), known.end(), key.text) == known.end())
        Report(key.place, UnknownName("key", key.text, known));
      else if (std::find(seen.begin(), seen.end(), key.text) != seen.end())
        Report(key.place, Format("{} is given twice", Quoted(key.text)));
      seen.push_back(key.text);
    }
    return true;
  }

  // What stands under the key; nothing when it is not there.
  const std::vector<Part>& ListOf(const Part& map, std::string_view key) {
    static const std::vector<Part> kNone;
    const Part* part = map.Find(key);
    if (part == nullptr || part->kind == Part::Kind::kNothing) return kNone;
    if (part->kind != Part::Kind::kList)
      Report(part->place, Format("{}: expected a list, saw {}", key, KindName(*part)));
    return part->items;
  }

  // nullptr when it is not there, or is no text; the latter is a problem.
  const Part* TextOf(const Part& map, std::string_view key, bool required) {
    const Part* part = map.Find(key);
    const bool there = part != nullptr && part->kind != Part::Kind::kNothing &&
                       !(part->kind == Part::Kind::kText && part->text.empty());
    if (!there && required) Report(map.place, Format("no {}", Quoted(key)));
    if (!there) return nullptr;
    if (part->kind == Part::Kind::kText) return part;
    Report(part->place, Format("{}: expected a text, saw {}", key, KindName(*part)));
    return nullptr;
  }

  std::string Text(const Part& map, std::string_view key, bool required = false) {
    const Part* part = TextOf(map, key, required);
    return part == nullptr ? std::string() : part->text;
  }

  // The enumerator of `choices` that the text names.
  template <class Enum>
  Enum Choice(const Part& map, std::string_view key, std::initializer_list<Enum> choices) {
    const Part* part = TextOf(map, key, true);
    if (part == nullptr) return Enum{};
    Keys names;
    for (const Enum choice : choices) {
      names.push_back(Name(choice));
      if (names.back() == part->text) return choice;
    }
    Report(part->place,
           Format("{}: expected one of {}; saw {}", key, Listed(names), Quoted(part->text)));
    return Enum{};
  }

  bool Flag(const Part& map, std::string_view key) {
    const std::string text = Text(map, key);
    if (!text.empty() && text != "true" && text != "false")
      Report(map.Find(key)->place, Format("{}: expected true or false; saw {}", key, Quoted(text)));
    return text == "true";
  }

  template <class T, class Compile>
  std::optional<T> Compiled(const Part& map, std::string_view key, bool required,
                            const Compile& compile) {
    const Part* part = TextOf(map, key, required);
    if (part == nullptr) return std::nullopt;
    std::variant<T, expression::Error> result = compile(part->text);
    if (const auto* error = std::get_if<expression::Error>(&result)) {
      Report(PlaceIn(yaml_, *part, error->at), Format("{}: {}", key, error->message));
      return std::nullopt;
    }
    return std::get<T>(std::move(result));
  }

  std::optional<Expression> ExpressionOf(const Part& map, std::string_view key, bool required,
                                         v1::Scope scope,
                                         std::optional<expression::Type::Kind> wanted) {
    return Compiled<Expression>(map, key, required, [&](std::string_view text) {
      return Expression::Compile(text, EnvironmentOf(scope), wanted);
    });
  }

  std::optional<Template> TemplateOf(const Part& map, std::string_view key, bool required,
                                     v1::Scope scope) {
    return Compiled<Template>(map, key, required, [&](std::string_view text) {
      return Template::Compile(text, EnvironmentOf(scope));
    });
  }

  std::string Id(const Part& map) {
    const Part* part = TextOf(map, "id", true);
    if (part == nullptr) return {};
    const std::string& id = part->text;
    if (!IsId(id))
      Report(part->place, Format("id: expected words of a-z, 0-9 and _ with dots between them, at "
                                 "most {} bytes; saw {}",
                                 kIdBytesMax, Quoted(id)));
    else if (std::find(taken_.begin(), taken_.end(), id) != taken_.end())
      Report(part->place, Format("id: {} is taken by another rule", Quoted(id)));
    else if (std::find(ids_.begin(), ids_.end(), id) != ids_.end())
      Report(part->place, Format("id: {} is given twice", Quoted(id)));
    ids_.push_back(id);
    return id;
  }

  void LoadFix(const Part& part, Rule& rule) {
    if (!Map(part, {"platform", "command", "interrupts_traffic", "note"}, "a fix")) return;
    Fix fix;
    if (const Part* platform = TextOf(part, "platform", false)) fix.platform = platform->text;
    auto command = TemplateOf(part, "command", true, rule.scope);
    if (command) fix.command = *std::move(command);
    fix.interrupts_traffic = Flag(part, "interrupts_traffic");
    fix.note = TemplateOf(part, "note", false, rule.scope);
    rule.fixes.push_back(std::move(fix));
  }

  void LoadRule(const Part& part) {
    const std::size_t problems = out_.problems.size();
    if (ids_.size() == kRulesMax) {
      if (!too_many_) Report(part.place, Format("more than {} rules in one file", kRulesMax));
      too_many_ = true;
      return;
    }
    if (!Map(part,
             {"id", "title", "severity", "scope", "when", "check", "expect", "seen", "why",
              "source", "fix"},
             "a rule"))
      return;
    Rule rule;
    rule.place = Format("{}:{}", out_.name, part.place.line);
    rule.id = Id(part);
    rule.title = Text(part, "title", true);
    rule.severity = Choice(
        part, "severity",
        {v1::SEVERITY_INFO, v1::SEVERITY_WARNING, v1::SEVERITY_ERROR, v1::SEVERITY_CRITICAL});
    rule.scope = Choice(part, "scope", {v1::SCOPE_PORT, v1::SCOPE_DEVICE, v1::SCOPE_NODE});
    rule.why = Text(part, "why");
    rule.source = Text(part, "source");
    rule.expect = Text(part, "expect");
    // Without a scope nobody knows the variables.
    if (rule.scope != v1::SCOPE_UNSPECIFIED) {
      using expression::Type;
      rule.when = ExpressionOf(part, "when", false, rule.scope, Type::Kind::kBool);
      rule.check = ExpressionOf(part, "check", true, rule.scope, Type::Kind::kBool);
      rule.seen = ExpressionOf(part, "seen", false, rule.scope, std::nullopt);
      rule.title_template = TemplateOf(part, "title", false, rule.scope);
      if (rule.expect.empty()) rule.expect = Text(part, "check");
      for (const Part& fix : ListOf(part, "fix")) LoadFix(fix, rule);
    }
    if (out_.problems.size() == problems) out_.rules.push_back(std::move(rule));
  }

  v1::Verdict VerdictOf(const Part& part) {
    const Part* word = TextOf(part, "verdict", true);
    if (word == nullptr || word->text == "none") return v1::VERDICT_UNSPECIFIED;
    if (word->text == "pass") return v1::VERDICT_PASS;
    if (word->text == "fail") return v1::VERDICT_FAIL;
    if (word->text == "unknown") return v1::VERDICT_UNKNOWN;
    Report(word->place, Format("verdict: expected one of pass, fail, unknown, none; saw {}",
                               Quoted(word->text)));
    return v1::VERDICT_UNSPECIFIED;
  }

  // The id that `part` names; without, `fallback`.
  std::string RuleNamed(const Part& part, const std::string& fallback) {
    const Part* named = TextOf(part, "rule", false);
    if (named == nullptr) {
      if (fallback.empty())
        Report(part.place, "no 'rule': there are several, so name the one that is tested");
      return fallback;
    }
    if (std::find(ids_.begin(), ids_.end(), named->text) == ids_.end())
      Report(named->place,
             UnknownName("rule", named->text, {ids_.begin(), ids_.end()}, " in this file"));
    return named->text;
  }

  void LoadSnapshot(const Part& part, RuleTest& test) {
    const Part* snapshot = part.Find("snapshot");
    if (snapshot == nullptr || snapshot->kind == Part::Kind::kNothing)
      return Report(part.place, "no 'snapshot'");
    if (snapshot->kind == Part::Kind::kText) {
      test.file = snapshot->text;
      if (test.file.empty()) Report(snapshot->place, "snapshot: the name of the file is empty");
      return;
    }
    const Status status = FromJson(ToJson(*snapshot), test.snapshot);
    if (status.ok()) return;
    std::string message = status.message();
    std::replace(message.begin(), message.end(), '\n', ' ');
    Report(snapshot->place, Format("snapshot: {}", message));
  }

  void LoadTest(const Part& part) {
    const std::size_t problems = out_.problems.size();
    if (!Map(part, {"name", "rule", "snapshot", "expect"}, "a test")) return;
    RuleTest test{.name = Text(part, "name", true), .place = part.place};
    const std::string only = ids_.size() == 1 ? ids_[0] : std::string();
    const std::string named = part.Find("rule") == nullptr ? only : RuleNamed(part, only);
    LoadSnapshot(part, test);
    for (const Part& item : ListOf(part, "expect")) {
      if (!Map(item, {"rule", "subject", "verdict"}, "an expectation")) continue;
      Expectation expectation{.rule = RuleNamed(item, named),
                              .subject = Text(item, "subject", true),
                              .verdict = VerdictOf(item)};
      test.rules.push_back(expectation.rule);
      test.expectations.push_back(std::move(expectation));
    }
    if (test.expectations.empty() && out_.problems.size() == problems)
      Report(part.place, "expect: nothing is expected");
    std::sort(test.rules.begin(), test.rules.end());
    test.rules.erase(std::unique(test.rules.begin(), test.rules.end()), test.rules.end());
    // A test of a rule that was refused has nothing to run.
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
  std::vector<std::string> ids_;  // Of good and of bad rules
  bool too_many_ = false;
  RuleFile out_;
};

}  // namespace

RuleFile LoadRules(std::string_view yaml, std::string_view file,
                   std::span<const std::string_view> taken) {
  return Loader(yaml, file, taken).Load();
}

}  // namespace fabric::custom
