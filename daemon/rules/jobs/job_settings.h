// Jobs of a node, as rules see them: the job of --pid, and the processes that use RDMA.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/member.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

// Borrows from the snapshot.
struct Job {
  std::string name;  // "job 4711 (python3, pod ml/train-0)"
  std::uint32_t pid = 0;
  const google::protobuf::RepeatedPtrField<v1::JobVariable>* variables = nullptr;
  const google::protobuf::RepeatedPtrField<v1::JobLibrary>* libraries = nullptr;
  bool environment_known = false;
};
std::vector<Job> JobsOf(const fleet::NodeView& node);

// nullptr: not set, or not known.
const v1::JobVariable* FindVariable(const Job& job, std::string_view name);
// nullptr: not mapped by the job.
const v1::JobLibrary* MappedLibrary(const Job& job, std::string_view name);

// The variable as a number; nothing for other text.
std::optional<std::int64_t> NumberIn(const v1::JobVariable& variable);
// "proc/4711/environ" or "etc/nccl.conf"
std::string SourceOf(const Job& job, const v1::JobVariable& variable);

// A variable with one value, and the first job that has it.
struct JobSetting {
  const Job* job = nullptr;
  const v1::JobVariable* variable = nullptr;

  std::string Text() const;  // "NCCL_IB_TC=106 of job 4711 (python3)"
  std::string Key() const;   // Part of the fingerprint: "NCCL_IB_TC=106"
};
// Each value of these variables once, in the order of jobs.
std::vector<JobSetting> SettingsOf(const std::vector<Job>& jobs,
                                   const std::vector<std::string_view>& names);

// Ports of the fabric that are up and that the job can use: all, or those in its list of devices
// (NCCL_IB_HCA, UCX_NET_DEVICES, NVSHMEM_HCA_LIST, by the library of `variable`). None if NCCL of
// the job uses sockets.
std::vector<const fleet::PortView*> PortsOf(const Job& job, std::string_view variable,
                                            const fleet::NodeView& node);

// NCCL_IB_HCA and similar lists: "^" excludes, "=" wants exact names, otherwise prefixes.
struct DeviceList {
  struct Item {
    std::string_view name;
    std::optional<std::uint32_t> port;
  };
  bool excludes = false;
  bool exact = false;
  std::vector<Item> items;

  bool Selects(const fleet::PortView& port) const;
  bool Names(const Item& item, const fleet::PortView& port) const;
};
DeviceList ParseDeviceList(std::string_view text, bool exact = false);

// Faults of several ports of a node, collected for one finding.
class PortFaults {
 public:
  void Add(const fleet::PortView& port, Fact fact);
  bool empty() const { return ports_.empty(); }
  std::string Ports() const { return Listed(ports_); }
  std::vector<v1::Evidence> TakeEvidence() { return std::move(evidence_); }
  std::vector<v1::Subject> TakeSubjects() { return std::move(subjects_); }

 private:
  std::vector<std::string> ports_;
  std::vector<v1::Evidence> evidence_;
  std::vector<v1::Subject> subjects_;
};

// For Read::applies.
bool HasJobs(const Member& node);

// Exports `assignment`, "NCCL_IB_TC=106", in place of `was`; an empty one removes the variable.
v1::Remedy SetJobVariable(const JobSetting& setting, std::string_view value, std::string note);

}  // namespace fabric::rules
