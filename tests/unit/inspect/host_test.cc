// The inspectors host_facts, host_limits, rdma_stack and time_sync.
#include <gmock/gmock.h>

#include "agents/inspect/parse/host_texts.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(OsRelease, QuotesAndEscapesAreThoseOfAShell) {
  auto values = ParseOsRelease(
      "# comment\nNAME=\"Ubuntu\"\nID=ubuntu\nPRETTY_NAME='A \\B'\nHOME=\"a\\$b\"\n\nbad line\n");
  EXPECT_EQ(values["NAME"], "Ubuntu");
  EXPECT_EQ(values["ID"], "ubuntu");
  EXPECT_EQ(values["PRETTY_NAME"], "A \\B");
  EXPECT_EQ(values["HOME"], "a$b");
  EXPECT_EQ(values.size(), 4u);
}

TEST(ProcModules, SayWhoUsesAModuleAndItsTaints) {
  const auto modules = ParseProcModules(
      "mlx5_ib 512000 0 - Live 0x0000000000000000 (OE)\n"
      "ib_core 430080 3 mlx5_ib,ib_uverbs, Live 0xffffffffc0000000\n"
      "xt_hl 16384 1 - Live 0x0\n\nnot a line\n");
  ASSERT_EQ(modules.size(), 3u);
  EXPECT_EQ(modules[0].flags, "OE");
  EXPECT_THAT(modules[0].used_by, IsEmpty());
  EXPECT_THAT(modules[1].used_by, ElementsAre("mlx5_ib", "ib_uverbs"));
  EXPECT_EQ(modules[1].flags, "");
}

struct LimitCase {
  const char* text;
  const char* expected;  // "soft hard" in bytes, "-" for no such limit
};

std::string Spelled(const std::optional<v1::MemoryLimit>& limit) {
  if (!limit) return "absent";
  if (limit->unlimited()) return "unlimited";
  const auto side = [](bool has, std::uint64_t bytes) {
    return has ? Format("{}", bytes) : std::string("-");
  };
  return side(limit->has_soft_bytes(), limit->soft_bytes()) + " " +
         side(limit->has_hard_bytes(), limit->hard_bytes());
}

TEST(LimitsConf, OnlyTheLinesForEverybodyCount) {
  constexpr LimitCase kCases[] = {
      {"* soft memlock unlimited\n* hard memlock unlimited\n", "unlimited"},
      {"*\t-\tmemlock\t-1 # all\n", "unlimited"},
      {"* soft memlock 64\n* hard memlock infinity\n", "65536 -"},
      {"* hard memlock 128\n", "- 131072"},
      {"* - memlock 64\n* - memlock 128\n", "131072 131072"},
      {"root - memlock unlimited\n@rdma - memlock unlimited\n", "absent"},
      {"#* - memlock unlimited\n", "absent"},
      {"* - nofile 65536\n", "absent"},
      {"* - memlock many\n", "absent"},
      {"* - memlock 18446744073709551615\n", "absent"},
      {"", "absent"},
  };
  for (const LimitCase& test : kCases) {
    std::optional<v1::MemoryLimit> limit;
    ApplyLimitsConf(test.text, "etc/security/limits.conf", limit);
    EXPECT_EQ(Spelled(limit), test.expected) << test.text;
  }
}

TEST(LimitsConf, ALaterFileReplacesTheSideThatItSets) {
  std::optional<v1::MemoryLimit> limit;
  ApplyLimitsConf("* - memlock unlimited\n", "a", limit);
  ApplyLimitsConf("* soft memlock 64\n", "b", limit);
  EXPECT_EQ(Spelled(limit), "65536 -");
  EXPECT_EQ(limit->source(), "b");
  ApplyLimitsConf("nothing here\n", "c", limit);
  EXPECT_EQ(limit->source(), "b");
}

TEST(SystemdConf, SaysTheDefaultLimitOfServices) {
  constexpr LimitCase kCases[] = {
      {"[Manager]\nDefaultLimitMEMLOCK=infinity\n", "unlimited"},
      {"[Manager]\nDefaultLimitMEMLOCK=64M\n", "67108864 67108864"},
      {"[Manager]\nDefaultLimitMEMLOCK = 8M:infinity\n", "8388608 -"},
      {"[Manager]\n#DefaultLimitMEMLOCK=8M\n", "8388608 8388608"},
      {"[Manager]\n#DefaultLimitMEMLOCK=8M\nDefaultLimitMEMLOCK=1G\n", "1073741824 1073741824"},
      {"[Manager]\n#DefaultLimitMEMLOCK=\n", "absent"},
      {"DefaultLimitMEMLOCK=64M\n", "absent"},
      {"[Other]\nDefaultLimitMEMLOCK=64M\n", "absent"},
      {"[Manager]\nDefaultLimitMEMLOCK=8M:\n", "absent"},
  };
  for (const LimitCase& test : kCases) {
    std::optional<v1::MemoryLimit> limit;
    ApplySystemdConf(test.text, "etc/systemd/system.conf", true, limit);
    EXPECT_EQ(Spelled(limit), test.expected) << test.text;
  }
}

TEST(ProcLimits, AreInBytes) {
  const std::string head = "Limit                     Soft Limit           Hard Limit  Units\n";
  EXPECT_EQ(Spelled(*ParseProcLimits(head + "Max locked memory   8388608   unlimited  bytes\n")),
            "8388608 -");
  EXPECT_EQ(Spelled(*ParseProcLimits("Max locked memory  unlimited  unlimited  bytes\n")),
            "unlimited");
  EXPECT_EQ(ParseProcLimits(head).status().code(), Code::kInvalidArgument);
}

TEST(OfedInfo, IsAScriptThatHoldsItsAnswer) {
  EXPECT_EQ(VersionOfOfedInfo("#!/bin/bash\nif [ \"X$1\" == \"X-s\" ]; then echo "
                              "MLNX_OFED_LINUX-23.10-1.1.9.0:; exit 0; fi\n"),
            "MLNX_OFED_LINUX-23.10-1.1.9.0");
  EXPECT_EQ(VersionOfOfedInfo("cat << EOF\nOFED-internal-24.10-0.7.0:\n"),
            "OFED-internal-24.10-0.7.0");
  EXPECT_EQ(VersionOfOfedInfo("MLNX_OFED_LINUX-4.5-1.0.1.0 (OFED-4.5-1.0.1):\n"),
            "MLNX_OFED_LINUX-4.5-1.0.1.0");
  EXPECT_EQ(VersionOfOfedInfo("# OFED information\nusage: ofed_info [-s]\n"), "");
}

TEST(CgroupPath, OfBothVersions) {
  constexpr std::string_view kText = "12:rdma:/\n4:devices:/system.slice/a\n0::/system.slice/b\n";
  EXPECT_EQ(CgroupPath(kText, ""), "/system.slice/b");
  EXPECT_EQ(CgroupPath(kText, "devices"), "/system.slice/a");
  EXPECT_EQ(CgroupPath(kText, "memory"), std::nullopt);
  EXPECT_EQ(CgroupPath("0::/../other\n", ""), std::nullopt) << "above our cgroup namespace";
}

TEST(HostFacts, OfAMachine) {
  SmallNode node;
  node.File("proc/version", "Linux version 6.8.0\n")
      .File("proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet iommu=pt intel_iommu=on\n")
      .File("etc/os-release", "PRETTY_NAME=\"Ubuntu 24.04 LTS\"\nID=ubuntu\nVERSION_ID=\"24.04\"\n")
      .File("proc/meminfo", "MemTotal:       2113536 kB\nMemFree: 1 kB\n")
      .File("sys/devices/system/node/online", "0-1\n")
      .File("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n")
      .File("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n")
      .File("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "12\n")
      .File("sys/kernel/iommu_groups/0/type", "identity\n")
      .File("sys/class/dmi/id/sys_vendor", "Dell Inc.\n")
      .File("sys/class/dmi/id/product_name", "PowerEdge XE9680\n")
      .File("proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::HostFacts& host = snapshot.host();
  EXPECT_EQ(host.distribution(), "Ubuntu 24.04 LTS");
  EXPECT_EQ(host.distribution_id(), "ubuntu");
  EXPECT_EQ(host.distribution_version(), "24.04");
  EXPECT_EQ(host.memory_bytes(), 2113536u * 1024u);
  EXPECT_EQ(host.numa_nodes(), 2u);
  ASSERT_EQ(host.hugepages_size(), 2);
  EXPECT_FALSE(host.hugepages(0).has_numa_node());
  EXPECT_EQ(host.hugepages(0).free(), 12u);
  EXPECT_EQ(host.hugepages(1).numa_node(), 1);
  EXPECT_EQ(host.hugepages(1).page_bytes(), 2u << 20);
  EXPECT_TRUE(host.iommu_present());
  EXPECT_EQ(host.iommu_default_type(), "identity");
  EXPECT_EQ(host.product(), "Dell Inc. PowerEdge XE9680");
  EXPECT_EQ(host.virtualization(), "none");
  EXPECT_THAT(GapsOf(snapshot, "host_facts"), IsEmpty());
}

TEST(HostFacts, OfAnEmptyTreeAreGapsByName) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  const auto gaps = GapsOf(snapshot, "host_facts");
  for (const char* path : {"proc/version", "proc/cmdline", "etc/os-release", "proc/meminfo",
                           "sys/devices/system/node", "sys/class/iommu", "proc/cpuinfo"})
    EXPECT_THAT(gaps, Contains(HasSubstr(path)));
  EXPECT_FALSE(snapshot.host().has_iommu_present());
  EXPECT_FALSE(snapshot.host().has_virtualization());
}

TEST(CpuModel, IsTheNameOfX86OrThePartOfArm) {
  struct Case {
    const char* cpuinfo;
    const char* model;  // Empty: absent
  };
  constexpr Case kCases[] = {
      {"processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\n",
       "AMD EPYC 9654 96-Core Processor"},
      {"processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
       "CPU part\t: 0xd4f\nCPU revision\t: 0\n",
       "Neoverse-V2"},
      {"CPU implementer\t: 0xc0\nCPU part\t: 0xac3\n", "Ampere-1"},
      {"CPU implementer\t: 0x41\nCPU part\t: 0xfff\n", ""},
      {"CPU implementer\t: 65\nCPU part\t: 3407\n", ""},
      {"CPU implementer\t: 0x41\n", ""},
      {"model name\t: a\x01b\n", ""},
      {"", ""},
  };
  for (const Case& each : kCases) EXPECT_EQ(CpuModel(each.cpuinfo).value_or(""), each.model);
}

TEST(HostFacts, HaveTheCpuModel) {
  SmallNode node;
  node.File("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n");
  EXPECT_EQ(node.Inspected().host().cpu_model(), "Neoverse-V2");
  node.File("proc/cpuinfo", "processor\t: 0\n");
  EXPECT_FALSE(node.Inspected().host().has_cpu_model());
}

TEST(HostFacts, AVirtualMachineIsNamedByItsMaker) {
  SmallNode node;
  node.File("proc/cpuinfo", "flags : fpu hypervisor\n");
  EXPECT_EQ(node.Inspected().host().virtualization(), "vm-other");
  node.File("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
  EXPECT_EQ(node.Inspected().host().virtualization(), "vmware");
  node.fake.platform.status = Status();  // The processor knows better.
  EXPECT_EQ(node.Inspected().host().virtualization(), "none");
}

TEST(BootTime, IsOfProcStatAndNoGapWhereThatIsNot) {
  struct Case {
    const char* stat;
    std::int64_t seconds;  // 0: absent
  };
  constexpr Case kCases[] = {
      {"cpu  1 2 3\nintr 5 0 1\nctxt 9\nbtime 1795000000\nprocesses 7\n", 1795000000},
      {"btime 1795000000", 1795000000},
      {"cpu  1 2 3\n", 0},
      {"btime \n", 0},
      {"btime 0\n", 0},
      {"btime 99999999999\n", 0},
      {"btime -5\n", 0},
      {"xbtime 5\n", 0},
      {"N/A", 0},
      {"", 0},
  };
  for (const Case& test : kCases) {
    SmallNode node;
    node.File("proc/stat", test.stat);
    const v1::NodeSnapshot snapshot = node.Inspected();
    EXPECT_EQ(snapshot.host().has_booted_at(), test.seconds != 0) << test.stat;
    EXPECT_EQ(snapshot.host().booted_at().seconds(), test.seconds) << test.stat;
    EXPECT_THAT(GapsOf(snapshot, "boot_time"), IsEmpty());
  }
  SmallNode without;
  EXPECT_FALSE(without.Inspected().host().has_booted_at());
  EXPECT_THAT(GapsOf(without.Inspected(), "boot_time"), IsEmpty());
}

TEST(RdmaStack, IsOfedWhenItsCoreIsOutOfTree) {
  SmallNode node;
  node.File("proc/modules",
            "mlx5_core 1 1 mlx5_ib, Live 0x0 (OE)\nib_core 1 1 mlx5_ib, Live 0x0 (OE)\n"
            "ext4 1 0 - Live 0x0\n")
      .File("sys/module/mlx5_core/version", "23.10-1.1.9\n")
      .File("usr/bin/ofed_info", "  echo MLNX_OFED_LINUX-23.10-1.1.9.0:; exit 0\n");
  const v1::HostFacts host = node.Inspected().host();
  EXPECT_EQ(host.rdma_stack(), v1::RDMA_STACK_OFED);
  EXPECT_EQ(host.rdma_stack_version(), "MLNX_OFED_LINUX-23.10-1.1.9.0");
  EXPECT_EQ(host.rdma_stack_reason(), "ib_core is loaded and out of tree");
  ASSERT_EQ(host.modules_size(), 2);
  EXPECT_EQ(host.modules(0).name(), "ib_core");
  EXPECT_THAT(host.modules(0).used_by(), ElementsAre("mlx5_ib"));
  EXPECT_EQ(host.modules(1).version(), "23.10-1.1.9");
  EXPECT_TRUE(host.modules(1).out_of_tree());
}

TEST(RdmaStack, AVendorsDriverOnTheKernelsCoreIsInbox) {
  SmallNode node;
  node.File("proc/modules", "irdma 1 0 - Live 0x0 (OE)\nib_core 1 1 irdma, Live 0x0\n")
      .File("usr/bin/ofed_info", "echo MLNX_OFED_LINUX-23.10-1.1.9.0:\n");
  const v1::HostFacts host = node.Inspected().host();
  EXPECT_EQ(host.rdma_stack(), v1::RDMA_STACK_INBOX);
  EXPECT_EQ(
      host.rdma_stack_reason(),
      "ib_core is the kernel's own; MLNX_OFED_LINUX-23.10-1.1.9.0 is installed but not loaded");
  EXPECT_FALSE(host.has_rdma_stack_version());
}

TEST(RdmaStack, OfATreeWithoutProcIsToldBySysModule) {
  struct Case {
    const char* path;
    const char* content;
    v1::RdmaStack expected;
  };
  constexpr Case kCases[] = {
      {"sys/module/ib_core/taint", "OE\n", v1::RDMA_STACK_OFED},
      {"sys/module/ib_core/taint", "\n", v1::RDMA_STACK_INBOX},
      {"sys/module/mlx_compat/refcnt", "9\n", v1::RDMA_STACK_OFED},
      {"sys/module/mlx5_core/version", "5.8-1.1.2\n", v1::RDMA_STACK_OFED},
      {"sys/module/mlx5_core/version", "5.0-0\n", v1::RDMA_STACK_INBOX},
      {"sys/module/ib_core/refcnt", "9\n", v1::RDMA_STACK_UNSPECIFIED},
  };
  for (const Case& test : kCases) {
    SmallNode node;
    node.Remove("proc/modules").File(test.path, test.content);
    EXPECT_EQ(node.Inspected().host().rdma_stack(), test.expected) << test.path << test.content;
  }
}

TEST(HostLimits, ADropInOfTheAdministratorHidesTheVendorsOfThatName) {
  SmallNode node;
  node.File("etc/systemd/system.conf", "[Manager]\n#DefaultLimitMEMLOCK=8M\n")
      .File("usr/lib/systemd/system.conf.d/50-rdma.conf", "[Manager]\nDefaultLimitMEMLOCK=1G\n")
      .File("etc/systemd/system.conf.d/50-rdma.conf", "[Manager]\nDefaultLimitMEMLOCK=infinity\n")
      .File("etc/security/limits.conf", "# nothing\n")
      .File("etc/security/limits.d/20-rdma.conf", "* - memlock unlimited\n")
      .File("etc/security/limits.d/readme", "* - memlock 1\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::HostFacts& host = snapshot.host();
  EXPECT_TRUE(host.default_service_memlock().unlimited());
  EXPECT_EQ(host.default_service_memlock().source(), "etc/systemd/system.conf.d/50-rdma.conf");
  EXPECT_TRUE(host.default_user_memlock().unlimited());
  EXPECT_EQ(host.default_user_memlock().source(), "etc/security/limits.d/20-rdma.conf");
  EXPECT_FALSE(host.has_agent_memlock()) << "a capture has no process that is us";
}

TEST(HostLimits, OfTheAgentAreReadOnTheLiveMachine) {
  SmallNode node;
  node.fake.platform.status = Status();
  node.File("proc/self/limits", "Max locked memory  65536  65536  bytes\n")
      .File("proc/self/cgroup", "0::/system.slice/fabric-agent.service\n")
      .File("sys/fs/cgroup/system.slice/rdma.max", "mlx5_0 hca_handle=2 hca_object=max\n");
  const v1::HostFacts host = node.Inspected().host();
  EXPECT_EQ(host.agent_memlock().soft_bytes(), 65536u);
  EXPECT_EQ(host.rdma_cgroup_limits(), "mlx5_0 hca_handle=2 hca_object=max")
      << "of the nearest cgroup that has the controller";
  EXPECT_EQ(host.device_cgroup(), "bpf");
}

TEST(HostLimits, SysctlsAreThoseOfAllAndOfRdmaNetdevs) {
  SmallNode node;
  node.File("proc/sys/net/ipv4/tcp_ecn", "2\n")
      .File("proc/sys/net/ipv4/conf/all/arp_ignore", "1\n")
      .File("proc/sys/net/ipv4/conf/eth0/arp_ignore", "2\n")
      .File("proc/sys/net/ipv4/conf/docker0/arp_ignore", "0\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  std::vector<std::string> seen;
  for (const v1::Sysctl& sysctl : snapshot.host().sysctls())
    seen.push_back(sysctl.name() + "=" + sysctl.value());
  EXPECT_THAT(seen, ElementsAre("net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.eth0.arp_ignore=2",
                                "net.ipv4.tcp_ecn=2"));
}

}  // namespace
}  // namespace fabric::inspect
