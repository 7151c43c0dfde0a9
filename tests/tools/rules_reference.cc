#include "tests/tools/rules_reference.h"

#include "base/text.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "subnet/checks/check.h"

namespace fabric::rules {
namespace {

constexpr std::size_t kColumns = 100;

std::string Wrapped(std::string_view text) {
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : Words(text)) {
    const bool fits = column + 1 + word.size() <= kColumns;
    if (column > 0) out += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out + "\n";
}

constexpr std::string_view kHead = R"(# Rules

Generated from the rules' own text by `rules_reference`; do not edit.

Every rule returns PASS, FAIL or UNKNOWN for each subject. UNKNOWN means that an input of the rule
could not be read. Passes are counted; failures and unknowns become findings, each with the expected
value, the seen value, the source, and why the value is expected. One fault gives one finding: only
`port_active` judges a port that is down.

`Fix` is the remedy in general terms. A finding has the commands with the names of its node and
port. Each command states the node or switch to type it on; what it affects (port, NIC, node, switch
port, switch, subnet, or nothing when it only reads); what it interrupts; whether it weakens
isolation between tenants; whether it survives a reboot, and how to make it permanent; and how to
undo it. `fabricctl finding show` prints all of them, `-o wide` the first command with what it
affects. [REMEDIES.md](REMEDIES.md) lists these effects for each rule.

)";

std::string RulePage(const Rule& rule) {
  std::string page = Format("## {}\n\n**{}.**\n\n{}\n", rule.id, rule.title, Wrapped(rule.why));
  if (!rule.needs.empty()) page += Format("Needs: {}.\n\n", NeedsText(rule));
  if (!rule.profile.empty())
    page += Format("Of the profile: {}.\n\n", Join(ProfileFields(rule), " "));
  page += Format("Fix: `{}`\n\nSource: {}.\n", rule.fix, rule.source);
  return page;
}

}  // namespace

std::string RulesReference() {
  std::string page(kHead);
  page += "| Rule | Family | Severity | Scope |\n|---|---|---|---|\n";
  for (const Rule* rule : AllRules())
    page += Format("| [`{0}`](#{0}) | {1} | {2} | {3} |\n", rule->id, rules::FolderOf(*rule),
                   Name(rule->severity), Name(rule->scope));
  for (const subnet::Check* check : subnet::AllChecks())
    page += Format("| [`{0}`](#{0}) | subnet | {1} | subnet |\n", check->id, Name(check->severity));
  for (const Rule* rule : AllRules()) page += "\n" + RulePage(*rule);
  for (const subnet::Check* check : subnet::AllChecks())
    page += Format(
        "\n## {}\n\n**{}.**\n\n{}\n\nNeeds: files of the InfiniBand subnet "
        "([INFINIBAND.md](../INFINIBAND.md)).\n",
        check->id, check->title, Wrapped(check->why));
  return page;
}

}  // namespace fabric::rules
