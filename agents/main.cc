// fabric-agent: inspects one node, reports to the controller, runs probes on request.
//
//   events -> inspection -----> inbox -> agent -> link -> controller
//   machine ---^ ^   |           ^ ^       |       ^
//                |   v           | |    probes -> reports
//     metrics <- shared state <-> counters  +---- link <- mesh
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "agents/command_line.h"
#include "agents/config.h"
#include "agents/counters/sampling.h"
#include "agents/host/capabilities.h"
#include "agents/host/events.h"
#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/machine.h"
#include "agents/host/memory_limit.h"
#include "agents/host/pods/pods_client.h"
#include "agents/host/privileges.h"
#include "agents/inspect/inspection.h"
#include "agents/join/join_client.h"
#include "agents/join/join_loop.h"
#include "agents/one_shot.h"
#include "agents/probe/probe.h"
#include "agents/session/controller_side.h"
#include "agents/session/loop.h"
#include "agents/session/port_reading.h"
#include "agents/session/watchdog.h"
#include "agents/subnet/ibsim_transport.h"
#include "agents/subnet/m_key.h"
#include "agents/subnet/umad_transport.h"
#include "agents/subnet_read.h"
#include "base/child.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/suggest.h"
#include "base/tls/openssl.h"
#include "base/tls/tls_files.h"
#include "base/version.h"

namespace fabric::agent {
namespace {

// Not a configuration error: the files can come or be renewed later, and systemd starts the agent
// again.
constexpr int kUnusableFiles = 1;

// CheckAgentSettings has checked them.
std::vector<HostPort> ControllersOf(const Settings& settings) {
  std::vector<HostPort> controllers;
  for (const std::string& address : settings.Words("controller"))
    if (auto parsed = ParseHostPort(address); parsed.ok()) controllers.push_back(*parsed);
  return controllers;
}

// Opens the counters of a port for a probe, as the newest table lists them.
probe::OpenPortCounters CounterOpener(const std::string& root, SharedState& shared) {
  return [open = Opener(root), &shared](
             const std::string& name, std::uint32_t port) -> std::unique_ptr<probe::PortCounters> {
    const auto device = shared.FindDevice(name);
    auto machine = open();
    if (!device || !machine.ok()) return nullptr;
    return ReadPort(*std::move(machine), SetsOfPort(shared.CounterTable(), *device, port));
  };
}

// Absent without TLS.
std::optional<TlsMetrics> TlsMetricsOf(const tls::TlsFiles* files) {
  if (files == nullptr) return {};
  return TlsMetrics{.not_before = files->not_before(),
                    .not_after = files->not_after(),
                    .files_refused = !files->problem().ok()};
}

// Null when not set.
Result<std::unique_ptr<MetricsEndpoint>> OpenMetrics(const Settings& settings, SharedState& shared,
                                                     const tls::TlsFiles* tls, WallTime started) {
  if (!settings.Has("metrics")) return std::unique_ptr<MetricsEndpoint>();
  const bool node_exporter = settings.Text("compat") == kNodeExporter;
  ASSIGN_OR_RETURN(auto metrics, MetricsEndpoint::Open(settings.Address("metrics"),
                                                       [&shared, node_exporter, tls, started] {
                                                         NodeMetrics node = shared.Metrics();
                                                         node.node_exporter = node_exporter;
                                                         node.process = ReadProcessStats(started);
                                                         node.tls = TlsMetricsOf(tls);
                                                         return node;
                                                       }));
  log::Info("metrics on {}", ToString(metrics->address()));
  return metrics;
}

std::string NodeName(const Settings& settings, const host::Host& host) {
  if (settings.Has("node")) return settings.Text("node");
  const auto name = host.root.Text("proc/sys/kernel/hostname");
  return name.ok() ? *name : std::string();
}

// Waits for a stop signal: false if there was one. Meanwhile systemd's watchdog is notified.
bool PauseJoining(const sigset_t& signals, const ServiceEnvironment& service, Duration patience) {
  Notify(service, "READY=1");  // An approval can take longer than systemd waits.
  const auto slices = patience / std::chrono::seconds(1) + 1;
  for (Duration::rep slice = 0; slice < slices; ++slice) {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    // SIGHUP: no setting that it reads again concerns this.
    if (const int signal = sigtimedwait(&signals, nullptr, &second); signal > 0 && signal != SIGHUP)
      return false;
    if (service.watchdog_us != nullptr) Notify(service, "WATCHDOG=1");
  }
  return true;
}

// What the agent needs to join and to renew its certificate.
struct Joining {
  Credential credential;
  JoinClient calls;
  std::jthread renewing = {};
};

// Null without TLS.
Result<std::unique_ptr<tls::TlsFiles>> OpenTls(const Settings& settings, WallTime now) {
  const tls::TlsPaths paths = TlsPathsOf(settings);
  if (paths.ca.empty()) return std::unique_ptr<tls::TlsFiles>();
  RETURN_IF_ERROR(tls::RequireTls13());
  ASSIGN_OR_RETURN(auto files, tls::TlsFiles::Open(paths, now));
  log::Info("TLS 1.3 with the certificate {} ({}), valid until {}", paths.certificate,
            tls::NamesOf(*files->material().certificate), tls::ToText(files->not_after()));
  return files;
}

// Waits until the node has a certificate, if the settings say that it joins, and starts to renew
// it. Null without TLS. CANCELLED: a stop signal came first.
Result<std::unique_ptr<tls::TlsFiles>> JoinAndOpenTls(const Settings& settings,
                                                      const host::Host& host, const Clock& clock,
                                                      const std::function<bool(Duration)>& pause,
                                                      std::optional<Joining>& joining) {
  if (!settings.Has("join-dir")) return OpenTls(settings, clock.Now().wall);
  RETURN_IF_ERROR(tls::RequireTls13());
  joining.emplace(
      Joining{.credential = Credential(CredentialOptionsOf(settings, NodeName(settings, host))),
              .calls = JoinClient(ControllersOf(settings))});
  const auto joined = JoinFirst(joining->credential, joining->calls, clock, pause);
  if (!joined.ok()) return joined.status().In("join-dir");
  if (!*joined) return Status(Code::kCancelled, "stopped");
  joining->renewing = std::jthread([&one = *joining, &clock](const std::stop_token& stop) {
    RunRenewal(one.credential, one.calls, clock, stop);
  });
  return OpenTls(settings, clock.Now().wall);
}

inspect::InspectionOptions OptionsOf(const Settings& settings, bool captured) {
  return {.node_name = settings.Text("node"), .captured = captured};
}

// What the settings of this node permit.
Result<probe::ProbePolicy> PolicyOf(const Settings& settings) {
  probe::ProbePolicy policy{.busy_devices = settings.Text("probe-busy-devices") == "on"};
  for (const std::string& kind : settings.Words("probe-kinds")) {
    std::vector<std::string_view> known;
    for (const probe::ProbeKind* one : probe::AllProbeKinds()) known.push_back(one->name);
    if (probe::FindProbeKind(kind) == nullptr)
      return Status(Code::kInvalidArgument, UnknownName("probe kind", kind, known))
          .In("probe-kinds");
    policy.kinds.insert(kind);
  }
  return policy;
}

probe::RunnerOptions ProbingOf(const host::Host& host, host::GpuMemory* gpu_memory,
                               const std::string& root, probe::ProbePolicy policy,
                               SharedState& shared) {
  policy.users = [&shared](const std::string& device) { return shared.UsersOf(device); };
  return {.limits = {.memory_max = probe::ProbeMemoryMax(host::MemoryLimit(host.root))},
          .policy = std::move(policy),
          .open_counters = CounterOpener(root, shared),
          .gpu_memory = host.captured ? nullptr : gpu_memory,
          .find_gpus = [&shared] { return shared.Gpus(); }};
}

Result<std::unique_ptr<MadTransport>> OpenIbsimOf(const std::string& where) {
  const std::size_t slash = where.find('/');
  return OpenIbsim(where.substr(0, slash),
                   slash == std::string::npos ? std::string() : where.substr(slash + 1));
}

// Absent: this node reads no subnet.
std::optional<SubnetThreadOptions> SubnetsOf(const Settings& settings, const host::Host& host) {
  if (settings.Text("subnet-reader") == "off") return {};
  SubnetThreadOptions options{.open = OpenUmadTransport};
  if (const std::string ibsim = settings.Text("subnet-ibsim"); !ibsim.empty()) {
    options.open = [ibsim](const std::string&, std::uint32_t) { return OpenIbsimOf(ibsim); };
  } else {
    if (host.captured) return {};
    const std::vector<host::DeviceFile> umad = host::ReadPrivileges(host.root).umad;
    if (std::ranges::none_of(umad, [](const auto& file) { return file.error == 0; })) return {};
  }
  if (const std::string file = settings.Text("subnet-m-key-file"); !file.empty())
    options.m_key = [file] { return ReadMKey(file); };
  return options;
}

ServiceEnvironment EnvironmentOfService() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet
  return {.notify_socket = std::getenv("NOTIFY_SOCKET"),
          .watchdog_us = std::getenv("WATCHDOG_USEC")};
}

// Opens the only socket that needs CAP_NET_RAW, and gives the capability up. Inspecting threads
// share the socket: each opens its own machine, also the one that replaces a blocked thread. If the
// socket cannot be opened, they try again, and the capability stays.
host::Fd OpenLldpSocket() {
  auto socket = host::OpenLldpSocket();
  if (!socket.ok()) return host::Fd();
  if (const Status dropped = host::DropNetRaw(); !dropped.ok())
    log::Warning("CAP_NET_RAW is kept: {}", dropped.message());
  return *std::move(socket);
}

// As Fail(), after the start of the log.
int FailLogged(const Status& status, int exit_status) {
  log::Plain(stderr, log::Level::kError, Format("fabric-agent: {}", status.message()));
  return exit_status;
}

Result<Settings> LoadSettings(const std::vector<std::string>& words) {
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  ASSIGN_OR_RETURN(Settings settings, Settings::Load(AgentSettings(), args));
  if (settings.request() == Request::kRun) RETURN_IF_ERROR(CheckAgentSettings(settings));
  return settings;
}

// Reads the settings of the running agent again, of which it applies the log level.
void Reload(const std::vector<std::string>& words, const Settings& started) {
  const auto settings = LoadSettings(words);
  if (!settings.ok())
    return log::Error("not reloaded, the settings stay: {}", settings.status().message());
  const std::string name = settings->Text("log-level");
  const auto level = log::ParseLevel(name);
  if (!level.ok()) return log::Error("not reloaded: log-level: {}", level.status().message());
  log::SetLevel(*level);
  log::Info("reloaded: log level {}", name);
  for (const std::string& changed : SettingsThatNeedRestart(started, *settings))
    log::Warning("setting {} has a new value: restart fabric-agent to use it", changed);
}

struct Signals {
  sigset_t blocked;
  std::function<void()> reload;  // For SIGHUP
};

Watchdog WatchdogOf(const ServiceEnvironment& service, const Settings& settings,
                    SharedState& shared, const Signals& signals) {
  return {.environment = service,
          .stuck_after = settings.Duration("settings-interval") + std::chrono::minutes(1),
          .inspections = [&shared] { return shared.inspections(); },
          .settled = ReleaseStartMemory,
          .reload = signals.reload};
}

int Serve(const Settings& settings, host::Machine machine, const host::Fd& lldp_socket,
          probe::ProbePolicy policy, const Signals& signals) {
  const ServiceEnvironment service = EnvironmentOfService();
  const std::string root = settings.Text("root");
  const SystemClock clock;
  const WallTime started = clock.Now().wall;
  std::optional<Joining> joining;
  const auto pause = [&](Duration patience) {
    return PauseJoining(signals.blocked, service, patience);
  };
  const auto tls = JoinAndOpenTls(settings, machine.host(), clock, pause, joining);
  if (tls.status().code() == Code::kCancelled) return 0;
  if (!tls.ok()) return FailLogged(tls.status().In("TLS"), kUnusableFiles);
  SharedState shared(InspectorNames());
  const std::unique_ptr<host::GpuMemory> gpu_memory = host::OpenGpuMemory();
  std::optional<ControllerSide> controller;
  if (settings.Has("controller"))
    controller.emplace(settings.Words("controller"), tls->get(), machine.host().verbs,
                       ProbingOf(machine.host(), gpu_memory.get(), root, std::move(policy), shared),
                       SubnetsOf(settings, machine.host()), clock, shared);
  auto metrics = OpenMetrics(settings, shared, tls->get(), started);
  if (!metrics.ok()) return FailLogged(metrics.status(), kUsage);

  const std::unique_ptr<host::Pods> pods = host::OpenPods(PodSocketsOf(settings));
  const auto events = machine.host().captured ? host::OpenEvents({}) : host::OpenEvents();
  inspect::Inspection inspection(
      OptionsOf(settings, machine.host().captured), clock,
      Opener(root, {.lldp_socket = lldp_socket.get(), .pods = pods.get()}));
  InspectionLoop inspection_loop{
      .inspect = [&](auto why, const auto& stop) { return inspection.Inspect(why, stop); },
      .deliver =
          [&](auto snapshot) {
            if (controller) controller->inbox().OnSnapshot(std::move(snapshot));
          },
      .events = *events,
      .check_interval = settings.Duration("settings-interval"),
      .clock = clock,
      .shared = shared};
  std::jthread inspecting([&](const std::stop_token& stop) { inspection_loop.Run(stop); });

  counters::Sampling sampling({}, clock, Opener(root));
  CounterLoop counter_loop{.sampling = sampling,
                           .deliver_table =
                               [&](const auto& table) {
                                 if (controller) controller->inbox().OnCounterTable(table);
                               },
                           .deliver_sample =
                               [&](const auto& sample) {
                                 if (controller) controller->inbox().OnCounterSample(sample);
                               },
                           .interval = settings.Duration("interval"),
                           .clock = clock,
                           .shared = shared};
  std::jthread sampling_thread([&](const std::stop_token& stop) { counter_loop.Run(stop); });

  Notify(service, "READY=1");
  AwaitStopSignal(signals.blocked, WatchdogOf(service, settings, shared, signals), clock);
  Notify(service, "STOPPING=1");
  inspecting.request_stop();
  sampling_thread.request_stop();
  if (controller) controller->RequestStop();
  inspecting.join();
  sampling_thread.join();
  controller.reset();
  metrics->reset();
  // Threads that are blocked in drivers still use objects that the end of main() would destroy.
  if (inspection.hanging() + sampling.hanging() > 0) std::_Exit(0);
  return 0;
}

int Run(const std::vector<std::string>& words, const Settings& settings) {
  const Signals signals{.blocked = BlockStopSignals(),
                        .reload = [&words, &settings] { Reload(words, settings); }};
  ShareOneHeap();
  log::Init("fabric-agent", settings);

  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet
  const char* const folder = std::getenv("RUNTIME_DIRECTORY");
  if (settings.Text("root") == "/")
    LogMissingPermissions(PodSocketsOf(settings), folder == nullptr ? "" : folder);
  auto machine = host::Machine::Open(settings.Text("root"));
  if (!machine.ok()) return FailLogged(machine.status().In("--root"), kUsage);
  auto policy = PolicyOf(settings);
  if (!policy.ok()) return FailLogged(policy.status(), kUsage);
  const host::Fd lldp_socket = machine->host().captured ? host::Fd() : OpenLldpSocket();
  return Serve(settings, *std::move(machine), lldp_socket, *std::move(policy), signals);
}

int RunWithArguments(const std::vector<std::string>& words) {
  const auto settings = LoadSettings(words);
  if (!settings.ok()) return Fail(settings.status(), kUsage);
  switch (settings->request()) {
    case Request::kRun: return Run(words, *settings);
    case Request::kHelp:
      std::fputs(
          SettingsHelp("fabric-agent run", "Inspect and probe until stopped.", AgentSettings())
              .c_str(),
          stdout);
      return 0;
    case Request::kShowVersion: std::puts(std::string(kVersion).c_str()); return 0;
    case Request::kPrintConfig: std::fputs(settings->Print().c_str(), stdout); return 0;
  }
  return kUsage;
}

}  // namespace
}  // namespace fabric::agent

int main(int argc, char** argv) {
  using fabric::agent::Command;
  const auto line = fabric::agent::ParseCommandLine(argc, argv);
  if (!line.ok()) return fabric::agent::Fail(line.status(), fabric::agent::kUsage);
  switch (line->command) {
    case Command::kHelp: std::fputs(line->help.c_str(), stdout); return 0;
    case Command::kVersion: std::puts(std::string(fabric::kVersion).c_str()); return 0;
    case Command::kRun: return fabric::agent::RunWithArguments(line->rest);
    case Command::kInspect:
    case Command::kIbdev2Netdev:
    case Command::kMetrics:
    case Command::kNcclEnv:
      return fabric::RunInChild([&line] { return fabric::agent::PrintOnce(*line); });
    case Command::kSubnetRead: return fabric::agent::PrintSubnet(line->subnet_read);
    case Command::kDoctor:
      return fabric::RunInChild([&line] { return fabric::agent::PrintDoctor(*line); });
  }
  return fabric::agent::kUsage;
}
