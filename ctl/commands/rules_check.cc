#include "ctl/command.h"
#include "ctl/commands/rule_files.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kRulesCheckOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "File of custom rules; - is standard input.",
     .required = true,
     .repeated = true},
};

Result<Output> RunRulesCheck(Client&, const Arguments& arguments, Stream&) {
  const RuleFiles loaded = LoadRuleFiles(arguments.All("FILE"));
  Output output;
  Table table{.columns = {{.title = "RULE"},
                          {.title = "SEVERITY"},
                          {.title = "SCOPE"},
                          {.title = "TITLE", .elastic = true},
                          {.title = "WHERE", .wide_only = true}},
              .empty_note = "No valid rules."};
  auto message = std::make_unique<google::protobuf::Struct>();
  auto& files = *(*message->mutable_fields())["files"].mutable_list_value();
  for (const custom::RuleFile& file : loaded.files) {
    *files.add_values()->mutable_struct_value() = Described(file);
    for (const custom::Rule& rule : file.rules) {
      table.rows.push_back({Cell(rule.id), Cell(Name(rule.severity)), Cell(Name(rule.scope)),
                            Cell(rule.title), Cell(rule.location)});
      output.names.push_back(rule.id);
    }
  }
  output.before = loaded.problems;
  output.tables.push_back(std::move(table));
  output.message = std::move(message);
  output.exit_status = loaded.problems.empty() ? kExitOk : kExitUsage;
  return output;
}

}  // namespace

extern const Command rules_check = {
    .path = "rules check",
    .summary = "Check files of custom rules for errors.",
    .description =
        "Prints errors as FILE:LINE:COLUMN, and the valid rules. An invalid rule does not affect "
        "the others. Exits with 2 if there is an error. Works without a controller. For the "
        "format, see docs/CUSTOM_RULES.md.",
    .example =
        "fabricctl rules check site.yaml\n"
        "fabricctl rules check base.yaml site.yaml",
    .options = kRulesCheckOptions,
    .run = RunRulesCheck,
    .offline = true,
};

}  // namespace fabric::ctl
