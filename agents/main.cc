// fabric-agent: reads one node, tells the controller, probes when asked.
//
//   machine -> inspection -> inbox -> agent -> link -> controller
//                  |           ^        |       ^
//                board         |     probes -> reports
//                  |           +---- link
//               metrics
#include <signal.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "agents/command_line.h"
#include "agents/config.h"
#include "agents/host/machine.h"
#include "agents/inspect/ibdev2netdev.h"
#include "agents/inspect/inspector.h"
#include "agents/inspect/report.h"
#include "agents/loop.h"
#include "agents/nccl/advice.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/systemd.h"
#include "base/text.h"
#include "base/version.h"
#include "proto/json.h"

namespace fabric::agent {
namespace {

constexpr int kUsage = 2;

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

// Until SIGTERM or SIGINT, which every thread has blocked.
void AwaitSignal(const sigset_t& signals, const Watchdog& watchdog, const Clock& clock,
                 Board& board) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(watchdog.feed_interval);
  const timespec timeout{.tv_sec = seconds.count(),
                         .tv_nsec = (watchdog.feed_interval - seconds).count()};
  std::uint64_t inspections = 0;
  SteadyTime inspected_at = clock.Now().steady;
  while (true) {
    const int signal = watchdog.feed_interval > Duration::zero()
                           ? sigtimedwait(&signals, nullptr, &timeout)
                           : sigwaitinfo(&signals, nullptr);
    if (signal > 0) return log::Info("stopping: {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
    const SteadyTime now = clock.Now().steady;
    if (board.inspections() != inspections) inspected_at = now;
    inspections = board.inspections();
    if (now - inspected_at < watchdog.stuck_after) Notify("WATCHDOG=1");
  }
}

int Run(const Settings& settings) {
  // Settings may ask for an inspection an hour; one that takes a minute is stuck all the same.
  const Watchdog watchdog{.feed_interval = WatchdogInterval(),
                          .stuck_after = settings.Duration("interval") + std::chrono::minutes(1)};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  log::Init("fabric-agent", *log::ParseLevel(settings.Text("log-level")));

  auto machine = host::Machine::Open(settings.Text("root"));
  if (!machine.ok()) return Fail(machine.status().In("--root"), kUsage);
  const host::Host host = machine->host();
  const SystemClock clock;
  const std::string controller = ToString(settings.Address("controller"));

  Board board(InspectorNames());
  Inbox inbox;
  Link link({.controller = controller}, inbox);
  ReportsOverLink reports(link);
  const auto find_device = [&board](const std::string& name) { return board.FindDevice(name); };
  probe::ProbeRunner probes({}, host.verbs, clock, find_device, reports);
  LinkAndProbes output(link, probes);
  Agent agent({.probe_kinds = ProbeKindNames(), .seed = std::random_device()()}, output);

  std::unique_ptr<MetricsEndpoint> metrics;
  if (settings.Has("metrics")) {
    auto opened =
        MetricsEndpoint::Open(settings.Address("metrics"), [&board] { return board.Metrics(); });
    if (!opened.ok()) return Fail(opened.status(), kUsage);
    metrics = *std::move(opened);
    log::Info("metrics on {}", ToString(metrics->address()));
  }

  InspectionLoop inspection{.inspect =
                                [&](WallTime now) {
                                  return inspect::Inspect(
                                      host, {.node_name = settings.Text("node"), .now = now});
                                },
                            .interval = settings.Duration("interval"),
                            .clock = clock,
                            .board = board,
                            .inbox = inbox};
  AgentLoop loop{.controller = controller,
                 .agent = agent,
                 .inbox = inbox,
                 .link = link,
                 .clock = clock,
                 .board = board};
  std::jthread inspecting([&](const std::stop_token& stop) { inspection.Run(stop); });
  std::jthread talking([&](const std::stop_token& stop) { loop.Run(stop); });

  Notify("READY=1");
  AwaitSignal(signals, watchdog, clock, board);
  Notify("STOPPING=1");
  inspecting.request_stop();
  talking.request_stop();
  return 0;  // From here everything stops in the reverse order.
}

int RunWithArguments(const std::vector<std::string>& words) {
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  const auto settings = Settings::Load(AgentSettings(), args);
  if (!settings.ok()) return Fail(settings.status(), kUsage);
  switch (settings->request()) {
    case Request::kRun: return Run(*settings);
    case Request::kHelp:
      std::fputs(("fabric-agent run: inspect and probe for a controller, until stopped.\n\n" +
                  SettingsHelp(AgentSettings()))
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
         .agent = {.inspection = took, .inspections = 1, .inspectors = InspectorNames()}});
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

int PrintOnce(const CommandLine& line) {
  auto machine = host::Machine::Open(line.root);
  if (!machine.ok()) return Fail(machine.status().In("--root"), kUsage);
  const SystemClock clock;
  const Moment begin = clock.Now();
  const v1::NodeSnapshot snapshot = inspect::Inspect(machine->host(), {.now = begin.wall});
  if (line.command == Command::kNcclEnv) return PrintNcclEnv(line, snapshot);
  return Print(Text(line, snapshot, clock.Now().steady - begin.steady), 0);
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
    case Command::kNcclEnv: return fabric::agent::PrintOnce(*line);
  }
  return fabric::agent::kUsage;
}
