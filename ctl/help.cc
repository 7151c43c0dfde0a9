#include "ctl/help.h"

#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "ctl/man_pages.h"

namespace fabric::ctl {
namespace {

constexpr std::string_view kSummary =
    "fabricctl shows the state of the RDMA fabric as fabricd knows it, validates it and starts "
    "probes.";

constexpr Option kSharedOptions[] = {
    {.name = "controller",
     .value = "HOST[:PORT]",
     .fallback = "127.0.0.1:9418",
     .doc = "gRPC address of fabricd, port 9418 if not given. Several with commas, if several "
            "controllers share a state: the one that leads answers. Environment: "
            "FABRICCTL_CONTROLLER."},
    {.name = "context",
     .value = "NAME",
     .doc = "Context of the configuration file: controller and credentials. Environment: "
            "FABRICCTL_CONTEXT. Default: its current-context. all: show the answers of all "
            "contexts, in the order of their names."},
    {.name = "config",
     .type = OptionType::kPath,
     .doc = "Configuration file, with mode 0600. Environment: FABRICCTL_CONFIG. Default: "
            "~/.config/fabricd/config.yaml."},
    {.name = "tls-ca",
     .type = OptionType::kPath,
     .doc = "CA of the controller's certificate (PEM); selects TLS. Environment: "
            "FABRICCTL_TLS_CA."},
    {.name = "tls-cert",
     .type = OptionType::kPath,
     .doc = "Certificate of the caller (PEM). Environment: FABRICCTL_TLS_CERT."},
    {.name = "tls-key",
     .type = OptionType::kPath,
     .doc = "Private key of --tls-cert (PEM). Environment: FABRICCTL_TLS_KEY."},
    {.name = "token-file",
     .type = OptionType::kPath,
     .doc = "File with the bearer token of the caller, sent over TLS or to this machine only. "
            "Environment: FABRICCTL_TOKEN_FILE."},
    {.name = "token-command",
     .value = "COMMAND",
     .doc = "Command for /bin/sh that prints the bearer token, instead of --token-file. "
            "Environment: FABRICCTL_TOKEN_COMMAND."},
    {.name = "snapshot",
     .type = OptionType::kPath,
     .value = "FOLDER",
     .doc = "Answer from the snapshots NODE.json in this folder (fabric-agent inspect -o json) in "
            "place of a controller: commands about nodes, ports, devices and findings."},
    {.name = "output",
     .fallback = "table",
     .choices = "table|wide|json|yaml|name|jsonl|csv",
     .doc = "Output format. json and yaml print the message of the API, jsonl prints each element "
            "of its list on a line, csv prints all columns.",
     .letter = 'o'},
    {.name = "sort-by",
     .value = "COLUMN",
     .doc = "Sort the rows of the tables by this column, such as name or -findings (descending)."},
    {.name = "no-headers",
     .type = OptionType::kBool,
     .doc = "Print tables and CSV without the line of column titles, for scripts."},
    {.name = "watch",
     .type = OptionType::kBool,
     .doc = "Repeat a command that only reads, until interrupted.",
     .letter = 'w'},
    {.name = "interval",
     .type = OptionType::kDuration,
     .fallback = "2s",
     .min = "100ms",
     .max = "1h",
     .doc = "Time between repetitions with --watch, and between the two samples of a rate."},
    {.name = "timeout",
     .type = OptionType::kDuration,
     .fallback = "10s",
     .min = "1ms",
     .max = "365d",
     .doc = "Timeout of one call to the controller."},
    {.name = "no-color",
     .type = OptionType::kBool,
     .doc = "Disable colors. Colors are also off without a terminal and if NO_COLOR is set."},
    {.name = "version", .type = OptionType::kBool, .doc = "Print the version of fabricctl."},
    {.name = "help",
     .type = OptionType::kBool,
     .doc = "Print help about the program or the command.",
     .letter = 'h'},
};

using Rows = std::vector<std::pair<std::string, std::string>>;

const Rows kExitStatuses = {
    {Format("{}", kExitOk), "Success."},
    {Format("{}", kExitFindings), "Success, with a failing finding or a failed probe."},
    {Format("{}", kExitUsage), "Invalid command line or request."},
    {Format("{}", kExitUnreachable), "The controller is unreachable or timed out."},
    {Format("{}", kExitNotAllowed), "Permission denied by the controller."},
    {Format("{}", kExitError), "Another error. Standard error has the message."},
    {Format("{}", kExitUnknown), "The certificate's verdict is UNKNOWN."},
    {Format("{}", kExitInterrupted), "Interrupted (Ctrl-C). Standard error has what continues."},
};

const Rows kVariables = {
    {"FABRICCTL_CONTROLLER", "HOST[:PORT] of the controller. --controller overrides it."},
    {"FABRICCTL_CONTEXT", "Context of the configuration file. --context overrides it."},
    {"FABRICCTL_CONFIG", "Configuration file. --config overrides it."},
    {"FABRICCTL_TLS_CA", "CA of the controller. --tls-ca overrides it."},
    {"FABRICCTL_TLS_CERT", "Certificate of the caller. --tls-cert overrides it."},
    {"FABRICCTL_TLS_KEY", "Private key of the caller. --tls-key overrides it."},
    {"FABRICCTL_TOKEN_FILE", "File with a bearer token. --token-file overrides it."},
    {"FABRICCTL_TOKEN_COMMAND",
     "Command that prints a bearer token. --token-command overrides it."},
    {"USER", "Default of --author."},
    {"XDG_CONFIG_HOME", "Folder of fabricd/config.yaml. Default: ~/.config."},
    {"COLUMNS", "Width of the terminal, in place of the real one."},
    {"LC_ALL, LC_CTYPE, LANG", "A locale without UTF-8 selects ASCII output on a terminal."},
    {"TERM", "dumb disables colors."},
    {"NO_COLOR", "Disables colors if set."},
};

constexpr std::string_view kExamples[] = {
    "fabricctl nodes",
    "fabricctl findings --severity error",
    "fabricctl probe run --rails 0 && fabricctl matrix",
    "fabricctl devices -o json | jq '.devices[].netdev'",
};

std::span<const Option> OptionsOf(const Command& command) {
  return command.schema_options != nullptr ? command.schema_options() : command.options;
}

CommandSpec SpecOf(const Command& command) {
  return {.path = command.path,
          .summary = command.summary,
          .description = command.description,
          .example = command.example,
          .options = OptionsOf(command)};
}

std::string MarkdownTable(std::string_view title, std::string_view column, const Rows& rows) {
  std::string text = Format("\n## {}\n\n| {} | meaning |\n|---|---|\n", title, column);
  for (const auto& [name, meaning] : rows)
    text += column == "status" ? Format("| {} | {} |\n", name, meaning)
                               : Format("| `{}` | {} |\n", name, meaning);
  return text;
}

}  // namespace

std::vector<CommandSpec> SpecsOf(std::span<const Command* const> commands) {
  std::vector<CommandSpec> specs;
  for (const Command* command : commands) specs.push_back(SpecOf(*command));
  return specs;
}

ProgramSpec Program(std::span<const CommandSpec> commands) {
  return {
      .name = "fabricctl", .summary = kSummary, .commands = commands, .options = kSharedOptions};
}

std::string Help(const ProgramSpec& program, const CommandLine& line) {
  std::string text = HelpText(program, line);
  if (line.command != nullptr || line.group.empty())
    text += "\nExit status:\n" + HelpRows(kExitStatuses);
  if (line.command != nullptr || !line.group.empty()) return text;
  text += "\nEnvironment:\n" + HelpRows(kVariables) + "\nExamples:\n";
  for (const std::string_view example : kExamples) text += Format("  {}\n", example);
  return text;
}

std::string ReferencePage(std::span<const Command* const> commands) {
  std::string text =
      "# fabricctl\n\n<!-- Generated: fabricctl reference > docs/reference/CLI.md -->\n\n";
  text +=
      Format("{}\n\n## Commands\n\n| command | description |\n|---|---|\n", Wrapped(kSummary, 0));
  for (const Command* command : commands) {
    std::string anchor(command->path);
    std::ranges::replace(anchor, ' ', '-');
    text += Format("| [`{}`](#fabricctl-{}) | {} |\n", command->path, anchor, command->summary);
  }
  text += Format("\n## Values\n\n{}", ValueForms());
  text += "\n## Options of every command\n\n" + OptionTable(kSharedOptions);
  text += MarkdownTable("Exit status", "status", kExitStatuses);
  text += MarkdownTable("Environment", "variable", kVariables);
  for (const Command* command : commands) {
    text += Format("\n## fabricctl {}\n\n{}\n\n    {}\n", command->path, command->summary,
                   Usage("fabricctl", SpecOf(*command)));
    if (!command->description.empty()) text += Format("\n{}\n", Wrapped(command->description, 0));
    const std::span<const Option> options = OptionsOf(*command);
    if (!options.empty()) text += "\n" + OptionTable(options);
    text += "\nExamples:\n\n";
    for (const std::string_view example : Split(command->example, '\n'))
      text += Format("    {}\n", example);
  }
  return text;
}

Result<std::string> ManualPage(std::span<const Command* const> commands, std::string_view name) {
  const std::vector<CommandSpec> specs = SpecsOf(commands);
  std::string names;
  for (ManPage& page : ManualPages({.program = Program(specs),
                       .version = kVersion,
                       .exit_statuses = kExitStatuses,
                       .variables = kVariables,
                       .examples = kExamples})) {
    if (page.name == name) return std::move(page.text);
    names += page.name + "\n";
  }
  if (name.empty()) return names;
  return Status(Code::kNotFound, Format("manpage: unknown page {}", Quoted(name)));
}

}  // namespace fabric::ctl
