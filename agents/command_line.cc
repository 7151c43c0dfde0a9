#include "agents/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/text.h"

namespace fabric::agent {
namespace {

// The library would only say that a command is missing.
Status CheckCommand(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (argc < 2) return {Code::kInvalidArgument, "expected a command: " + Join(names, ", ")};
  const std::string_view word = argv[1];
  if (word == "-h" || word == "--help") return {};
  if (std::count(names.begin(), names.end(), word) > 0) return {};
  const std::string_view meant = Closest(word, {names.begin(), names.end()});
  return {Code::kInvalidArgument, Format("{}: no such command; {}", Quoted(word),
                                         meant.empty() ? "there are " + Join(names, ", ")
                                                       : Format("did you mean {}?", meant))};
}

// Of a variable that is not set, say: which would mean this machine as it is.
const CLI::Validator NotEmpty(
    [](const std::string& word) { return std::string(word.empty() ? "must not be empty" : ""); },
    "");

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("Tells what this node's RDMA looks like, and probes it.", "fabric-agent");
  app.require_subcommand(1);
  // The settings of the daemon have a parser of their own, with a file and a help text.
  CLI::App& run = *app.add_subcommand("run", "Inspect and probe for a controller, until stopped.");
  run.set_help_flag();
  run.prefix_command();
  CLI::App& inspect = *app.add_subcommand("inspect", "Print what this machine looks like.");
  inspect.add_option("-o,--output", line.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  constexpr std::uint32_t kLldpWaitMax = 600;
  inspect
      .add_option("--lldp-wait", line.lldp_wait_s,
                  "Seconds to wait for LLDP frames, which switches send every 30 s")
      ->check(CLI::Range(std::uint32_t{0}, kLldpWaitMax));
  CLI::App& map = *app.add_subcommand("ibdev2netdev", "Print which netdev each RDMA port has.");
  map.add_flag("-v,--verbose", line.verbose, "With PCI address, part and firmware");
  CLI::App& metrics = *app.add_subcommand("metrics", "Print the metrics of this machine once.");
  metrics
      .add_option("--compat", line.compat,
                  "none or node-exporter: that one's InfiniBand metrics beside our own")
      ->check(CLI::IsMember({"none", "node-exporter"}));
  CLI::App& nccl = *app.add_subcommand(
      "nccl-env", "Print the NCCL variables that this machine calls for, with the reasons.");
  nccl.add_option("-o,--output", line.output, "env (for a shell), table or json")
      ->check(CLI::IsMember({"env", "table", "json"}));
  CLI::App& version = *app.add_subcommand("version", "Print the version.");
  for (CLI::App* command : {&inspect, &map, &metrics, &nccl})
    command->add_option("--root", line.root, "A captured tree instead of this machine");
  for (CLI::App* command : {&inspect, &nccl}) {
    CLI::Option* const netns =
        command
            ->add_option("--netns", line.netns,
                         "As seen from the network namespace of this process, or of this name or "
                         "file")
            ->type_name("PID|NAME|FILE")
            ->check(NotEmpty);
    command->add_option("--pod", line.pod, "As seen from the pod with this UID")
        ->type_name("UID")
        ->check(NotEmpty)
        ->excludes(netns);
  }
  RETURN_IF_ERROR(CheckCommand(app, argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.help = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    return Status(Code::kInvalidArgument, Format("{}; --help tells more", error.what()));
  }
  if (run.parsed()) line.command = Command::kRun;
  if (inspect.parsed()) line.command = Command::kInspect;
  if (map.parsed()) line.command = Command::kIbdev2Netdev;
  if (metrics.parsed()) line.command = Command::kMetrics;
  if (nccl.parsed()) line.command = Command::kNcclEnv;
  if (version.parsed()) line.command = Command::kVersion;
  if (line.output.empty()) line.output = nccl.parsed() ? "env" : "table";
  line.rest = run.remaining();
  return line;
}

}  // namespace fabric::agent
