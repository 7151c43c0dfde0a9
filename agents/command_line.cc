#include "agents/command_line.h"

#include <algorithm>
#include <string_view>

#include "base/command_line.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

constexpr Option kRoot = {.name = "root",
                          .type = OptionType::kPath,
                          .value = "DIRECTORY",
                          .fallback = "/",
                          .doc = "Read a captured tree instead of this machine."};
constexpr Option kNetns = {
    .name = "netns",
    .value = "PID|NAME|FILE",
    .doc = "Inspect the network namespace of this process, or with this name or path."};
constexpr Option kPod = {.name = "pod",
                         .value = "UID",
                         .doc = "Inspect the network namespace of the pod with this UID."};

constexpr Option kInspect[] = {
    {.name = "output",
     .fallback = "table",
     .choices = "table|json|yaml",
     .doc = "Output format.",
     .letter = 'o'},
    {.name = "lldp-wait",
     .type = OptionType::kNumber,
     .value = "SECONDS",
     .max = "600",
     .doc = "Time to wait for LLDP frames, which switches send every 30 s."},
    kRoot,
    kNetns,
    kPod};
constexpr Option kIbdev2Netdev[] = {{.name = "verbose",
                                     .type = OptionType::kBool,
                                     .doc = "Add PCI address, part number and firmware.",
                                     .letter = 'v'},
                                    kRoot};
constexpr Option kMetrics[] = {
    {.name = "compat",
     .fallback = "none",
     .choices = "none|node-exporter",
     .doc = "Also print InfiniBand metrics under the names of node_exporter."},
    kRoot};
constexpr Option kNcclEnv[] = {{.name = "output",
                                .fallback = "env",
                                .choices = "env|table|json",
                                .doc = "Output format; env is for a shell.",
                                .letter = 'o'},
                               kRoot,
                               kNetns,
                               kPod};

constexpr Option kDoctor[] = {{.name = "output",
                               .fallback = "table",
                               .choices = "table|json",
                               .doc = "Output format.",
                               .letter = 'o'}};

constexpr CommandSpec kCommands[] = {
    {.path = "run",
     .summary = "Run the agent: inspect and probe until stopped. See fabric-agent run --help.",
     .description = {},
     .example = "fabric-agent run --controller fabricd.example:9418",
     .options = {}},
    {.path = "inspect",
     .summary = "Print the RDMA configuration of this machine.",
     .description = {},
     .example = "fabric-agent inspect -o json",
     .options = kInspect},
    {.path = "ibdev2netdev",
     .summary = "Print the network interface of each RDMA port.",
     .description = {},
     .example = "fabric-agent ibdev2netdev -v",
     .options = kIbdev2Netdev},
    {.path = "metrics",
     .summary = "Print the metrics of this machine once.",
     .description = {},
     .example = "fabric-agent metrics --compat node-exporter",
     .options = kMetrics},
    {.path = "nccl-env",
     .summary = "Print the NCCL variables that this machine needs, with the reasons.",
     .description = {},
     .example = "eval \"$(fabric-agent nccl-env)\"",
     .options = kNcclEnv},
    {.path = "doctor",
     .summary = "Print which features work with the permissions of this process, and what the "
                "others need.",
     .description =
         "For the permissions of the unit: the agent logs each missing one when it starts; "
         "see journalctl -u fabric-agent. Exits with 1 when a permission is missing.",
     .example = "fabric-agent doctor",
     .options = kDoctor},
    {.path = "version",
     .summary = "Print the version.",
     .description = {},
     .example = "fabric-agent version",
     .options = {}},
};
constexpr Command kCommandOf[] = {Command::kRun,     Command::kInspect, Command::kIbdev2Netdev,
                                  Command::kMetrics, Command::kNcclEnv, Command::kDoctor,
                                  Command::kVersion};
static_assert(std::size(kCommands) == std::size(kCommandOf));

constexpr Option kShared[] = {{.name = "help",
                               .type = OptionType::kBool,
                               .doc = "Print help about the program or the command.",
                               .letter = 'h'}};

constexpr ProgramSpec kProgram = {
    .name = "fabric-agent",
    .summary = "fabric-agent inspects and probes the RDMA fabric from one node.",
    .commands = kCommands,
    .options = kShared,
    .once = true};

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "run") {  // Its options are settings, see config.h.
    line.command = Command::kRun;
    line.rest.assign(words.begin() + 1, words.end());
    return line;
  }
  ASSIGN_OR_RETURN(const fabric::CommandLine parsed, fabric::ParseCommandLine(kProgram, words));
  if (parsed.help) {
    line.help = HelpText(kProgram, parsed);
    return line;
  }
  const Values& values = parsed.values;
  line.command = kCommandOf[parsed.command - kCommands];
  line.root = values.Has("root") ? values.Text("root") : line.root;
  line.output = values.Text("output");
  line.compat = values.Has("compat") ? values.Text("compat") : line.compat;
  line.netns = values.Text("netns");
  line.pod = values.Text("pod");
  line.verbose = values.Bool("verbose");
  line.lldp_wait_s = values.Number("lldp-wait");
  if (!line.netns.empty() && !line.pod.empty())
    return Status(Code::kInvalidArgument, "expected either --netns or --pod, saw both");
  return line;
}

}  // namespace fabric::agent
