#include "daemon/rules/jobs/job_settings.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/rules/remedy.h"

namespace fabric::rules {
namespace {

// `of`: a JobView or an RdmaProcess
template <class T>
std::string JobName(const T& of, const std::string& process) {
  std::vector<std::string> words;
  if (!process.empty()) words.push_back(process);
  if (of.has_pod_name()) words.push_back(Format("pod {}/{}", of.pod_namespace(), of.pod_name()));
  return words.empty() ? Format("job {}", of.pid())
                       : Format("job {} ({})", of.pid(), Join(words, ", "));
}

// The list of devices of the library that reads `variable`; empty: none.
const v1::JobVariable* DevicesFor(const Job& job, std::string_view variable) {
  if (variable.starts_with("UCX_")) return FindVariable(job, "UCX_NET_DEVICES");
  if (variable.starts_with("NVSHMEM_")) return FindVariable(job, "NVSHMEM_HCA_LIST");
  return FindVariable(job, "NCCL_IB_HCA");
}

// NCCL of the job uses sockets.
bool IsWithoutVerbs(const Job& job) {
  const v1::JobVariable* const disabled = FindVariable(job, "NCCL_IB_DISABLE");
  const v1::JobVariable* const net = FindVariable(job, "NCCL_NET");
  return (disabled != nullptr && disabled->value() == "1") ||
         (net != nullptr && net->value() == "Socket");
}

}  // namespace

std::vector<Job> JobsOf(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::vector<Job> jobs;
  if (snapshot.has_job()) {
    const v1::JobView& job = snapshot.job();
    jobs.push_back({.name = JobName(job, job.process()),
                    .pid = job.pid(),
                    .variables = &job.variables(),
                    .libraries = &job.libraries(),
                    .environment_known = job.environment_known()});
  }
  for (const v1::RdmaProcess& process : snapshot.rdma_processes())
    if (!snapshot.has_job() || process.pid() != snapshot.job().pid())
      jobs.push_back({.name = JobName(process, process.name()),
                      .pid = process.pid(),
                      .variables = &process.variables(),
                      .libraries = &process.libraries(),
                      .environment_known = process.environment_known()});
  return jobs;
}

const v1::JobVariable* FindVariable(const Job& job, std::string_view name) {
  for (const v1::JobVariable& variable : *job.variables)
    if (variable.name() == name) return &variable;
  return nullptr;
}

const v1::JobLibrary* MappedLibrary(const Job& job, std::string_view name) {
  for (const v1::JobLibrary& library : *job.libraries)
    if (library.name() == name && library.mapped()) return &library;
  return nullptr;
}

std::optional<std::int64_t> NumberIn(const v1::JobVariable& variable) {
  const std::string_view text = variable.value();
  const auto number = ParseNumber<std::int64_t>(text, text.starts_with("0x") ? 16 : 10);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::string SourceOf(const Job& job, const v1::JobVariable& variable) {
  if (variable.source().starts_with('/')) return variable.source().substr(1);
  return Format("proc/{}/environ", job.pid);
}

std::string JobSetting::Key() const {
  return Format("{}={}", variable->name(), variable->value());
}

std::string JobSetting::Text() const {
  return Format("{} of {}", Key(), job->name);
}

std::vector<JobSetting> SettingsOf(const std::vector<Job>& jobs,
                                   const std::vector<std::string_view>& names) {
  std::vector<JobSetting> settings;
  std::set<std::string> known;
  for (const Job& job : jobs)
    for (const std::string_view name : names)
      if (const v1::JobVariable* const variable = FindVariable(job, name)) {
        const JobSetting setting{.job = &job, .variable = variable};
        if (known.insert(setting.Key()).second) settings.push_back(setting);
      }
  return settings;
}

bool DeviceList::Names(const Item& item, const fleet::PortView& port) const {
  if (item.port && *item.port != port.port->number()) return false;
  const std::string& name = port.device->name();
  return exact ? name == item.name : name.starts_with(item.name);
}

bool DeviceList::Selects(const fleet::PortView& port) const {
  const bool listed =
      std::any_of(items.begin(), items.end(), [&](const Item& item) { return Names(item, port); });
  return items.empty() || listed != excludes;
}

DeviceList ParseDeviceList(std::string_view text, bool exact) {
  DeviceList list{.exact = exact};
  for (; !text.empty() && (text[0] == '^' || text[0] == '='); text.remove_prefix(1))
    (text[0] == '^' ? list.excludes : list.exact) = true;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view item = Trim(part);
    const std::size_t colon = item.find(':');
    if (item.empty() || item == "all") continue;
    DeviceList::Item& entry = list.items.emplace_back();
    entry.name = item.substr(0, colon);
    if (colon == std::string_view::npos) continue;
    const auto port = ParseNumber<std::uint32_t>(item.substr(colon + 1));
    if (port.ok()) entry.port = *port;
  }
  return list;
}

std::vector<const fleet::PortView*> PortsOf(const Job& job, std::string_view variable,
                                            const fleet::NodeView& node) {
  if (variable.starts_with("NCCL_") && IsWithoutVerbs(job)) return {};
  const v1::JobVariable* const devices = DevicesFor(job, variable);
  const DeviceList list = devices == nullptr
                              ? DeviceList{}
                              : ParseDeviceList(devices->value(), variable.starts_with("UCX_"));
  std::vector<const fleet::PortView*> ports;
  for (const fleet::PortView& port : node.ports)
    if (port.rail && IsUp(port) && list.Selects(port)) ports.push_back(&port);
  return ports;
}

void PortFaults::Add(const fleet::PortView& port, Fact fact) {
  ports_.push_back(Format("{}/{}", port.device->name(), port.port->number()));
  if (evidence_.size() < kEvidenceMax) evidence_.push_back(ToEvidence(*port.node, std::move(fact)));
  subjects_.push_back(port.Subject());
}

bool HasJobs(const Member& node) {
  return node.snapshot().has_job() || !node.snapshot().rdma_processes().empty();
}

v1::Remedy SetJobVariable(const JobSetting& setting, std::string_view value, std::string note) {
  const std::string& name = setting.variable->name();
  return Change(
      {.command = value.empty() ? Format("unset {}", name) : Format("export {}={}", name, value),
       .affects = v1::REMEDY_REACH_JOB,
       .interrupts = kInterruptsNothing,
       .lasts = UntilReboot("change it in the job scripts and in /etc/nccl.conf"),
       .undo = Format("export {}", setting.Key()),
       .note = Format("In the environment of jobs; running ones keep the old value.{}{}",
                      note.empty() ? "" : " ", note)});
}

}  // namespace fabric::rules
