// Rules on lines of the kernel log about NICs and GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Logged;
using testing::Nodes;
using testing::RoceNode;

struct FaultCase {
  const char* category;
  const char* text;
  const char* finding;
};
constexpr FaultCase kFaultCases[] = {
    {"mlx5", "mlx5_core 0000:18:00.0: poll_health:852: device's health compromised - reached",
     "log_firmware_healthy n1/mlx5_1"},
    {"mlx5",
     "mlx5_core 0000:18:00.0: wait_func: ENABLE_HCA(0x104) timeout. Will cause a leak "
     "of a command resource",
     "log_no_command_timeouts n1/mlx5_1"},
    {"mlx5",
     "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, High "
     "Temperature",
     "log_no_overtemperature n1/mlx5_1"},
    {"mlx5", "mlx5_core 0000:18:00.0: Health issue observed, High temperature, severity(3)",
     "log_no_overtemperature n1/mlx5_1"},
    {"bnxt", "bnxt_en 0000:18:00.0 eth1: Error (timeout: 500015) msg {0x23 0x4a} len:0",
     "log_no_command_timeouts n1/mlx5_1"},
    {"iommu",
     "DMAR: [DMA Write NO_PASID] Request device [18:00.0] fault addr 0x7f0000000 [fault reason "
     "0x05] PTE Write access is not set",
     "log_no_iommu_faults n1/mlx5_1"},
    {"iommu", "mlx5_core 0000:18:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000e]",
     "log_no_iommu_faults n1/mlx5_1"},
    {"pcie",
     "mlx5_core 0000:18:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction "
     "Layer, (Requester ID)",
     "log_no_pcie_faults n1/mlx5_1"},
    {"mlx5",
     "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, One or more "
     "network ports have been powered down due to insufficient/unadvertised power on the PCIe "
     "slot. Please refer to the card's user manual for power specifications",
     "log_no_pcie_faults n1/mlx5_1"},
    {"pcie", "mlx5_core 0000:18:00.0: AER: device recovery failed", "log_no_pcie_faults n1/mlx5_1"},
    {"mlx5", "mlx5_core 0000:18:00.0: probe_one:1764:(pid 17): mlx5_init_one failed with error",
     "log_firmware_healthy n1/mlx5_1"},
    {"efa", "efa 0000:18:00.0 rdmap24s0: Wait for completion (polling) timeout",
     "log_no_command_timeouts n1/mlx5_1"},
    {"ice", "ice 0000:18:00.0 rocep24s0: HMC Error", "log_firmware_healthy n1/mlx5_1"},
    {"irdma", "irdma 0000:18:00.0 rocep24s0: critical PE Error, GLPE_CRITERR=0x0001024c",
     "log_firmware_healthy n1/mlx5_1"},
    {"bnxt", "bnxt_en 0000:18:00.0 eth1: Fatal firmware reset event, data1: 0x2, data2: 0x8000",
     "log_firmware_healthy n1/mlx5_1"},
    {"bnxt", "bnxt_en 0000:18:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0xe]=0x3",
     "log_no_command_timeouts n1/mlx5_1"},
    {"bnxt",
     "bnxt_en 0000:18:00.0 eth1: Chip temperature has gone above the critical thermal threshold!",
     "log_no_overtemperature n1/mlx5_1"},
    {"bnxt", "bnxt_en 0000:18:00.0 eth1: PCI I/O error detected", "log_no_pcie_faults n1/mlx5_1"},
    {"mlx5", "mlx5_core 0000:18:00.0: mlx5_pci_link_toggle: PCI link not ready (0x0012) after",
     "log_no_pcie_faults n1/mlx5_1"},
    {"ice", "ice 0000:18:00.0: Rebuild failed, unload and reload driver",
     "log_firmware_healthy n1/mlx5_1"},
    {"ice", "ice 0000:18:00.0 rocep24s0: critical PE Error, GLPE_CRITERR=0x00020003",
     "log_firmware_healthy n1/mlx5_1"},
    {"ice", "ice 0000:18:00.0 rocep24s0: HMC Error", "log_firmware_healthy n1/mlx5_1"},
    {"ice", "ice 0000:18:00.0 rocep24s0: CQP timed out", "log_no_command_timeouts n1/mlx5_1"},
    {"ionic", "ionic 0000:18:00.0: FW heartbeat stalled at 4512", "log_firmware_healthy n1/mlx5_1"},
    {"ionic", "ionic 0000:18:00.0: FW Down: Stopping LIFs", "log_firmware_healthy n1/mlx5_1"},
    {"ionic", "ionic 0000:18:00.0: DEVCMD IONIC_CMD_PORT_INIT (12) timeout after 5 secs",
     "log_no_command_timeouts n1/mlx5_1"},
    {"ionic", "ionic 0000:18:00.0 eth1: IONIC_CMD_Q_INIT (40) failed: TIMEOUT (-110)",
     "log_no_command_timeouts n1/mlx5_1"},
    {"hns", "hns3 0000:18:00.0: [cmd]token 14e mailbox 20 timeout.",
     "log_no_command_timeouts n1/mlx5_1"},
    {"hns", "hns3 0000:18:00.0: Reset fail!", "log_firmware_healthy n1/mlx5_1"},
    {"hns",
     "hns3 0000:18:00.0: IMP_TCM_ECC_INT_STS imp_itcm0_ecc_mbit_err found [error status=0x2]",
     "log_firmware_healthy n1/mlx5_1"},
};

TEST(KernelLog, ReportsFaultsOfDevices) {
  for (const FaultCase& one : kFaultCases) {
    SCOPED_TRACE(one.text);
    auto nodes = Nodes(1, RoceNode);
    Logged(nodes[0], one.category, one.text, 1);
    EXPECT_THAT(Failures(nodes), ElementsAre(one.finding));
  }
}

TEST(KernelLog, IgnoresWhatDriversSayOfAHealthyCard) {
  auto nodes = Nodes(1, RoceNode);
  Logged(
      nodes[0], "bnxt",
      "bnxt_en 0000:18:00.0 eth1: Chip temperature has gone below the warning thermal threshold!",
      1);
  Logged(nodes[0], "bnxt",
         "bnxt_en 0000:18:00.0 eth1: Solicited firmware reset event, data1: 0x0, data2: 0x8000", 1);
  Logged(nodes[0], "ionic", "ionic 0000:18:00.0: FW heartbeat restored at 4513", 1);
  Logged(nodes[0], "ionic", "ionic 0000:18:00.0: FW Up: LIFs restarted", 1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

// Slots that announce too little power are common on healthy machines.
TEST(KernelLog, TakesTooLittlePowerAsAFaultOfACardWithoutALinkOnly) {
  auto nodes = Nodes(2, RoceNode);
  Logged(nodes[0], "pcie",
         "mlx5_core 0000:18:00.0: Detected insufficient power on the PCIe slot (27W).", 1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::LinkDown(nodes[0], 1);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("log_no_pcie_faults n1/mlx5_1", "port_active n1/mlx5_1/1"));
}

// The GPU operator loads nvidia_peermem again and again.
TEST(KernelLog, RefusedModuleExplainsTheMissingOne) {
  auto nodes = Nodes(2, RoceNode);
  testing::UnloadPeermem(nodes[1]);
  Logged(nodes[1], "peermem",
         "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client")
      .clear_pci_address();
  std::string cause;
  std::string effect;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings) {
    if (finding.rule() == "log_modules_fit") cause = finding.id();
    if (finding.rule() == "peermem_loaded") effect = finding.explained_by();
  }
  EXPECT_FALSE(cause.empty());
  EXPECT_EQ(effect, cause);
}

TEST(KernelLog, ReportsXidsThatAffectRdma) {
  auto nodes = Nodes(1, RoceNode);
  v1::KernelLogLine& line = Logged(
      nodes[0], "xid", "NVRM: Xid (PCI:0000:1b:00): 94, pid=8813, name=python3, Contained: SM");
  line.set_pci_address("0000:1b:00.0");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  line.set_text(
      "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
      "to 0x0 (None)");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  line.set_text("NVRM: Xid (PCI:0000:1b:00): 79, pid=8813, GPU has fallen off the bus.");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "log_gpu_reachable");
  EXPECT_EQ(finding.title(),
            "RDMA cannot reach the memory of a GPU that failed, expected none: 0000:1b:00.0");
  EXPECT_EQ(finding.evidence(0).seen(), line.text());
}

constexpr const char* kContainment = "DPC: containment event, status:0x1f01 source:0x0000";

// A line about the port above a function.
void LoggedAbove(v1::NodeSnapshot& node, const std::string& address) {
  const std::string port = *testing::FunctionAt(node, address).path().rbegin();
  Logged(node, "pcie", "pcieport " + port + ": " + kContainment).set_pci_address(port);
}

TEST(KernelLog, ReportsAnErrorOfACardAndOfThePortAboveItOnce) {
  auto nodes = Nodes(1, RoceNode);
  LoggedAbove(nodes[0], "0000:18:00.0");
  Logged(nodes[0], "mlx5",
         "mlx5_core 0000:18:00.0: mlx5_pci_err_detected Device state = 1 health sensors: 1", 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "log_no_pcie_faults");
  EXPECT_EQ(finding.subject().device(), "mlx5_1");
  EXPECT_EQ(finding.evidence_size(), 2);
  LoggedAbove(nodes[0], "0000:17:00.0");
  EXPECT_THAT(Failures(nodes), ElementsAre("log_no_pcie_faults n1", "log_no_pcie_faults n1/mlx5_1"))
      << "another port";
}

TEST(KernelLog, ReportsAPortWithSeveralFailedCardsBelowItOnce) {
  auto nodes = Nodes(1, RoceNode);
  v1::PciFunction& second = testing::FunctionAt(nodes[0], "0000:18:00.0");
  second.set_path(0, testing::FunctionAt(nodes[0], "0000:17:00.0").path(0));
  LoggedAbove(nodes[0], "0000:18:00.0");
  for (const std::uint32_t rail : {0U, 1U})
    Logged(nodes[0], "mlx5", "mlx5_core: mlx5_pci_err_detected Device state = 1", rail);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "fatal PCIe errors, or too little power in the slot, expected none: 0000:00:17.0");
  EXPECT_EQ(finding.evidence_size(), 3);
}

TEST(KernelLog, ReportsAGpuThatFellOffTheBusOnce) {
  auto nodes = Nodes(1, RoceNode);
  const std::string gpu = nodes[0].gpus(0).pci_address();
  LoggedAbove(nodes[0], gpu);
  Logged(nodes[0], "xid", "NVRM: Xid (PCI:" + gpu + "): 79, GPU has fallen off the bus.")
      .set_pci_address(gpu);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "log_gpu_reachable");
  EXPECT_EQ(finding.evidence_size(), 2);
}

TEST(KernelLog, LinesThatNameACardByAddressAndByDeviceAreOneFinding) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "mlx5", "mlx5_core 0000:18:00.0: Health issue observed, firmware", 1);
  v1::KernelLogLine& line = Logged(nodes[0], "mlx5", "mlx5_1: device's health compromised");
  line.clear_pci_address();
  line.set_device("mlx5_1");
  EXPECT_EQ(TheFailure(nodes).evidence_size(), 2);
}

TEST(KernelLog, APcieErrorExplainsTheFailedDeviceThatTheDriverReports) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "mlx5", "mlx5_core 0000:18:00.0: mlx5_pci_err_detected Device state = 1", 1);
  Logged(nodes[0], "mlx5", "mlx5_core 0000:18:00.0: poll_health: Fatal error 1 detected", 1);
  Logged(nodes[0], "mlx5",
         "mlx5_core 0000:18:00.0: wait_func: MODIFY_RQ timeout. Will cause a leak of a command "
         "resource",
         1);
  std::vector<std::string> causes;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings)
    if (finding.verdict() == v1::VERDICT_FAIL && finding.explained_by().empty())
      causes.push_back(finding.rule());
  EXPECT_THAT(causes, ElementsAre("log_no_pcie_faults"));
}

// log_gpu_libraries_fit
TEST(KernelLog, ALibraryOfAnotherVersionMattersWhereJobsUseGpudirect) {
  auto nodes = Nodes(1, RoceNode);
  Logged(nodes[0], "nvidia", "NVRM: API mismatch: the client has the version 570.86.15, but")
      .clear_pci_address();
  EXPECT_EQ(TheFailure(nodes).title(),
            "the GPU driver refused a program whose library has another version, expected none");
  v1::Expectations expect;
  expect.set_gpudirect(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  nodes[0].clear_gpus();
  nodes[0].clear_gpu_nic_paths();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(KernelLog, ReportsAnInvalidContextOncePerNode) {
  auto nodes = Nodes(1, RoceNode);
  for (const char* pid : {"127", "128"})
    Logged(nodes[0], "peermem",
           std::string("nvidia-peermem nv_get_p2p_free_callback:") + pid +
               " ERROR detected invalid context, skipping further processing")
        .clear_pci_address();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "log_peermem_context_valid");
  EXPECT_EQ(finding.evidence_size(), 2);
}

TEST(KernelLog, IgnoresLinesOlderThanADay) {
  auto nodes = Nodes(1, RoceNode);
  v1::KernelLogLine& line = Logged(nodes[0], "mlx5", "device's health compromised");
  line.mutable_last_at()->set_seconds(nodes[0].taken_at().seconds() - 25 * 3600);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  line.clear_last_at();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "when is not known";
}

TEST(KernelLog, UsesTheLastLineOfACaptureAsReference) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].set_captured(true);
  v1::KernelLogLine& line = Logged(nodes[0], "mlx5", "device's health compromised");
  line.mutable_last_at()->set_seconds(1'000'000);
  EXPECT_THAT(Failures(nodes), ElementsAre("log_firmware_healthy n1/mlx5_0"));
  Logged(nodes[0], "mlx5", "Link up").mutable_last_at()->set_seconds(1'100'000);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
