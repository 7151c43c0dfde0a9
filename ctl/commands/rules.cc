#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kRulesOptions[] = {kFilterOption};

Result<Output> RunRules(Client& client, const Arguments& arguments, Stream&) {
  v1::ListRulesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListRulesResponse response, client.List<v1::ListRulesResponse>(request));
  Output output;
  Table table{.columns = {{.title = "RULE"},
                          {.title = "SEVERITY"},
                          {.title = "SCOPE"},
                          {.title = "TITLE", .elastic = true},
                          {.title = "WHY", .wide_only = true},
                          {.title = "SOURCE", .wide_only = true}},
              .empty_note = "No rules."};
  for (const v1::RuleInfo& rule : response.rules()) {
    table.rows.push_back({Cell(rule.id()), Cell(Name(rule.severity())), Cell(Name(rule.scope())),
                          Cell(rule.title()), Cell(rule.why()), Cell(rule.source())});
    output.names.push_back(rule.id());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListRulesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command rules = {
    .path = "rules",
    .summary = "List the rules that the controller evaluates.",
    .description =
        "-o wide adds the reason for each rule and its source. For custom rules, see `rules check` "
        "and `rules test`.",
    .example =
        "fabricctl rules -o wide\n"
        "fabricctl rules --filter 'severity>=error'",
    .options = kRulesOptions,
    .run = RunRules,
    .watch = true,
};

}  // namespace fabric::ctl
