// Lines of the kernel log about faults that are over, about devices that are not of the fabric, and
// about devices that the line names without a PCI domain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Logged;
using testing::Nodes;
using testing::RoceNode;

constexpr const char* kFailed = "mlx5_core 0000:18:00.0: poll_health: Fatal error 1 detected";
constexpr const char* kRecovered =
    "mlx5_core 0000:18:00.0: mlx5_health_try_recover:351:(pid 9): health recovery succeeded";

void LaterBy(v1::KernelLogLine& line, std::int64_t seconds) {
  line.mutable_last_at()->set_seconds(line.last_at().seconds() + seconds);
}

TEST(LogRecovery, AFaultThatIsOverIsAWarningWithoutAReset) {
  auto nodes = Nodes(1, RoceNode);
  LaterBy(Logged(nodes[0], "mlx5", kFailed, 1), -60);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_CRITICAL);
  LaterBy(Logged(nodes[0], "mlx5", kRecovered, 1), -30);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "log_firmware_healthy");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_WARNING);
  EXPECT_THAT(finding.title(), HasSubstr("mlx5_1 (0000:18:00.0); it has recovered since"));
  EXPECT_EQ(finding.evidence(1).seen(), kRecovered);
  for (const v1::Remedy& remedy : finding.remedies()) EXPECT_EQ(remedy.command(), "");
}

TEST(LogRecovery, AnEarlierRecoveryOrThatOfAnotherCardDoesNotCount) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "mlx5", kFailed, 1);
  v1::KernelLogLine& recovery = Logged(nodes[0], "mlx5", kRecovered, 1);
  LaterBy(recovery, -30);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_CRITICAL);
  LaterBy(recovery, 60);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_WARNING);
  recovery.set_pci_address("0000:17:00.0");
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_CRITICAL);
}

TEST(LogRecovery, OrderCountsForALineWithoutATimeThatOccurredOnce) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].set_captured(true);
  Logged(nodes[0], "mlx5", kFailed, 1).clear_last_at();
  Logged(nodes[0], "mlx5", kRecovered, 1).clear_last_at();
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_WARNING);
  nodes[0].mutable_kernel_log(0)->set_count(2);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_CRITICAL) << "it may have come back";
}

TEST(LogRecovery, EvidenceHasTheTimeOfTheLastLine) {
  auto nodes = Nodes(1, RoceNode);
  v1::KernelLogLine& line = Logged(nodes[0], "mlx5", kFailed, 1);
  line.set_count(3);
  EXPECT_THAT(TheFailure(nodes).evidence(0).what(), HasSubstr("kernel log, 3 times, last at 20"));
}

// A module of another build, loaded by the GPU operator after the RDMA stack.
TEST(LogRecovery, ARefusedModuleThatIsLoadedNowIsNoFault) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "peermem", "nvidia_peermem: Unknown symbol ib_register_peer_memory_client")
      .clear_pci_address();
  nodes[0].mutable_host()->add_modules()->set_name("nvidia_peermem");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(LogRecovery, ACardInSafeModeHasNoDevice) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "ice",
         "ice 0000:18:00.0: The DDP package file was not found or could not be read. Entering Safe "
         "Mode",
         1);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the driver was loaded again";
  nodes[0].mutable_rdma_devices(1)->set_pci_address("0000:19:00.0");
  EXPECT_THAT(Failures(nodes), Contains("log_nic_starts_completely n1"));
}

// log_gpu_libraries_fit

v1::KernelLogLine& RefusedLibrary(v1::NodeSnapshot& node) {
  v1::KernelLogLine& line =
      Logged(node, "nvidia", "NVRM: API mismatch: the client has the version 570.86.15, but");
  line.clear_pci_address();
  return line;
}

TEST(LogRecovery, ALibraryOfOneContainerIsNoFaultOfTheNode) {
  auto nodes = Nodes(1, RoceNode);
  v1::KernelLogLine& line = RefusedLibrary(nodes[0]);
  EXPECT_THAT(Failures(nodes), ElementsAre("log_gpu_libraries_fit n1"));
  LaterBy(line, -2 * 3600);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), Contains("log_gpu_libraries_fit n1"));
  LaterBy(line, 2 * 3600);
  nodes[0].mutable_peer_memory()->mutable_gpu_driver()->set_nvml_version("12.550.54.15");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), Contains("log_gpu_libraries_fit n1"));
}

TEST(LogRecovery, AModuleThatWasLoadedAgainInTheVersionOfTheLibraryFits) {
  auto nodes = Nodes(1, RoceNode);
  RefusedLibrary(nodes[0]);
  nodes[0].mutable_peer_memory()->mutable_gpu_driver()->set_version("570.86.15");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ::testing::Not(Contains("log_gpu_libraries_fit n1")));
}

// Places

constexpr const char* kDmaFault =
    "DMAR: [DMA Read NO_PASID] Request device [18:00.0] fault addr 0xfffe0000 [fault reason 0x06] "
    "PTE Read access is not set";

TEST(LogPlace, AnAddressWithoutDomainNamesTheOnlyFunctionThere) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "iommu", kDmaFault).clear_pci_address();
  EXPECT_THAT(Failures(nodes), ElementsAre("log_no_iommu_faults n1/mlx5_1"));
  *nodes[0].add_pci_functions() = testing::FunctionAt(nodes[0], "0000:18:00.0");
  nodes[0].mutable_pci_functions()->rbegin()->set_address("0001:18:00.0");
  EXPECT_THAT(Failures(nodes), Contains("log_no_iommu_faults n1")) << "which of the two";
}

TEST(LogPlace, ADiskIsNotOfTheFabric) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "iommu",
         "DMAR: [DMA Read NO_PASID] Request device [00:1f.2] fault addr 0xfffe0000")
      .clear_pci_address();
  Logged(nodes[0], "pcie", "nvme 0000:c5:00.0: AER: device recovery failed")
      .set_pci_address("0000:c5:00.0");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("log_no_iommu_faults n1", "log_no_pcie_faults n1"));
}

TEST(LogPlace, ACardThatHasLeftTheBusIsOfTheFabric) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "pcie", "mlx5_core 0000:c5:00.0: AER: device recovery failed")
      .set_pci_address("0000:c5:00.0");
  EXPECT_THAT(Failures(nodes), ElementsAre("log_no_pcie_faults n1"));
}

// Errors that are not fatal

constexpr const char* kNonfatal =
    "mlx5_core 0000:18:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction "
    "Layer, (Requester ID)";

TEST(LogNonfatal, LostDataIsAWarning) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "pcie", kNonfatal, 1);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_WARNING);
  v1::KernelLogLine& kind =
      Logged(nodes[0], "pcie", "mlx5_core 0000:18:00.0:    [14] CmpltTO                (First)", 1);
  EXPECT_THAT(Failures(nodes), ElementsAre("log_no_pcie_faults n1/mlx5_1"));
  kind.set_text("mlx5_core 0000:18:00.0:    [20] UnsupReq               (First)");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(LogNonfatal, IsNotReportedBesideAFatalErrorOrAFailedGpu) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "pcie", kNonfatal, 1);
  v1::KernelLogLine& other =
      Logged(nodes[0], "pcie", "mlx5_core 0000:18:00.0: AER: device recovery failed", 1);
  EXPECT_EQ(TheFailure(nodes).severity(), v1::SEVERITY_ERROR);
  other.set_category("xid");
  other.set_text("NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.");
  EXPECT_EQ(TheFailure(nodes).rule(), "log_gpu_reachable");
}

// Lines about programs

TEST(LogHost, LimitsOfJobsAndFaultsOfProgramsAreNotOfTheHost) {
  auto nodes = Nodes(1, RoceNode);
  for (const char* text :
       {"Memory cgroup out of memory: Killed process 4242 (python3) total-vm:1kB",
        "traps: python3[4242] general protection fault ip:7f12 sp:7ffd error:0 in libc.so.6"})
    Logged(nodes[0], "host", text).clear_pci_address();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
