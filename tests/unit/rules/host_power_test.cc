// Power management, firmware and interrupts of the host: cpu_governor_equal, cpu_governor_fast,
// cpu_idle_latency_equal, cpu_idle_latency_within_limit, bios_version_equal, copy_on_fork_on,
// interrupts_near_card
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Node = v1::NodeSnapshot;

void AddNumaNode(Node& node, std::uint32_t id, const std::string& cpus) {
  v1::NumaNode& numa = *node.mutable_host()->add_numa_cpus();
  numa.set_id(id);
  numa.set_cpus(cpus);
}

void SetInterrupts(Node& node, std::uint32_t rail, std::uint32_t count, std::uint32_t remote) {
  v1::PciFunction& function = testing::FunctionOfRail(node, rail);
  function.set_numa_node(1);
  v1::Interrupts& interrupts = *function.mutable_interrupts();
  interrupts.set_count(count);
  interrupts.set_remote(remote);
  interrupts.set_cpus("0-15");
  interrupts.add_numa_nodes(0);
}

// Two sockets, with the frequency driver and idle states that most servers have.
std::vector<Node> Servers() {
  auto nodes = testing::Nodes(3, testing::RoceNode);
  for (Node& node : nodes) {
    v1::HostFacts& host = *node.mutable_host();
    host.set_numa_nodes(2);
    AddNumaNode(node, 0, "0-15,32-47");
    AddNumaNode(node, 1, "16-31,48-63");
    host.set_bios_version("2.1.5");
    host.set_bios_date("03/14/2024");
    host.set_copy_on_fork(true);
    v1::CpuPower& power = *host.mutable_cpu_power();
    power.add_governors("powersave");
    power.set_frequency_driver("intel_pstate");
    v1::IdleState& state = *power.add_idle_states();
    state.set_name("C6");
    state.set_exit_latency_us(133);
    state.set_enabled(true);
    power.set_idle_latency_us(133);
    for (std::uint32_t rail = 0; rail < 2; ++rail) SetInterrupts(node, rail, 32, 1);
  }
  return nodes;
}

v1::CpuPower& PowerOf(Node& node) {
  return *node.mutable_host()->mutable_cpu_power();
}

TEST(HostPower, HealthyServersPass) {
  EXPECT_THAT(Failures(Servers()), IsEmpty());
  EXPECT_THAT(Unknowns(Servers()), IsEmpty());
}

struct PowerFault {
  const char* rule;
  void (*plant)(Node&);
  const char* title;
};

constexpr PowerFault kPowerFaults[] = {
    {"cpu_governor_equal", [](Node& n) { PowerOf(n).set_governors(0, "performance"); },
     "CPU frequency governor performance, expected powersave (2 of 3 nodes with Maker M1)"},
    {"cpu_governor_fast", [](Node& n) { PowerOf(n).set_frequency_driver("acpi-cpufreq"); },
     "CPU frequency governor powersave of acpi-cpufreq, expected one that scales: all CPUs stay at "
     "the lowest frequency"},
    {"cpu_idle_latency_equal", [](Node& n) { PowerOf(n).set_idle_latency_us(2); },
     "exit latency of the deepest idle state 2 us, expected 133 us (2 of 3 nodes with Maker M1)"},
    {"bios_version_equal", [](Node& n) { n.mutable_host()->set_bios_version("1.9.0"); },
     "BIOS version 1.9.0, expected 2.1.5 (2 of 3 nodes with Maker M1)"},
    {"copy_on_fork_on", [](Node& n) { n.mutable_host()->set_copy_on_fork(false); },
     "copy on fork of registered memory is off, expected on"},
    {"interrupts_near_card", [](Node& n) { SetInterrupts(n, 0, 32, 32); },
     "interrupts of mlx5_0 handled by another NUMA node: 32 of 32 on NUMA nodes 0, 0 (CPUs 0-15), "
     "expected on NUMA node 1"},
};

TEST(HostPower, OneNodeThatDiffersIsOneFinding) {
  for (const PowerFault& fault : kPowerFaults) {
    auto nodes = Servers();
    for (Node& node : nodes) node.mutable_host()->set_product("Maker M1");
    fault.plant(nodes[1]);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), fault.rule);
    EXPECT_EQ(finding.title(), fault.title);
    EXPECT_EQ(finding.subject().node(), "n2");
    EXPECT_GT(finding.remedies_size(), 0);
  }
}

TEST(HostPower, ProfileDecides) {
  v1::Expectations expect;
  expect.set_cpu_governor("performance");
  expect.set_idle_latency_max_us(50);
  expect.set_bios_version("2.2.0");
  EXPECT_THAT(Failures({Servers()[0]}, Expecting(expect)),
              ElementsAre("bios_version_equal n1", "cpu_governor_equal n1",
                          "cpu_idle_latency_within_limit n1"));
  auto unread = Servers();
  unread[0].mutable_host()->clear_cpu_power();
  unread[0].mutable_host()->clear_bios_version();
  EXPECT_THAT(Unknowns({unread[0]}, Expecting(expect)),
              ElementsAre("bios_version_equal n1", "cpu_governor_equal n1",
                          "cpu_idle_latency_within_limit n1"));
}

TEST(Interrupts, MoreThanTheNodeHasCpusAreOnNeighborsByDesign) {
  auto nodes = Servers();
  nodes[0].mutable_host()->mutable_numa_cpus(1)->set_cpus("16-19");
  SetInterrupts(nodes[0], 0, 32, 28);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  SetInterrupts(nodes[0], 0, 32, 32);
  EXPECT_EQ(TheFailure(nodes).rule(), "interrupts_near_card");
}

TEST(Interrupts, RemedyNamesIrqbalance) {
  auto nodes = Servers();
  SetInterrupts(nodes[0], 0, 32, 20);
  nodes[0].mutable_host()->set_irqbalance_running(true);
  EXPECT_THAT(TheFailure(nodes).remedies(0).note(), HasSubstr("irqbalance runs"));
}

}  // namespace
}  // namespace fabric::rules
