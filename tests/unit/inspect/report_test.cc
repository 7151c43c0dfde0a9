// No section of the report says "none" of what could not be read.
#include "agents/inspect/report/report.h"

#include <gmock/gmock.h>

#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The line below a section's title.
std::string FirstLineOf(const std::string& report, const std::string& title) {
  const std::size_t at = report.find("\n" + title + "\n");
  if (at == std::string::npos) return "no section " + title;
  const std::size_t begin = at + title.size() + 2;
  return report.substr(begin, report.find('\n', begin) - begin);
}

TEST(Report, OfAnEmptyTreeKnowsNothing) {
  SmallNode node;
  node.Remove("sys").Remove("proc").Remove("etc");
  const std::string report = Report(node.Inspected());
  const char* const kSections[] = {
      "RDMA devices",      "Functions",      "RDMA ports",      "GIDs",        "Netdevs",
      "Lossless settings", "GPUs",           "GPU to NIC",      "PCI Express", "GPUDirect",
      "Sysctls",           "Kernel modules", "LLDP neighbours", "Kernel log"};
  for (const char* section : kSections)
    EXPECT_THAT(FirstLineOf(report, section), HasSubstr("unknown: ")) << section;
  EXPECT_EQ(FirstLineOf(report, "Host"), "  RDMA STACK  loaded kernel modules unknown");
  EXPECT_THAT(report, Not(HasSubstr("--lldp-wait")));
}

TEST(Report, OfANodeWithoutRdmaSaysNone) {
  SmallNode node;
  node.Remove("sys/class/infiniband").Remove(kCard + "/infiniband");
  node.File("dmesg", "").File("proc/sys/net/ipv4/tcp_ecn", "2\n");
  const std::string report = Report(node.Inspected());
  EXPECT_EQ(FirstLineOf(report, "RDMA devices"), "  none");
  EXPECT_EQ(FirstLineOf(report, "Lossless settings"), "  no RDMA over Ethernet");
  EXPECT_EQ(FirstLineOf(report, "GPUs"), "  none");
  EXPECT_EQ(FirstLineOf(report, "LLDP neighbours"),
            "  not listened for: no netdev of RDMA over Ethernet");
  EXPECT_EQ(FirstLineOf(report, "Kernel log"), "  nothing of RDMA, NICs, GPUs, PCIe or IOMMU");
}

TEST(Report, OfDevicesWithoutPortsDoesNotKnowWhatTheyCarry) {
  SmallNode node;
  node.Remove(kCard + "/infiniband/mlx5_0/ports");
  const std::string report = Report(node.Inspected());
  EXPECT_EQ(FirstLineOf(report, "RDMA ports"), "  unknown: no port was read");
  EXPECT_EQ(FirstLineOf(report, "Lossless settings"), "  unknown: no port of mlx5_0 was read");
}

TEST(Report, OfTheLiveMachineInvitesToListen) {
  SmallNode node;
  node.fake.lldp.status = Status();
  const std::string report = Report(node.Inspected());
  EXPECT_THAT(FirstLineOf(report, "LLDP neighbours"), HasSubstr("--lldp-wait 35"));
}

TEST(Report, LeavesOutWhatIsNotKnownOfTheHost) {
  const std::string report = Report(SmallNode().Inspected());
  EXPECT_THAT(report, Not(HasSubstr("CGROUP RDMA")));
  EXPECT_THAT(report, Not(HasSubstr("HUGEPAGES")));
}

}  // namespace
}  // namespace fabric::inspect
