#include "agents/command_line.h"

#include <algorithm>
#include <string_view>

#include "base/command_line.h"
#include "base/text.h"
#include "base/version.h"

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
                         .value = "UID|NAMESPACE/NAME",
                         .doc =
                             "Inspect the network namespace of this pod. A name needs "
                             "--cri-socket."};
constexpr Option kKubelet = {.name = "kubelet-pod-resources",
                             .type = OptionType::kPath,
                             .value = "SOCKET",
                             .doc =
                                 "Socket of the kubelet's pod resources API, for the devices "
                                 "of pods."};
constexpr Option kRuntime = {.name = "cri-socket",
                             .type = OptionType::kPath,
                             .value = "SOCKET",
                             .doc = "Socket of the container runtime, for the names of pods."};

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
    kPod,
    kKubelet,
    kRuntime};
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
                               kPod,
                               kRuntime};

constexpr Option kSubnetRead[] = {
    {.name = "device",
     .value = "NAME",
     .doc = "InfiniBand device, such as mlx5_0. Default: the first one.",
     .letter = 'C'},
    {.name = "port",
     .type = OptionType::kNumber,
     .max = "254",
     .doc = "Port of the device. Default: its first one.",
     .letter = 'P'},
    {.name = "rate-interval",
     .type = OptionType::kDuration,
     .max = "1h",
     .doc = "Read the counters again after this time, so that error rates are known."},
    {.name = "m-key-file",
     .type = OptionType::kPath,
     .doc = "File with the M_Key of the subnet, in hexadecimal. Others must have no rights to it."},
    {.name = "smps",
     .type = OptionType::kNumber,
     .fallback = "4",
     .min = "1",
     .max = "1024",
     .doc = "Subnet management packets that may be outstanding."},
    {.name = "gmps",
     .type = OptionType::kNumber,
     .fallback = "16",
     .min = "1",
     .max = "1024",
     .doc = "General management packets (counters) that may be outstanding."},
    {.name = "packets-per-second",
     .type = OptionType::kNumber,
     .fallback = "5000",
     .min = "1",
     .max = "10000000",
     .doc = "Packets that may be sent in a second. Halved while packets are lost."},
    {.name = "file",
     .type = OptionType::kPath,
     .doc = "Write to this file, which is replaced atomically, instead of standard output."},
    {.name = "topology-only",
     .type = OptionType::kBool,
     .doc = "Read no forwarding tables, P_Keys and counters."},
    {.name = "ibsim",
     .value = "NAME",
     .doc = "Read from the simulator ibsim with this socket name (IBSIM_SOCKNAME)."},
    {.name = "ibsim-node",
     .value = "ID",
     .doc = "Node of the simulator to read from, such as H-0002c9030007aabb."}};
constexpr Option kDoctor[] = {{.name = "output",
                               .fallback = "table",
                               .choices = "table|json",
                               .doc = "Output format.",
                               .letter = 'o'},
                              {.name = "unit",
                               .type = OptionType::kBool,
                               .doc = "Print what the running unit fabric-agent found when it "
                                      "started, with the permissions of the unit."},
                              kKubelet,
                              kRuntime};

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
    {.path = "subnet read",
     .summary = "Read the InfiniBand subnet from this node, and print it for fabricctl subnet.",
     .description =
         "Discovers nodes and cables, and reads forwarding tables, P_Keys, subnet managers and "
         "counters of switch ports. Sends Get requests only. Needs the right to open "
         "/dev/infiniband/umadN.",
     .example = "fabric-agent subnet read -C mlx5_0 -P 1 --rate-interval 60s > subnet.json",
     .options = kSubnetRead},
    {.path = "doctor",
     .summary = "Print which features work with the permissions of this process, and what the "
                "others need.",
     .description =
         "The permissions of a shell differ from those of the unit: --unit prints what the unit "
         "found when it started, and how long ago. The agent also logs each missing permission at "
         "its start; see journalctl -u fabric-agent. Exits with 1 when a permission is missing.",
     .example = "fabric-agent doctor --unit",
     .options = kDoctor},
    {.path = "version",
     .summary = "Print the version.",
     .description = {},
     .example = "fabric-agent version",
     .options = {}},
};
constexpr Command kCommandOf[] = {Command::kRun,     Command::kInspect, Command::kIbdev2Netdev,
                                  Command::kMetrics, Command::kNcclEnv, Command::kSubnetRead,
                                  Command::kDoctor,  Command::kVersion};
static_assert(std::size(kCommands) == std::size(kCommandOf));

constexpr Option kShared[] = {{.name = "help",
                               .type = OptionType::kBool,
                               .doc = "Print help about the program or the command.",
                               .letter = 'h'},
                              {.name = "version",
                               .type = OptionType::kBool,
                               .doc = "Print the name and the version of the program."}};

constexpr ProgramSpec kProgram = {
    .name = "fabric-agent",
    .summary = "fabric-agent inspects and probes the RDMA fabric from one node.",
    .commands = kCommands,
    .options = kShared,
    .once = true};

std::string VersionLine() {
  return Format("fabric-agent {}\n", kVersion);
}

SubnetReadOptions SubnetReadOf(const Values& values) {
  return {.device = values.Text("device"),
          .port = values.Number("port"),
          .ibsim = values.Text("ibsim"),
          .ibsim_node = values.Text("ibsim-node"),
          .m_key_file = values.Text("m-key-file"),
          .rate_interval = values.Duration("rate-interval"),
          .smps = values.Number("smps"),
          .gmps = values.Number("gmps"),
          .per_second = values.Number("packets-per-second"),
          .topology_only = values.Bool("topology-only"),
          .file = values.Text("file")};
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  if (words.size() == 1 && words[0] == "--version") {
    line.help = VersionLine();
    return line;
  }
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
  if (values.Bool("version")) {
    line.help = VersionLine();
    return line;
  }
  line.command = kCommandOf[parsed.command - kCommands];
  line.root = values.Has("root") ? values.Text("root") : line.root;
  line.output = values.Text("output");
  line.compat = values.Has("compat") ? values.Text("compat") : line.compat;
  line.netns = values.Text("netns");
  line.pod = values.Text("pod");
  line.kubelet = values.Text("kubelet-pod-resources");
  line.runtime = values.Text("cri-socket");
  line.unit = values.Bool("unit");
  line.verbose = values.Bool("verbose");
  line.lldp_wait_s = values.Number("lldp-wait");
  line.subnet_read = SubnetReadOf(values);
  if (!line.netns.empty() && !line.pod.empty())
    return Status(Code::kInvalidArgument, "expected either --netns or --pod, saw both");
  if (line.pod.find('/') != std::string::npos && line.runtime.empty())
    return Status(Code::kInvalidArgument,
                  Format("--cri-socket: expected a socket, because --pod {} is a name, saw none",
                         Quoted(line.pod)));
  return line;
}

}  // namespace fabric::agent
