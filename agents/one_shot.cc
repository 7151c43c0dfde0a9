#include "agents/one_shot.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "agents/doctor/doctor.h"
#include "agents/inspect/job/job_view.h"
#include "agents/inspect/report/report.h"
#include "agents/metrics/metrics.h"
#include "base/child.h"
#include "base/log.h"
#include "base/text.h"
#include "nccl/advice.h"
#include "proto/json.h"

namespace fabric::agent {
namespace {

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

// Exit status 1 when NCCL has no port to use.
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

// Creates a child process: this process must not have other threads.
Result<v1::NodeSnapshot> InspectJob(const CommandLine& line, WallTime now) {
  ASSIGN_OR_RETURN(host::Machine machine, host::Machine::Open(line.root, {.ask_lldpd = false}));
  const host::Dir& root = machine.host().root;
  ASSIGN_OR_RETURN(const inspect::JobTarget target, line.pod.empty()
                                                        ? inspect::FindJob(root, line.netns)
                                                        : inspect::FindPod(root, line.pod));
  return inspect::InspectJob(machine.host(), target, {.node_name = "", .now = now});
}

}  // namespace

int Fail(const Status& status, int exit_status) {
  std::fputs(Format("fabric-agent: {}\n", status.message()).c_str(), stderr);
  return exit_status;
}

std::vector<std::string> InspectorNames() {
  std::vector<std::string> names;
  for (const inspect::Inspector* inspector : inspect::AllInspectors())
    names.emplace_back(inspector->name);
  return names;
}

inspect::Inspection::OpenMachine Opener(const std::string& root,
                                        const host::MachineOptions& options) {
  return [root, options]() -> Result<std::unique_ptr<host::HostOwner>> {
    ASSIGN_OR_RETURN(host::Machine machine, host::Machine::Open(root, options));
    return std::unique_ptr<host::HostOwner>(std::make_unique<host::Machine>(std::move(machine)));
  };
}

int PrintOnce(const CommandLine& line) {
  auto machine = host::Machine::Open(line.root);
  if (!machine.ok()) return Fail(machine.status().In("--root"), kUsage);
  const SystemClock clock;
  const Moment begin = clock.Now();
  if (!line.netns.empty() || !line.pod.empty()) {
    const auto snapshot = InspectJob(line, begin.wall);
    if (!snapshot.ok()) return Fail(snapshot.status(), 1);
    return PrintSnapshot(line, *snapshot, clock.Now().steady - begin.steady);
  }
  const std::chrono::seconds lldp_wait(line.lldp_wait_s);
  inspect::InspectionOptions options = {.captured = machine->host().captured};
  options.answer_max += lldp_wait;
  options.inspector_max += lldp_wait;
  inspect::Inspection inspection(options, clock, Opener(line.root, {.lldp_patience = lldp_wait}));
  const auto snapshot = inspection.Inspect(host::EventSet::All());
  const int exit_status = PrintSnapshot(line, *snapshot, clock.Now().steady - begin.steady);
  if (inspection.hanging() > 0)
    std::_Exit(exit_status);  // Blocked threads use what main() would destroy.
  return exit_status;
}

int PrintDoctor(const CommandLine& line) {
  auto machine = host::Machine::Open("/");
  if (!machine.ok()) return Fail(machine.status(), 1);
  const host::Privileges privileges = host::ReadPrivileges(machine->host().root);
  const auto features = doctor::Examine(machine->host(), privileges);
  return Print(line.output == "json" ? doctor::Json(features) : doctor::Text(features, privileges),
               doctor::ExitStatus(features));
}

void LogMissingPermissions() {
  RunAside([] {
    auto machine = host::Machine::Open("/", {.ask_lldpd = false});
    if (!machine.ok()) return;
    const host::Privileges privileges = host::ReadPrivileges(machine->host().root);
    for (const std::string& text : doctor::LogLines(doctor::Examine(machine->host(), privileges)))
      log::Info("{}", text);
  });
}

}  // namespace fabric::agent
