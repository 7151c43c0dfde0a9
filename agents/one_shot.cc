#include "agents/one_shot.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "agents/config.h"
#include "agents/doctor/doctor.h"
#include "agents/doctor/unit_report.h"
#include "agents/host/child_answer.h"
#include "agents/host/pods/pods_client.h"
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

Status CheckSockets(const CommandLine& line) {
  RETURN_IF_ERROR(CheckPodSocket(line.kubelet).In("--kubelet-pod-resources"));
  return CheckPodSocket(line.runtime).In("--cri-socket");
}

// The pods of the runtime, from a child process: the client starts threads.
Result<std::vector<host::Pod>> PodsOfRuntime(const std::string& socket) {
  constexpr char kFailed = '!';
  ASSIGN_OR_RETURN(const std::string answer, host::AnswerOfChild([&] {
                     const auto pods = host::OpenPods({.runtime = socket})->OfRuntime();
                     if (!pods.ok())
                       return Format("{}{} {}", kFailed, static_cast<int>(pods.status().code()),
                                     pods.status().message());
                     std::string text = "\n";
                     for (const host::Pod& pod : *pods)
                       text += Format("{}\t{}\t{}\n", pod.name_space, pod.name, pod.uid);
                     return text;
                   }));
  if (answer.starts_with(kFailed)) {
    const std::size_t blank = answer.find(' ');
    const auto code = ParseNumber<int>(std::string_view(answer).substr(1, blank - 1));
    return Status(code.ok() ? static_cast<Code>(*code) : Code::kInternal, answer.substr(blank + 1));
  }
  if (answer.empty()) return Status(Code::kUnavailable, socket + ": the asking process has died");
  std::vector<host::Pod> pods;
  for (const std::string_view row : Split(answer, '\n'))
    if (const auto cells = Split(row, '\t'); cells.size() == 3)
      pods.push_back({.name_space = std::string(cells[0]),
                      .name = std::string(cells[1]),
                      .uid = std::string(cells[2]),
                      .devices = {}});
  return pods;
}

// Creates a child process: this process must not have other threads.
Result<v1::NodeSnapshot> InspectJob(const CommandLine& line, WallTime now) {
  ASSIGN_OR_RETURN(host::Machine machine, host::Machine::Open(line.root, {.ask_lldpd = false}));
  const host::Dir& root = machine.host().root;
  Result<std::vector<host::Pod>> pods = std::vector<host::Pod>();
  if (!line.runtime.empty()) pods = PodsOfRuntime(line.runtime);
  std::string uid = line.pod;
  if (uid.find('/') != std::string::npos) {
    if (!pods.ok()) return pods.status();
    ASSIGN_OR_RETURN(uid, inspect::UidOfPod(*pods, line.pod));
  }
  ASSIGN_OR_RETURN(inspect::JobTarget target,
                   uid.empty() ? inspect::FindJob(root, line.netns) : inspect::FindPod(root, uid));
  if (pods.ok()) target.pods = *pods;
  auto snapshot = inspect::InspectJob(machine.host(), target, {.node_name = "", .now = now});
  if (snapshot.ok() && !pods.ok())
    inspect::AddGap(*snapshot, "pods", "", line.runtime, pods.status());
  return snapshot;
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
  if (const Status valid = CheckSockets(line); !valid.ok()) return Fail(valid, kUsage);
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
  const auto pods = host::OpenPods({.kubelet = line.kubelet, .runtime = line.runtime});
  inspect::Inspection inspection(
      options, clock, Opener(line.root, {.lldp_patience = lldp_wait, .pods = pods.get()}));
  const auto snapshot = inspection.Inspect(host::EventSet::All());
  const int exit_status = PrintSnapshot(line, *snapshot, clock.Now().steady - begin.steady);
  if (inspection.hanging() > 0)
    std::_Exit(exit_status);  // Blocked threads use what main() would destroy.
  return exit_status;
}

int PrintDoctor(const CommandLine& line) {
  const std::string format = line.output;
  if (line.unit) {
    const auto report =
        doctor::ReadUnitReport(std::string(doctor::kUnitReportPath), SystemClock().Now().wall);
    if (!report.ok()) return Fail(report.status(), 1);
    return Print(format == "json" ? report->json : report->text, report->exit_status);
  }
  if (const Status valid = CheckSockets(line); !valid.ok()) return Fail(valid, kUsage);
  const auto pods = host::OpenPods({.kubelet = line.kubelet, .runtime = line.runtime});
  auto machine = host::Machine::Open("/", {.pods = pods.get()});
  if (!machine.ok()) return Fail(machine.status(), 1);
  const host::Privileges privileges = host::ReadPrivileges(machine->host().root);
  const auto features = doctor::Examine(machine->host(), privileges);
  return Print(format == "json" ? doctor::Json(features) : doctor::Text(features, privileges),
               doctor::ExitStatus(features));
}

void LogMissingPermissions(const host::PodSockets& sockets, const std::string& folder) {
  RunAside([&] {
    const auto pods = host::OpenPods(sockets);
    auto machine = host::Machine::Open("/", {.ask_lldpd = false, .pods = pods.get()});
    if (!machine.ok()) return;
    const host::Privileges privileges = host::ReadPrivileges(machine->host().root);
    const auto features = doctor::Examine(machine->host(), privileges);
    for (const std::string& text : doctor::LogLines(features)) log::Info("{}", text);
    if (folder.empty()) return;
    const Status written =
        doctor::WriteUnitReport(folder, features, privileges, SystemClock().Now().wall);
    if (!written.ok()) log::Warning("not written for doctor --unit: {}", written.message());
  });
}

}  // namespace fabric::agent
