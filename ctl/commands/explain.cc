#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kExplainOptions[] = {
    {.name = "RULE", .value = "RULE", .doc = "ID of the rule, as in findings.", .required = true},
};

// "; rules with this in their names: A, B", or nothing.
std::string Containing(std::string_view part, const std::vector<std::string_view>& known) {
  std::vector<std::string> found;
  for (const std::string_view id : known)
    if (!part.empty() && id.find(part) != std::string_view::npos) found.emplace_back(id);
  return found.empty() ? std::string()
                       : Format("; rules with this in their names: {}", Join(found, ", "));
}

Result<const rules::Rule*> FindRule(const std::string& id) {
  std::vector<std::string_view> known;
  for (const rules::Rule* rule : rules::AllRules()) {
    if (rule->id == id) return rule;
    known.push_back(rule->id);
  }
  return Status(Code::kNotFound, UnknownName("rule", id, known, Containing(id, known)));
}

// Lines of at most 80 columns, indented by two.
std::string Paragraph(std::string_view text) {
  constexpr std::size_t kColumns = 80;
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : Words(text)) {
    const bool fits = column > 0 && column + 1 + word.size() <= kColumns;
    if (!fits) out += column == 0 ? "  " : "\n  ";
    if (fits) out += ' ';
    column = fits ? column + 1 + word.size() : 2 + word.size();
    out += word;
  }
  return out + "\n";
}

Result<Output> RunExplain(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(const rules::Rule* rule, FindRule(arguments.Text("RULE")));
  auto info = std::make_unique<v1::RuleInfo>(rules::Info(*rule));
  Output output;
  output.before = Format("{}: severity {}, scope {}, family {}\n\n", info->id(),
                         Name(info->severity()), Name(info->scope()), info->family());
  const auto section = [&](std::string_view title, std::string_view text) {
    output.before += Format("{}\n{}", title, Paragraph(text));
  };
  section("Rule", info->title());
  section("Why", info->why());
  section("Needs", info->needs());
  if (!info->profile_values().empty())
    section("Profile values",
            Join({info->profile_values().begin(), info->profile_values().end()}, ", "));
  section("Fix", info->fix());
  section("Source", info->source());
  output.names = {info->id()};
  output.message = std::move(info);
  return output;
}

}  // namespace

extern const Command explain = {
    .path = "explain",
    .summary = "Explain a rule: what it checks, why, and how to fix a failure.",
    .description = "Works without a controller. `fabricctl rules` lists the rules.",
    .example =
        "fabricctl explain pfc_equal_on_rail\n"
        "fabricctl explain mtu_equal_on_rail -o json",
    .options = kExplainOptions,
    .run = RunExplain,
    .offline = true,
};

}  // namespace fabric::ctl
