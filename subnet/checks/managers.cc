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

// A manager that works counts each packet that it sends: at least those of its periodic sweep.
void JudgeManagerActive(const CheckInput& input, Verdicts& out) {
  constexpr double kSecondsMin = 30;  // opensm sweeps every 10 s
  const Subnet& subnet = input.subnet();
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
  out.Fail(
      {.subject = WholeSubnet(),
       .key = "",
       .title = Format("the master subnet manager {} answers, but its activity counter has "
                       "not changed from {} for {:.0f} s",
                       PortGuidWords(subnet, master->port_guid), *master->activity,
                       input.expected.managers_before_s),
       .what = "ActCount of the master",
       .expected = Format("above {}", *same->activity),
       .seen = std::to_string(*master->activity),
       .remedies = {Advice("Check that the subnet manager runs and sweeps: its log, and "
                           "sweep_interval of opensm, which is 0 if it does not sweep. Restart "
                           "it if it hangs; a standby then takes over.")}});
}

}  // namespace

extern const Check subnet_manager_active = {
    .id = "subnet_manager_active",
    .title = "The activity counter of the master grows",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "A subnet manager that hangs can still answer requests, but it configures no link that "
        "comes up.",
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
