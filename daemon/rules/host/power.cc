// Power management and firmware of the machine: frequency governor, idle states, BIOS.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr char kGovernorFile[] = "sys/devices/system/cpu/cpufreq";
constexpr char kIdleFile[] = "sys/devices/system/cpu/cpu0/cpuidle";
constexpr char kBiosVersionFile[] = "sys/class/dmi/id/bios_version";

template <const char* kFile>
std::string PowerSource(const Member&) {
  return kFile;
}

const v1::CpuPower& PowerOf(const Member& member) {
  return member.snapshot().host().cpu_power();
}

// cpu_governor_equal

v1::Remedy SetGovernor(std::string_view governor, std::string_view now) {
  return Change({.command = Format("cpupower frequency-set -g {}", governor),
                 .affects = v1::REMEDY_REACH_NODE,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot("use tuned or the cpupower service"),
                 .undo = Format("cpupower frequency-set -g {}", now),
                 .note = "tuned or power-profiles-daemon may set it again."});
}

// In these drivers "powersave" chooses the frequency by load. In others it is the lowest one.
bool ScalesInPowersave(const v1::CpuPower& power) {
  return power.frequency_driver() == "intel_pstate" || power.frequency_driver() == "amd-pstate-epp";
}

// A finding of cpu_governor_fast.
bool IsAtLowestFrequency(const v1::CpuPower& power) {
  return power.has_frequency_driver() && !ScalesInPowersave(power) &&
         std::find(power.governors().begin(), power.governors().end(), "powersave") !=
             power.governors().end();
}

// Machines with several governors are judged by cpu_governor_fast, and by a profile.
std::optional<Value> Governor(const Member& member) {
  const auto& governors = PowerOf(member).governors();
  if (member.node->ports.empty() || governors.empty()) return {};
  const auto& expected = member.expectation().values;
  if (IsAtLowestFrequency(PowerOf(member)) && !expected.has_cpu_governor()) return {};
  if (governors.size() == 1) return Value{.text = governors[0]};
  if (!expected.has_cpu_governor()) return {};
  for (const std::string& governor : governors)
    if (governor != expected.cpu_governor()) return Value{.text = governor};
  return {};
}

constexpr EqualityRule kGovernors[] = {
    {.what = "CPU frequency governor",
     .of_nodes = true,
     .group = ByProduct,
     .value = Governor,
     .expected = [](const v1::Expectations& expected) -> std::optional<Value> {
       if (!expected.has_cpu_governor()) return {};
       return Value{.text = expected.cpu_governor()};
     },
     .show = ShowText,
     .source = PowerSource<kGovernorFile>,
     .remedies = [](const Member& member, const Value& expected) -> std::vector<v1::Remedy> {
       const Value seen = Governor(member).value_or(Value());
       return {SetGovernor(expected.text, seen.text)};
     }}};

// cpu_governor_fast

void JudgeGovernor(const fleet::NodeView& node, Verdicts& out) {
  const v1::CpuPower& power = node.node->snapshot.host().cpu_power();
  if (node.ports.empty() || power.governors().empty() || !power.has_frequency_driver()) return;
  // A profile gives the governor: a finding of cpu_governor_equal.
  if (!IsAtLowestFrequency(power) || node.expected().has_cpu_governor()) return out.Pass();
  out.Fail(SubjectOf(node),
           Format("CPU frequency governor powersave of {}, expected one that scales: all CPUs stay "
                  "at the lowest frequency",
                  power.frequency_driver()),
           {ToEvidence(*node.node,
                       {.what = "CPU frequency governor",
                        .expected = "performance or schedutil",
                        .seen = Join({power.governors().begin(), power.governors().end()}, ", "),
                        .source = kGovernorFile,
                        .basis = "kernel Documentation/admin-guide/pm/cpufreq.rst"})},
           {SetGovernor("performance", "powersave")});
}

// cpu_idle_latency_equal

std::optional<Value> IdleLatency(const Member& member) {
  if (member.node->ports.empty() || !PowerOf(member).has_idle_latency_us()) return {};
  return Value{PowerOf(member).idle_latency_us()};
}

// "133 us (C6)"
std::string ShowIdle(const v1::CpuPower& power) {
  std::string deepest;
  for (const v1::IdleState& state : power.idle_states())
    if (state.enabled() && state.exit_latency_us() == power.idle_latency_us())
      deepest = state.name();
  return Format("{} us ({})", power.idle_latency_us(), deepest);
}

std::vector<v1::Remedy> SetIdle(std::uint64_t latency_us) {
  return {Change({.command = Format("cpupower idle-set -D {}", latency_us + 1),
                  .affects = v1::REMEDY_REACH_NODE,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot("use a tuned profile such as latency-performance, or the "
                                       "BIOS"),
                  .undo = "cpupower idle-set -E",
                  .note = "Disables deeper idle states. CPUs use more power when idle. A node with "
                          "fewer states than the others may have another BIOS setting."})};
}

constexpr EqualityRule kIdle[] = {
    {.what = "exit latency of the deepest idle state",
     .of_nodes = true,
     .group = ByProduct,
     .value = [](const Member& member) -> std::optional<Value> {
       // cpu_idle_latency_within_limit judges it there.
       if (member.expectation().values.has_idle_latency_max_us()) return {};
       return IdleLatency(member);
     },
     .show = [](const Value& value) { return Format("{} us", value.number); },
     .source = PowerSource<kIdleFile>,
     .remedies = [](const Member&, const Value& expected) { return SetIdle(expected.number); }}};

// cpu_idle_latency_within_limit

void JudgeIdle(const fleet::NodeView& node, Verdicts& out) {
  const v1::CpuPower& power = node.node->snapshot.host().cpu_power();
  if (node.ports.empty() || !node.expected().has_idle_latency_max_us() ||
      !power.has_idle_latency_us())
    return;
  const std::uint32_t limit = node.expected().idle_latency_max_us();
  if (power.idle_latency_us() <= limit) return out.Pass();
  const std::string expected = Format("at most {} us", limit);
  out.Fail(SubjectOf(node),
           Format("exit latency of the deepest idle state {}, expected {} (profile {})",
                  ShowIdle(power), expected, node.expectation->profile),
           {ToEvidence(*node.node, {.what = "exit latency of the deepest idle state",
                                    .expected = expected,
                                    .seen = ShowIdle(power),
                                    .source = kIdleFile,
                                    .basis = ProfileBasis(*node.expectation)})},
           SetIdle(limit));
}

// bios_version_equal

// The date distinguishes builds of one version.
std::optional<Value> Bios(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_bios_version()) return {};
  return Value{.text = host.bios_version()};
}

constexpr EqualityRule kBios[] = {
    {.what = "BIOS version",
     .of_nodes = true,
     .group = ByProduct,
     .value = Bios,
     .expected = [](const v1::Expectations& expected) -> std::optional<Value> {
       if (!expected.has_bios_version()) return {};
       return Value{.text = expected.bios_version()};
     },
     .show = ShowText,
     .source = PowerSource<kBiosVersionFile>,
     .remedies = [](const Member&, const Value& expected) -> std::vector<v1::Remedy> {
       return {
           Query({.command = "cd /sys/class/dmi/id && grep . bios_vendor bios_version bios_date",
                  .note = Format("Expected {}. Drain the node and install the BIOS of the other "
                                 "nodes. Compare its settings too: an update resets them.",
                                 expected.text)})};
     },
     .more =
         [](const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
           const v1::HostFacts& host = member.snapshot().host();
           const v1::HostFacts& usual = good.snapshot().host();
           if (host.has_bios_date() && usual.has_bios_date())
             evidence.push_back(
                 ToEvidence(*member.node->node, {.what = "BIOS date",
                                                 .expected = usual.bios_date(),
                                                 .seen = host.bios_date(),
                                                 .source = "sys/class/dmi/id/bios_date",
                                                 .basis = good.node->node->name}));
         }}};

// copy_on_fork_equal

std::optional<Value> CopyOnFork(const Member& member) {
  if (member.node->ports.empty() || !member.snapshot().host().has_copy_on_fork()) return {};
  return Value{member.snapshot().host().copy_on_fork() ? 1U : 0U};
}

void JudgeFork(const fleet::NodeView& node, Verdicts& out) {
  const auto copied = CopyOnFork({.node = &node});
  if (!copied) return;
  if (copied->number != 0) return out.Pass();
  out.Fail(SubjectOf(node), "copy on fork of registered memory is off, expected on",
           {ToEvidence(*node.node, {.what = "copy on fork",
                                    .expected = "on",
                                    .seen = "off",
                                    .source = "netlink rdma system",
                                    .basis = "rule"})},
           {Advice("Install Linux 5.12 or later. Until then, set RDMAV_FORK_SAFE=1 for programs "
                   "that fork.")});
}

}  // namespace

extern const Rule cpu_governor_equal = {
    .id = "cpu_governor_equal",
    .title = "The CPU frequency governor is the profile's, else the same on nodes of one product",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "Slow CPUs post and complete RDMA requests late. A node with another governor makes each "
        "collective as slow as itself, and looks healthy in bandwidth tests.",
    .source = "kernel Documentation/admin-guide/pm/cpufreq.rst",
    .needs = {Input::kCpuPower},
    .profile = {v1::Expectations::kCpuGovernorFieldNumber},
    .reads = {{.field = Field::kCpuPower, .profile = v1::Expectations::kCpuGovernorFieldNumber},
              {.field = Field::kCpuPower}},
    .fix = "cpupower frequency-set -g GOVERNOR",
    .equality_rules = kGovernors,
};

extern const Rule cpu_governor_fast = {
    .id = "cpu_governor_fast",
    .title = "The CPU frequency governor does not pin the CPUs to their lowest frequency",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "With drivers other than intel_pstate and amd-pstate-epp, the governor powersave means the "
        "lowest frequency at any load: latency and message rate suffer by a factor of two or more.",
    .source = "kernel Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst",
    .needs = {Input::kCpuPower},
    .reads = {{.field = Field::kCpuPower}},
    .fix = "cpupower frequency-set -g performance",
    .evaluate_node = JudgeGovernor,
};

extern const Rule cpu_idle_latency_equal = {
    .id = "cpu_idle_latency_equal",
    .title = "CPUs of nodes of one product have the same deepest idle state",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "A CPU needs the exit latency to leave an idle state. A node with deeper states answers "
        "small messages late, and a job waits for it.",
    .source = "kernel Documentation/admin-guide/pm/cpuidle.rst",
    .needs = {Input::kCpuPower},
    .reads = {{.field = Field::kIdleStates}},
    .fix = "The same BIOS settings and tuned profile on all nodes",
    .equality_rules = kIdle,
};

extern const Rule cpu_idle_latency_within_limit = {
    .id = "cpu_idle_latency_within_limit",
    .title = "The deepest idle state of the CPUs has at most the profile's exit latency",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "A CPU needs the exit latency to leave an idle state. Small messages and interrupts wait "
        "for it.",
    .source = "kernel Documentation/admin-guide/pm/cpuidle.rst",
    .needs = {Input::kCpuPower},
    .profile = {v1::Expectations::kIdleLatencyMaxUsFieldNumber},
    .reads = {{.field = Field::kIdleStates,
               .profile = v1::Expectations::kIdleLatencyMaxUsFieldNumber}},
    .fix = "cpupower idle-set -D LATENCY",
    .evaluate_node = JudgeIdle,
};

extern const Rule bios_version_equal = {
    .id = "bios_version_equal",
    .title = "The BIOS version is the profile's, else the same on nodes of one product",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "The BIOS sets up PCIe, access control, the IOMMU, NUMA and power states. A node with "
        "another version may differ in all of them, and an update may have reset its settings.",
    .source = "kernel Documentation/ABI/testing/sysfs-firmware-dmi-tables; SMBIOS type 0",
    .needs = {Input::kHostFacts},
    .profile = {v1::Expectations::kBiosVersionFieldNumber},
    .reads = {{.field = Field::kBios, .profile = v1::Expectations::kBiosVersionFieldNumber},
              {.field = Field::kBios}},
    .fix = "Install the same BIOS on all nodes of the product",
    .equality_rules = kBios,
};

extern const Rule copy_on_fork_on = {
    .id = "copy_on_fork_on",
    .title = "The kernel copies registered memory for child processes",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without it, a program that forks while RDMA writes to its memory may see stale data: the "
        "card keeps the page of before. Data loaders and system() calls fork.",
    .source = "kernel include/uapi/rdma/rdma_netlink.h (RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK)",
    .needs = {Input::kRdmaDevices},
    .reads = {{.field = Field::kCopyOnFork}},
    .fix = "Linux 5.12 or later; RDMAV_FORK_SAFE=1 before",
    .evaluate_node = JudgeFork,
};

}  // namespace fabric::rules
