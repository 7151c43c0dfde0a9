// fabric-agent: reads one node, tells the controller, probes when asked.
//
//   events -> inspection -----> inbox -> agent -> link -> controller
//   machine ---^ ^   |           ^ ^       |       ^
//                |   v           | |    probes -> reports
//           metrics <- shared <-> counters  +---- link <- mesh
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "agents/command_line.h"
#include "agents/config.h"
#include "agents/counters/sampling.h"
#include "agents/host/events.h"
#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/machine.h"
#include "agents/inspect/inspection.h"
#include "agents/inspect/job/job_view.h"
#include "agents/inspect/report/ibdev2netdev.h"
#include "agents/inspect/report/report.h"
#include "agents/nccl/advice.h"
#include "agents/session/counter_loop.h"
#include "agents/session/loop.h"
#include "agents/session/port_reading.h"
#include "base/child.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/systemd.h"
#include "base/text.h"
#include "base/version.h"
#include "proto/json.h"

namespace fabric::agent {
namespace {

constexpr int kUsage = 2;
constexpr Duration kSettlesIn = std::chrono::seconds(3);  // Has inspected, sampled and connected.
constexpr std::string_view kNodeExporter = "node-exporter";  // Of --compat

std::vector<std::string> InspectorNames() {
  std::vector<std::string> names;
  for (const inspect::Inspector* inspector : inspect::AllInspectors())
    names.emplace_back(inspector->name);
  return names;
}

std::vector<std::string> ProbeKindNames() {
  std::vector<std::string> names;
  for (const probe::ProbeKind* kind : probe::AllProbeKinds()) names.emplace_back(kind->name);
  return names;
}

// How often systemd wants to hear "WATCHDOG=1": half of what it allows. Zero: not at all.
Duration WatchdogInterval() {
  const char* limit_us = std::getenv("WATCHDOG_USEC");  // NOLINT(concurrency-mt-unsafe): no threads
  const auto limit = ParseNumber<std::int64_t>(limit_us == nullptr ? "" : limit_us);
  return limit.ok() && *limit > 0 ? Duration(std::chrono::microseconds(*limit) / 2) : Duration(0);
}

void Notify(std::string_view state) {
  if (const Status status = NotifySystemd(std::getenv("NOTIFY_SOCKET"), state); !status.ok())
    log::Warning("systemd is not told {}: {}", state, status.message());
}

int Fail(const Status& status, int exit_status) {
  std::fputs(Format("fabric-agent: {}\n", status.message()).c_str(), stderr);
  return exit_status;
}

// How systemd's watchdog is fed: every `feed_interval` (zero: never) as long as inspections go on.
struct Watchdog {
  Duration feed_interval;
  Duration stuck_after;  // No inspection has ended for so long
};

// The signal that came, or 0 after `patience`; zero: it waits as long as it takes.
int NextSignal(const sigset_t& signals, Duration patience) {
  if (patience <= Duration::zero()) return sigwaitinfo(&signals, nullptr);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (patience - seconds).count()};
  return std::max(0, sigtimedwait(&signals, nullptr, &timeout));
}

// Until SIGTERM or SIGINT, which every thread has blocked.
void AwaitSignal(const sigset_t& signals, const Watchdog& watchdog, const Clock& clock,
                 SharedState& shared) {
  std::uint64_t inspections = 0;
  SteadyTime inspected_at = clock.Now().steady;
  bool settled = false;
  while (true) {
    const int signal = NextSignal(signals, settled ? watchdog.feed_interval : kSettlesIn);
    if (signal > 0) return log::Info("stopping: {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
    if (!std::exchange(settled, true)) ReleaseStartMemory();
    const SteadyTime now = clock.Now().steady;
    if (shared.inspections() != inspections) inspected_at = now;
    inspections = shared.inspections();
    if (watchdog.feed_interval > Duration::zero() && now - inspected_at < watchdog.stuck_after)
      Notify("WATCHDOG=1");
  }
}

// Each thread that inspects opens the machine for itself.
inspect::Inspection::OpenMachine Opener(const std::string& root,
                                        const host::MachineOptions& options = {}) {
  return [root, options]() -> Result<std::unique_ptr<host::HostOwner>> {
    ASSIGN_OR_RETURN(host::Machine machine, host::Machine::Open(root, options));
    return std::unique_ptr<host::HostOwner>(std::make_unique<host::Machine>(std::move(machine)));
  };
}

// For probes: counters of a port, by those that were found last.
probe::OpenPortCounters CounterOpener(const std::string& root, SharedState& shared) {
  return [open = Opener(root), &shared](
             const std::string& name, std::uint32_t port) -> std::unique_ptr<probe::PortCounters> {
    const auto device = shared.FindDevice(name);
    auto machine = open();
    if (!device || !machine.ok()) return nullptr;
    return ReadPort(*std::move(machine), SetsOfPort(shared.CounterTable(), *device, port));
  };
}

// The controller's side of the daemon. Without a controller it is not there, and nothing of gRPC
// is started.
class ControllerSide {
 public:
  ControllerSide(const std::string& controller, host::Verbs& verbs, probe::RunnerOptions probing,
                 const Clock& clock, SharedState& shared)
      : link_({.controller = controller}, inbox_),
        reports_(link_),
        probes_(
            std::move(probing), verbs, clock,
            [&shared](const std::string& name) { return shared.FindDevice(name); }, reports_),
        mesh_(
            verbs, clock, [&shared](const std::string& name) { return shared.FindDevice(name); },
            [this](const v1::ProbePort& port) { return probes_.Busy(port); },
            [this](const v1::AgentMessage& message) { link_.Send(message); }),
        output_(link_, probes_, mesh_),
        agent_({.probe_kinds = ProbeKindNames(), .seed = std::random_device()()}, output_),
        loop_{.controller = controller,
              .agent = agent_,
              .inbox = inbox_,
              .link = link_,
              .clock = clock,
              .shared = shared},
        talking_([this](const std::stop_token& stop) { loop_.Run(stop); }) {}

  Inbox& inbox() { return inbox_; }
  void RequestStop() { talking_.request_stop(); }

 private:
  Inbox inbox_;
  Link link_;
  ReportsOverLink reports_;
  probe::ProbeRunner probes_;
  mesh::MeshThread mesh_;
  LinkAndProbes output_;
  Agent agent_;
  AgentLoop loop_;
  std::jthread talking_;
};

// Nothing when settings ask for none.
Result<std::unique_ptr<MetricsEndpoint>> OpenMetrics(const Settings& settings,
                                                     SharedState& shared) {
  if (!settings.Has("metrics")) return std::unique_ptr<MetricsEndpoint>();
  const bool node_exporter = settings.Text("compat") == kNodeExporter;
  ASSIGN_OR_RETURN(auto metrics,
                   MetricsEndpoint::Open(settings.Address("metrics"), [&shared, node_exporter] {
                     NodeMetrics node = shared.Metrics();
                     node.node_exporter = node_exporter;
                     return node;
                   }));
  log::Info("metrics on {}", ToString(metrics->address()));
  return metrics;
}

int Serve(const Settings& settings, host::Machine machine, const sigset_t& signals) {
  const SystemClock clock;
  SharedState shared(InspectorNames());
  const std::unique_ptr<host::GpuMemory> gpu_memory = host::OpenGpuMemory();
  std::optional<ControllerSide> controller;
  if (settings.Has("controller"))
    controller.emplace(
        ToString(settings.Address("controller")), machine.host().verbs,
        probe::RunnerOptions{.open_counters = CounterOpener(settings.Text("root"), shared),
                             .gpu_memory = machine.host().captured ? nullptr : gpu_memory.get(),
                             .find_gpus = [&shared] { return shared.Gpus(); }},
        clock, shared);

  auto metrics = OpenMetrics(settings, shared);
  if (!metrics.ok()) return Fail(metrics.status(), kUsage);

  const std::unique_ptr<host::Events> events =
      machine.host().captured ? host::OpenEvents({}) : host::OpenEvents();
  inspect::Inspection inspection({.node_name = settings.Text("node")}, clock,
                                 Opener(settings.Text("root")));
  InspectionLoop loop{
      .inspect = [&](host::EventSet why,
                     const std::stop_token& stop) { return inspection.Inspect(why, stop); },
      .deliver =
          [&](v1::NodeSnapshot snapshot) {
            if (controller) controller->inbox().OnSnapshot(std::move(snapshot));
          },
      .events = *events,
      .check_interval = settings.Duration("settings-interval"),
      .clock = clock,
      .shared = shared};
  std::jthread inspecting([&](const std::stop_token& stop) { loop.Run(stop); });

  counters::Sampling sampling({}, clock, Opener(settings.Text("root")));
  CounterLoop counter_loop{.sampling = sampling,
                           .deliver_table =
                               [&](const counters::Table& table) {
                                 if (controller) controller->inbox().OnCounterTable(table);
                               },
                           .deliver_sample =
                               [&](const counters::Sample& sample) {
                                 if (controller) controller->inbox().OnCounterSample(sample);
                               },
                           .interval = settings.Duration("interval"),
                           .clock = clock,
                           .shared = shared};
  std::jthread counting([&](const std::stop_token& stop) { counter_loop.Run(stop); });

  // Settings may ask for a check an hour; an inspection that takes a minute is stuck all the same.
  // One that waits for a driver is not: it ends by itself.
  const Watchdog watchdog{.feed_interval = WatchdogInterval(),
                          .stuck_after = loop.check_interval + std::chrono::minutes(1)};
  Notify("READY=1");
  AwaitSignal(signals, watchdog, clock, shared);
  Notify("STOPPING=1");
  inspecting.request_stop();
  counting.request_stop();
  if (controller) controller->RequestStop();
  inspecting.join();
  counting.join();
  controller.reset();
  metrics->reset();
  // Threads that drivers do not let go still use what the end of main() would destroy.
  if (inspection.hanging() + sampling.hanging() > 0) std::_Exit(0);
  return 0;
}

int Run(const Settings& settings) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ShareOneHeap();
  log::Init("fabric-agent", *log::ParseLevel(settings.Text("log-level")));

  auto machine = host::Machine::Open(settings.Text("root"));
  if (!machine.ok()) return Fail(machine.status().In("--root"), kUsage);
  return Serve(settings, *std::move(machine), signals);
}

int RunWithArguments(const std::vector<std::string>& words) {
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  const auto settings = Settings::Load(AgentSettings(), args);
  if (!settings.ok()) return Fail(settings.status(), kUsage);
  switch (settings->request()) {
    case Request::kRun:
      if (const Status status = CheckAgentSettings(*settings); !status.ok())
        return Fail(status, kUsage);
      return Run(*settings);
    case Request::kHelp:
      std::fputs(SettingsHelp("fabric-agent run", "Inspect and probe until stopped.",
                              AgentSettings())
                     .c_str(),
                 stdout);
      return 0;
    case Request::kShowVersion: std::puts(std::string(kVersion).c_str()); return 0;
    case Request::kPrintConfig: std::fputs(settings->Print().c_str(), stdout); return 0;
  }
  return kUsage;
}

std::string Text(const CommandLine& line, const v1::NodeSnapshot& snapshot, Duration took) {
  if (line.command == Command::kIbdev2Netdev) return inspect::Ibdev2Netdev(snapshot, line.verbose);
  if (line.command == Command::kMetrics)
    return ToExposition(
        {.snapshot = snapshot,
         .agent = {.inspection = took, .inspections = 1, .inspectors = InspectorNames()},
         .node_exporter = line.compat == kNodeExporter});
  if (line.output == "json") return ToJson(snapshot, true);
  if (line.output == "yaml") return ToYaml(snapshot);
  return inspect::Report(snapshot);
}

int Print(const std::string& text, int exit_status) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : exit_status;
}

// The exit status tells whether NCCL has any port to use.
int PrintNcclEnv(const CommandLine& line, const v1::NodeSnapshot& snapshot) {
  const v1::NcclAdvice advice = nccl::Advise(snapshot);
  const std::string text = line.output == "json"    ? ToJson(advice, true)
                           : line.output == "table" ? nccl::TableText(advice)
                                                    : nccl::EnvText(advice);
  return Print(text, advice.ports().empty() ? 1 : 0);
}

int PrintSnapshot(const CommandLine& line, const v1::NodeSnapshot& snapshot, Duration took) {
  if (line.command == Command::kNcclEnv) return PrintNcclEnv(line, snapshot);
  return Print(Text(line, snapshot, took), 0);
}

// In a child process, which must be made while this one has no other thread.
Result<v1::NodeSnapshot> InspectJob(const CommandLine& line, WallTime now) {
  ASSIGN_OR_RETURN(host::Machine machine, host::Machine::Open(line.root, {.ask_lldpd = false}));
  const host::Dir& root = machine.host().root;
  ASSIGN_OR_RETURN(const inspect::JobTarget target, line.pod.empty()
                                                        ? inspect::FindJob(root, line.netns)
                                                        : inspect::FindPod(root, line.pod));
  return inspect::InspectJob(machine.host(), target, {.node_name = "", .now = now});
}

int PrintOnce(const CommandLine& line) {
  if (const auto machine = host::Machine::Open(line.root); !machine.ok())
    return Fail(machine.status().In("--root"), kUsage);
  const SystemClock clock;
  const Moment begin = clock.Now();
  if (!line.netns.empty() || !line.pod.empty()) {
    const auto snapshot = InspectJob(line, begin.wall);
    if (!snapshot.ok()) return Fail(snapshot.status(), 1);
    return PrintSnapshot(line, *snapshot, clock.Now().steady - begin.steady);
  }
  const std::chrono::seconds lldp_wait(line.lldp_wait_s);
  inspect::InspectionOptions options;
  options.answer_max += lldp_wait;
  options.inspector_max += lldp_wait;
  inspect::Inspection inspection(options, clock, Opener(line.root, {.lldp_patience = lldp_wait}));
  const auto snapshot = inspection.Inspect(host::EventSet::All());
  const int exit_status = PrintSnapshot(line, *snapshot, clock.Now().steady - begin.steady);
  if (inspection.hanging() > 0) std::_Exit(exit_status);  // As in Serve().
  return exit_status;
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
  }
  return fabric::agent::kUsage;
}
