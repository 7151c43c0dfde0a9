#include <algorithm>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/host_texts.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kCpuPowerName = "cpu_power";
constexpr const char* kCpus = "sys/devices/system/cpu";

// Different values of one file of all frequency policies, sorted. Absent for a driver without it.
std::vector<std::string> PolicyValues(const Host& host, const std::vector<std::string>& policies,
                                      const std::string& file, const Gaps& gaps) {
  std::set<std::string> values;
  for (const std::string& policy : policies) {
    const std::string path = Format("{}/cpufreq/{}/{}", kCpus, policy, file);
    const Result<std::string> text = host.root.Text(path);
    if (text.ok() && !text->empty()) {
      values.insert(*text);
    } else if (!text.ok() && text.status().code() != Code::kNotFound) {
      gaps.Add(path, text.status());
      break;  // The others have the same permissions.
    }
  }
  return {values.begin(), values.end()};
}

// intel_pstate has the opposite file.
std::optional<bool> Boost(const Host& host) {
  const auto boost = host.root.Number<std::uint32_t>(Format("{}/cpufreq/boost", kCpus));
  if (boost.ok()) return *boost != 0;
  const auto none = host.root.Number<std::uint32_t>(Format("{}/intel_pstate/no_turbo", kCpus));
  return none.ok() ? std::optional(*none == 0) : std::nullopt;
}

// A machine without frequency scaling, such as a guest, does not have the directory.
void ReadFrequency(const Host& host, const Gaps& gaps, v1::CpuPower& power) {
  const std::string directory = Format("{}/cpufreq", kCpus);
  const Result<Dir> dir = host.root.Sub(directory);
  const auto names = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
  if (!names.ok()) {
    if (names.status().code() != Code::kNotFound) gaps.Add(directory, names.status());
    return;
  }
  std::vector<std::string> policies;
  for (const std::string& name : *names)
    if (name.starts_with("policy") && IsPlainName(name)) policies.push_back(name);
  for (const std::string& governor : PolicyValues(host, policies, "scaling_governor", gaps))
    power.add_governors(governor);
  for (const std::string& preference :
       PolicyValues(host, policies, "energy_performance_preference", gaps))
    power.add_energy_preferences(preference);
  if (!policies.empty())
    if (auto driver =
            host.root.Text(Format("{}/cpufreq/{}/scaling_driver", kCpus, policies.front()));
        driver.ok() && !driver->empty())
      power.set_frequency_driver(*std::move(driver));
  if (const auto boost = Boost(host)) power.set_boost(*boost);
}

// The first CPU of each NUMA node: settings of single CPUs are rare, and machines have hundreds.
std::vector<std::uint32_t> SampleOfCpus(const v1::NodeSnapshot& snapshot) {
  std::set<std::uint32_t> cpus;
  for (const v1::NumaNode& node : snapshot.host().numa_cpus())
    if (const auto numbers = NumbersOfList(node.cpus()); numbers.ok() && !numbers->empty())
      cpus.insert(numbers->front());
  if (cpus.empty()) cpus.insert(0);
  return {cpus.begin(), cpus.end()};
}

v1::IdleState* FindState(v1::CpuPower& power, const std::string& name) {
  for (v1::IdleState& state : *power.mutable_idle_states())
    if (state.name() == name) return &state;
  return nullptr;
}

// state0, state1 ... in the order of depth.
void ReadIdleOf(const Host& host, const Gaps& gaps, std::uint32_t cpu, v1::CpuPower& power) {
  const std::string directory = Format("{}/cpu{}/cpuidle", kCpus, cpu);
  for (std::uint32_t number = 0;; ++number) {
    const std::string path = Format("{}/state{}", directory, number);
    const Result<std::string> name = host.root.Text(path + "/name");
    if (!name.ok() || name->empty()) {
      if (!name.ok() && name.status().code() != Code::kNotFound)
        gaps.Add(path + "/name", name.status());
      return;
    }
    v1::IdleState* state = FindState(power, *name);
    if (state == nullptr) {
      state = power.add_idle_states();
      state->set_name(*name);
    }
    if (const auto us = host.root.Number<std::uint32_t>(path + "/latency"); us.ok())
      state->set_exit_latency_us(*us);
    if (const auto off = host.root.Number<std::uint32_t>(path + "/disable"); off.ok())
      state->set_enabled(state->enabled() || *off == 0);
  }
}

void ReadIdle(const Host& host, const Gaps& gaps, const v1::NodeSnapshot& snapshot,
              v1::CpuPower& power) {
  if (auto driver = host.root.Text(Format("{}/cpuidle/current_driver", kCpus));
      driver.ok() && *driver != "none" && !driver->empty())
    power.set_idle_driver(*std::move(driver));
  for (const std::uint32_t cpu : SampleOfCpus(snapshot)) ReadIdleOf(host, gaps, cpu, power);
  for (const v1::IdleState& state : power.idle_states())
    if (state.enabled() && state.has_exit_latency_us())
      power.set_idle_latency_us(std::max(power.idle_latency_us(), state.exit_latency_us()));
}

Status InspectCpuPower(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kCpuPowerName, .subject = ""};
  v1::CpuPower power;
  ReadFrequency(host, gaps, power);
  ReadIdle(host, gaps, out, power);
  if (const auto online = host.root.Text(Format("{}/online", kCpus)); online.ok())
    if (const auto count = CountOfList(*online); count.ok()) power.set_cpus_online(*count);
  if (power.ByteSizeLong() > 0) *out.mutable_host()->mutable_cpu_power() = std::move(power);
  return {};
}

}  // namespace

extern const Inspector cpu_power = {
    .name = kCpuPowerName,
    .doc = "Frequency governors, boost and idle states of the CPUs.",
    .inspect = InspectCpuPower,
    .wakes = EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kHostFieldNumber},
};

}  // namespace fabric::inspect
