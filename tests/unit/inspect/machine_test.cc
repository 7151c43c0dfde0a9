// Inspectors cpu_power, interrupts, sensors and ipoib; BIOS and NUMA nodes of host_facts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/inspect/parse/host_texts.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kCpu = "sys/devices/system/cpu";
const std::string kNuma = "sys/devices/system/node";

TEST(NumberList, TakesRangesInOrderOnly) {
  EXPECT_THAT(*NumbersOfList("0-2,8\n"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(*NumbersOfList(""), IsEmpty());
  for (const char* text : {"3-1", "a", "0-", "5,4", "0-3,2", "70000", "1,,2", "-1"})
    EXPECT_FALSE(NumbersOfList(text).ok()) << text;
  EXPECT_EQ(ListOfNumbers({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(ListOfNumbers({}), "");
}

TEST(CpuPower, ReadsGovernorsAndIdleStates) {
  SmallNode node;
  node.File(kCpu + "/cpufreq/policy0/scaling_governor", "performance\n")
      .File(kCpu + "/cpufreq/policy0/scaling_driver", "acpi-cpufreq\n")
      .File(kCpu + "/cpufreq/policy1/scaling_governor", "schedutil\n")
      .File(kCpu + "/cpufreq/policy2/scaling_governor", "performance\n")
      .File(kCpu + "/cpufreq/boost", "1\n")
      .File(kCpu + "/online", "0-3\n")
      .File(kCpu + "/cpuidle/current_driver", "acpi_idle\n")
      .File(kNuma + "/online", "0-1\n")
      .File(kNuma + "/node0/cpulist", "0-1\n")
      .File(kNuma + "/node1/cpulist", "2-3\n");
  for (const std::string cpu : {"cpu0", "cpu2"}) {
    const std::string states = kCpu + "/" + cpu + "/cpuidle/state";
    node.File(states + "0/name", "POLL\n").File(states + "0/latency", "0\n");
    node.File(states + "0/disable", "0\n");
    node.File(states + "1/name", "C1\n").File(states + "1/latency", "2\n");
    node.File(states + "1/disable", "0\n");
    node.File(states + "2/name", "C6\n").File(states + "2/latency", "133\n");
    node.File(states + "2/disable", "1\n");
  }
  v1::CpuPower power = node.Inspected().host().cpu_power();
  EXPECT_THAT(power.governors(), ElementsAre("performance", "schedutil"));
  EXPECT_EQ(power.frequency_driver(), "acpi-cpufreq");
  EXPECT_TRUE(power.boost());
  EXPECT_EQ(power.cpus_online(), 4U);
  EXPECT_EQ(power.idle_driver(), "acpi_idle");
  ASSERT_EQ(power.idle_states_size(), 3);
  EXPECT_FALSE(power.idle_states(2).enabled());
  EXPECT_EQ(power.idle_latency_us(), 2U);
  node.File(kCpu + "/cpu2/cpuidle/state2/disable", "0\n");
  EXPECT_EQ(node.Inspected().host().cpu_power().idle_latency_us(), 133U)
      << "enabled on the other NUMA node";
}

TEST(CpuPower, AMachineWithoutScalingHasNoneAndNoGap) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.host().has_cpu_power());
  EXPECT_THAT(GapsOf(snapshot, "cpu_power"), IsEmpty());
}

TEST(HostFacts, ReadBiosAndNumaNodes) {
  SmallNode node;
  node.File("sys/class/dmi/id/bios_vendor", "American Megatrends\n")
      .File("sys/class/dmi/id/bios_version", "2.1.5\n")
      .File("sys/class/dmi/id/bios_date", "03/14/2024\n")
      .File("sys/class/dmi/id/board_name", "H13DSG\n")
      .File(kNuma + "/online", "0-1\n")
      .File(kNuma + "/node0/cpulist", "0-1\n")
      .File(kNuma + "/node1/cpulist", "\n");
  const v1::HostFacts host = node.Inspected().host();
  EXPECT_EQ(host.bios_vendor(), "American Megatrends");
  EXPECT_EQ(host.bios_version(), "2.1.5");
  EXPECT_EQ(host.bios_date(), "03/14/2024");
  EXPECT_EQ(host.board(), "H13DSG");
  ASSERT_EQ(host.numa_cpus_size(), 2);
  EXPECT_EQ(host.numa_cpus(0).cpus(), "0-1");
  EXPECT_EQ(host.numa_cpus(1).cpus(), "") << "memory only";
  EXPECT_FALSE(host.has_irqbalance_running()) << "unknown without control groups";
}

TEST(HostFacts, SeeIrqbalanceByItsControlGroup) {
  SmallNode node;
  node.File("sys/fs/cgroup/system.slice/cgroup.procs", "");
  EXPECT_FALSE(node.Inspected().host().irqbalance_running());
  EXPECT_TRUE(node.Inspected().host().has_irqbalance_running());
  node.File("sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs", "812\n");
  EXPECT_TRUE(node.Inspected().host().irqbalance_running());
}

void AddInterrupts(SmallNode& node) {
  node.File(kNuma + "/online", "0-1\n")
      .File(kNuma + "/node0/cpulist", "0-1\n")
      .File(kNuma + "/node1/cpulist", "2-3\n");
  for (const char* const number : {"120", "121", "122", "123"})
    node.File(kCard + "/msi_irqs/" + number, "msix\n");
  node.File("proc/irq/120/effective_affinity_list", "2\n")
      .File("proc/irq/121/effective_affinity_list", "3\n")
      .File("proc/irq/122/effective_affinity_list", "0\n")
      .File("proc/irq/123/effective_affinity_list", "\n");
}

TEST(Interrupts, OnAnotherNumaNodeAreCounted) {
  SmallNode node;
  AddInterrupts(node);
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::Interrupts& interrupts = snapshot.pci_functions(0).interrupts();
  EXPECT_EQ(interrupts.count(), 3U) << "one was not requested";
  EXPECT_EQ(interrupts.cpus(), "0,2-3");
  EXPECT_THAT(interrupts.numa_nodes(), ElementsAre(0, 1));
  EXPECT_EQ(interrupts.remote(), 1U);
}

TEST(Interrupts, WithoutTheNumaNodeOfTheCardAreNotJudged) {
  SmallNode node;
  AddInterrupts(node);
  node.File(kCard + "/numa_node", "-1\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.pci_functions(0).interrupts().count(), 3U);
  EXPECT_FALSE(snapshot.pci_functions(0).interrupts().has_remote());
}

TEST(Interrupts, BadListIsAGap) {
  SmallNode node;
  AddInterrupts(node);
  node.File("proc/irq/120/effective_affinity_list", "two\n");
  EXPECT_THAT(GapsOf(node.Inspected(), "interrupts"),
              ElementsAre(HasSubstr("proc/irq/120/effective_affinity_list: INVALID_ARGUMENT")));
}

TEST(Sensors, HaveTemperaturesAndLimits) {
  SmallNode node;
  const std::string monitor = kCard + "/hwmon/hwmon5/";
  node.File(monitor + "temp1_input", "61250\n")
      .File(monitor + "temp1_label", "asic\n")
      .File(monitor + "temp1_crit", "105000\n")
      .File(monitor + "temp1_highest", "78000\n")
      .File(monitor + "temp2_input", "-3000\n")
      .File(monitor + "temp3_input", "broken\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const auto& sensors = snapshot.pci_functions(0).sensors();
  ASSERT_EQ(sensors.size(), 2);
  EXPECT_EQ(sensors[0].name(), "temp1");
  EXPECT_EQ(sensors[0].label(), "asic");
  EXPECT_DOUBLE_EQ(sensors[0].temperature_celsius(), 61.25);
  EXPECT_DOUBLE_EQ(sensors[0].critical_celsius(), 105);
  EXPECT_DOUBLE_EQ(sensors[0].highest_celsius(), 78);
  EXPECT_FALSE(sensors[0].has_max_celsius());
  EXPECT_DOUBLE_EQ(sensors[1].temperature_celsius(), -3);
  EXPECT_THAT(GapsOf(snapshot, "sensors"),
              ElementsAre(HasSubstr("hwmon/hwmon5/temp3_input: INVALID_ARGUMENT")));
}

TEST(Sensors, ACardWithoutHasNoneAndNoGap) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_TRUE(snapshot.pci_functions(0).sensors().empty());
  EXPECT_THAT(GapsOf(snapshot, "sensors"), IsEmpty());
}

TEST(Ipoib, HasModeAndPartition) {
  SmallNode node;
  node.File(kNetdev + "/type", "32\n")
      .File(kNetdev + "/mode", "datagram\n")
      .File(kNetdev + "/pkey", "0xffff\n");
  v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.net_interfaces(0).ipoib_mode(), "datagram");
  EXPECT_EQ(snapshot.net_interfaces(0).ipoib_pkey(), 0xffffU);
  node.File(kNetdev + "/mode", "fast\n").File(kNetdev + "/pkey", "0x12345\n");
  snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).has_ipoib_mode());
  EXPECT_FALSE(snapshot.net_interfaces(0).has_ipoib_pkey());
  EXPECT_THAT(GapsOf(snapshot, "ipoib"), ::testing::SizeIs(2));
}

}  // namespace
}  // namespace fabric::inspect
