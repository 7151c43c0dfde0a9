// Checks of the subnet managers beside the master. They need a reader that asks each of them.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr const char* kNeedsReader =
    "state of all subnet managers: read the subnet with 'fabric-agent subnet read'";

void JudgeStandby(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (!subnet.reading()) return out.Unknown(kNeedsReader);
  const Manager* const master = subnet.Master();  // Of two, subnet_one_master fails.
  if (master == nullptr) return out.Unknown("one master: see subnet_one_master");
  if (std::ranges::find(subnet.managers(), ManagerState::kStandby, &Manager::state) !=
      subnet.managers().end())
    return out.Pass();
  out.Fail({.subject = WholeSubnet(),
            .key = "",
            .title = Format("no standby subnet manager: only {} runs one",
                            PortGuidWords(subnet, master->port_guid)),
            .what = "subnet managers in state STANDBY",
            .expected = "at least 1",
            .seen = "0",
            .remedies = {Advice("Start a second subnet manager on another node or switch, with a "
                                "lower priority and the same configuration.")}});
}

void JudgePriority(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (!subnet.reading()) return out.Unknown(kNeedsReader);
  const Manager* const master = subnet.Master();  // Of two, subnet_one_master fails.
  if (master == nullptr) return out.Unknown("one master: see subnet_one_master");
  bool failed = false;
  for (const Manager& other : subnet.managers()) {
    if (&other == master || other.state != ManagerState::kStandby ||
        other.priority < master->priority)
      continue;
    failed = true;
    std::string title = other.priority == master->priority
                            ? Format("{} (standby) has the same priority {} as the master {}",
                                     PortGuidWords(subnet, other.port_guid), other.priority,
                                     PortGuidWords(subnet, master->port_guid))
                            : Format("{} (standby) has priority {}, above {} of the master {}",
                                     PortGuidWords(subnet, other.port_guid), other.priority,
                                     master->priority, PortGuidWords(subnet, master->port_guid));
    out.Fail({.subject = WholeSubnet(),
              .key = GuidText(other.port_guid),
              .title = std::move(title),
              .what = "priority of the standby subnet manager",
              .expected = Format("below {}", master->priority),
              .seen = std::to_string(other.priority),
              .remedies = {Advice("Give each subnet manager its own priority (sm_priority of "
                                  "opensm), the highest to the one that should be master.")}});
  }
  if (!failed) out.Pass();
}

// Ports that announce a subnet manager, which did not answer SMInfo in this reading.
std::vector<std::uint64_t> SilentManagers(const Subnet& subnet) {
  std::vector<std::uint64_t> silent;
  for (const Node& node : subnet.nodes())
    for (const Port& port : node.ports)
      if (port.runs_manager && port.guid != 0 &&
          std::ranges::find(subnet.managers(), port.guid, &Manager::port_guid) ==
              subnet.managers().end())
        silent.push_back(port.guid);
  return silent;
}

// OpenSM counts each packet that it sends, also its answer to SMInfo: so its counter grows although
// it does not sweep. Another manager can count less, and one without periodic sweeps
// (sweep_interval 0) has nothing to count: a counter that does not change does not prove a fault.
void JudgeManagerActive(const CheckInput& input, Verdicts& out) {
  constexpr double kSecondsMin = 30;  // opensm sweeps every 10 s
  const Subnet& subnet = input.subnet();
  if (!subnet.reading()) return out.Unknown(kNeedsReader);
  const std::vector<std::uint64_t> silent = SilentManagers(subnet);
  for (const std::uint64_t guid : silent)
    out.Fail({.subject = WholeSubnet(),
              .key = GuidText(guid),
              .title = Format("the subnet manager of {} does not answer SMInfo",
                              PortGuidWords(subnet, guid)),
              .what = "answer to SMInfo of a port that announces a subnet manager (IsSM)",
              .expected = "its state",
              .seen = "no answer",
              .remedies = {Advice("Check on that node that the subnet manager runs, and its log. "
                                  "Restart it if it hangs.")}});
  if (!silent.empty()) return;
  const Manager* const master = subnet.Master();  // Of two, subnet_one_master fails.
  if (master == nullptr) return out.Unknown("one master: see subnet_one_master");
  const auto& before = input.expected.managers_before;
  const auto same = std::ranges::find_if(before, [&](const Manager& each) {
    return each.port_guid == master->port_guid && each.state == ManagerState::kMaster;
  });
  if (!master->activity || same == before.end() || !same->activity ||
      input.expected.managers_before_s < kSecondsMin)
    return out.Unknown(
        "activity of the master: two readings by an agent, at least 30 s apart, with one master");
  if (*master->activity != *same->activity) return out.Pass();
  out.Unknown(Format(
      "activity of the master {}: it answers, and its counter has not changed from {} for {:.0f} "
      "s. It hangs, or it does not sweep periodically (sweep_interval 0 of opensm): see its log",
      PortGuidWords(subnet, master->port_guid), *master->activity,
      input.expected.managers_before_s));
}

}  // namespace

extern const Check subnet_manager_active = {
    .id = "subnet_manager_active",
    .title = "Each subnet manager answers, and the activity counter of the master grows",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "A master that hangs configures no link that comes up. A standby that hangs does not take "
        "over.",
    .judge = JudgeManagerActive};

extern const Check subnet_standby_manager = {
    .id = "subnet_standby_manager",
    .title = "A second subnet manager is standby",
    .severity = v1::SEVERITY_WARNING,
    .why = "If the only subnet manager stops, links that come up get no LID and no routes.",
    .judge = JudgeStandby};

extern const Check subnet_manager_priority = {
    .id = "subnet_manager_priority",
    .title = "The master has the highest priority, alone",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "With equal priorities the lower GUID decides who is master, so a restart can move the "
        "master unexpectedly.",
    .judge = JudgePriority};

}  // namespace fabric::subnet
