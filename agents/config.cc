#include "agents/config.h"

#include <string_view>
#include <utility>

#include "base/log_settings.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

constexpr Option kSettings[] = {
    {.name = "config", .type = OptionType::kPath, .doc = "YAML file with settings."},
    {.name = "controller",
     .type = OptionType::kWords,
     .doc = "Address of fabricd, HOST:PORT. Several with commas, if several controllers share a "
            "state: the agent connects to the one that leads. Required unless --no-controller is "
            "set."},
    {.name = "no-controller",
     .type = OptionType::kBool,
     .doc = "Run standalone: inspect and serve /metrics, without a controller."},
    {.name = "tls-cert",
     .type = OptionType::kPath,
     .doc = "Certificate of this node (PEM): spiffe://DOMAIN/node/NAME or NAME as a DNS name. The "
            "TLS files are reloaded when they change; the connection stays."},
    {.name = "tls-key", .type = OptionType::kPath, .doc = "Private key of tls-cert (PEM)."},
    {.name = "join-dir",
     .type = OptionType::kPath,
     .doc = "Folder for a key and a certificate that the agent gets from the controller, instead "
            "of tls-cert and tls-key. The agent renews the certificate after two thirds of its "
            "validity period."},
    {.name = "join-token",
     .type = OptionType::kPath,
     .doc = "File with the join token for the first certificate (fabricctl join-token create). "
            "Without it, the request waits until an administrator approves it."},
    {.name = "tls-ca",
     .type = OptionType::kPath,
     .doc = "CA of the controller's certificate (PEM). With it, the agent connects with TLS 1.3. "
            "With join-dir, the default is the CA whose hash is in the join token."},
    {.name = "metrics",
     .type = OptionType::kAddress,
     .doc = "Address of /metrics, usually port 9417. Not served by default."},
    {.name = "compat",
     .fallback = "none",
     .choices = "none|node-exporter",
     .doc = "Also export metrics under another exporter's names."},
    {.name = "node", .doc = "Name of this node. Default: the host name."},
    {.name = "root",
     .type = OptionType::kPath,
     .fallback = "/",
     .doc = "Inspect a captured tree instead of this machine."},
    {.name = "interval",
     .type = OptionType::kDuration,
     .fallback = "1s",
     .min = "100ms",
     .max = "1h",
     .doc = "Interval between readings of the counters."},
    {.name = "settings-interval",
     .type = OptionType::kDuration,
     .fallback = "30s",
     .min = "1s",
     .max = "1h",
     .doc = "Interval between full inspections. Kernel events trigger an immediate re-read of "
            "what they affect."},
    {.name = "probe-kinds",
     .type = OptionType::kWords,
     .doc = "Probe kinds that this node accepts, such as rc_write_latency,ud_ping. Others are "
            "refused, also when the controller orders them. The mesh needs ud_ping. Default: all."},
    {.name = "probe-busy-devices",
     .fallback = "on",
     .choices = "on|off",
     .doc = "off: refuse probes of an RDMA device that another process has open, also when the "
            "controller orders them."},
    {.name = "subnet-reader",
     .fallback = "on",
     .choices = "on|off",
     .doc = "Read the InfiniBand subnet when the controller orders it. Without the right to open a "
            "umad device, the agent reads no subnet."},
    {.name = "subnet-m-key-file",
     .type = OptionType::kPath,
     .doc = "File with the M_Key of the subnet, in hexadecimal. Others must have no rights to it."},
    {.name = "subnet-ibsim",
     .value = "SOCKET/NODE",
     .doc = "Read the subnet of the simulator ibsim, as this node of its file, in place of a umad "
            "device: for tests."},
    {.name = "kubelet-pod-resources",
     .type = OptionType::kPath,
     .value = "SOCKET",
     .doc = "Socket of the kubelet's pod resources API, often "
            "/var/lib/kubelet/pod-resources/kubelet.sock: which pod holds which devices. Default: "
            "not used."},
    {.name = "cri-socket",
     .type = OptionType::kPath,
     .value = "SOCKET",
     .doc = "Socket of the container runtime, often /run/containerd/containerd.sock: names of the "
            "pods whose processes use RDMA. Default: not used. Whoever may use this socket can "
            "start containers; the agent only lists pods."},
    kLogLevelSetting,
    kLogFormatSetting,
};

}  // namespace

std::span<const Option> AgentSettings() {
  return kSettings;
}

tls::TlsPaths TlsPathsOf(const Settings& settings) {
  if (settings.Has("join-dir")) return Credential(CredentialOptionsOf(settings, {})).Paths();
  return {.certificate = settings.Text("tls-cert"),
          .key = settings.Text("tls-key"),
          .ca = settings.Text("tls-ca"),
          .crl = {}};
}

CredentialOptions CredentialOptionsOf(const Settings& settings, std::string node) {
  return {.folder = settings.Text("join-dir"),
          .node = std::move(node),
          .ca = settings.Text("tls-ca"),
          .token_file = settings.Text("join-token")};
}

Status CheckAgentSettings(const Settings& settings) {
  const bool controller = settings.Has("controller");
  for (const std::string& address : settings.Words("controller"))
    RETURN_IF_ERROR(ParseHostPort(address).status().In("--controller"));
  const bool joins = settings.Has("join-dir");
  for (const std::string_view other : {"tls-cert", "tls-key"})
    if (joins && settings.Has(other))
      return {Code::kInvalidArgument,
              Format("--{}: expected none, because --join-dir is set, saw one", other)};
  if (!joins && settings.Has("join-token"))
    return {Code::kInvalidArgument,
            "--join-dir: expected a folder, because --join-token is set, saw none"};
  if (joins && !controller)
    return {Code::kInvalidArgument,
            "--controller: expected HOST:PORT, because --join-dir is set, saw none"};
  for (const std::string_view socket : {"kubelet-pod-resources", "cri-socket"})
    RETURN_IF_ERROR(CheckPodSocket(settings.Text(socket)).In(Format("--{}", socket)));
  if (controller != settings.Bool("no-controller"))
    return tls::CheckClientPaths(TlsPathsOf(settings), true);
  return {Code::kInvalidArgument,
          controller ? "expected either --controller or --no-controller, saw both"
                     : "expected --controller HOST:PORT or --no-controller, saw neither"};
}

host::PodSockets PodSocketsOf(const Settings& settings) {
  return {.kubelet = settings.Text("kubelet-pod-resources"),
          .runtime = settings.Text("cri-socket")};
}

Status CheckPodSocket(std::string_view socket) {
  if (socket.empty() || socket.starts_with('/') || socket.starts_with("unix:///")) return {};
  return {Code::kInvalidArgument,
          Format("expected the path of a Unix socket, saw {}", Quoted(socket))};
}

std::vector<std::string> SettingsThatNeedRestart(const Settings& before, const Settings& now) {
  std::vector<std::string> names;
  for (const Settings::Entry& entry : now.entries())
    if (entry.option->name != "log-level" && before.All(entry.option->name) != entry.texts)
      names.emplace_back(entry.option->name);
  return names;
}

}  // namespace fabric::agent
