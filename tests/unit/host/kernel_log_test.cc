#include "agents/host/kernel_log/kernel_log_text.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(KmsgRecord, HasLevelTimeTextAndDevice) {
  const auto line = ParseKmsgRecord(
      "4,1203,98765432,-,caller=T77;mlx5_core 0000:17:00.0: Cable unplugged\n"
      " SUBSYSTEM=pci\n DEVICE=+pci:0000:17:00.0\n");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->severity, 4u);
  EXPECT_EQ(line->facility, 0u);
  EXPECT_EQ(line->since_boot, std::chrono::microseconds(98765432));
  EXPECT_EQ(line->text, "mlx5_core 0000:17:00.0: Cable unplugged");
  EXPECT_EQ(line->pci_address, "0000:17:00.0");
}

TEST(KmsgRecord, RefusesWhatIsNone) {
  for (const char* text : {"", ";", "6,1,2;x", "a,1,2,-;x", "no record"})
    EXPECT_EQ(ParseKmsgRecord(text).status().code(), Code::kInvalidArgument) << text;
}

struct LineCase {
  const char* line;
  const char* text;
  std::optional<std::uint32_t> severity;
  std::optional<std::int64_t> micros;
  std::optional<std::int64_t> unix_s;
};

TEST(LogLine, OfEveryProgramThatWritesThem) {
  constexpr std::int64_t kNoon = 1713175200;  // 2024-04-15T10:00:00Z
  const LineCase kCases[] = {
      {"[    5.140900] mlx5_core: hello", "mlx5_core: hello", {}, 5140900, {}},
      {"[    5.140900][  T123] mlx5_core: hello", "mlx5_core: hello", {}, 5140900, {}},
      {"<3>[ 98765.432100] NVRM: x", "NVRM: x", 3, 98765432100, {}},
      {"kern  :warn  : [    1.000001] x y", "x y", 4, 1000001, {}},
      {"[Mon Apr 15 10:00:00 2024] mlx5_core: hello", "mlx5_core: hello", {}, {}, {}},
      {"2024-04-15T10:00:00,500000+00:00 mlx5: x", "mlx5: x", {}, {}, kNoon},
      {"2024-04-15T12:00:00.1+02:00 n1 kernel: [  5.140900] mlx5: x", "mlx5: x", {}, {}, kNoon},
      {"Apr 15 10:00:00 n1 kernel: [    5.140900] mlx5: x", "mlx5: x", {}, {}, {}},
      {"6,339,5140900,-;mlx5: x", "mlx5: x", 6, 5140900, {}},
      {"mlx5_core 0000:17:00.0: plain", "mlx5_core 0000:17:00.0: plain", {}, {}, {}},
      {"[drm:amdgpu_job] *ERROR* x", "[drm:amdgpu_job] *ERROR* x", {}, {}, {}},
  };
  for (const LineCase& test : kCases) {
    const auto line = ParseLogLine(test.line);
    ASSERT_TRUE(line) << test.line;
    EXPECT_EQ(line->text, test.text);
    EXPECT_EQ(line->severity, test.severity) << test.line;
    EXPECT_EQ(line->since_boot.has_value(), test.micros.has_value()) << test.line;
    EXPECT_EQ(line->since_boot ? line->since_boot->count() : 0, test.micros.value_or(0));
    EXPECT_EQ(line->at.has_value(), test.unix_s.has_value()) << test.line;
    const auto at = std::chrono::floor<std::chrono::seconds>(line->at.value_or(WallTime()));
    EXPECT_EQ(at.time_since_epoch().count(), test.unix_s.value_or(0)) << test.line;
  }
  EXPECT_FALSE(ParseLogLine(""));
  EXPECT_FALSE(ParseLogLine("2024-04-15T10:00:00+00:00")) << "a date alone";
  EXPECT_FALSE(ParseLogLine("[    5.140900]   "));
}

struct WriterCase {
  const char* text;
  const char* category;  // Empty: does not matter
};
constexpr WriterCase kWriterCases[] = {
    {"mlx5_core 0000:9c:00.0: 252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe "
     "x8 "
     "link at 0000:97:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
     "pcie"},
    {"mlx5_core 0000:9c:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)", ""},
    {"mlx5_core 0000:17:00.0: Port module event: module 0, Cable unplugged", "mlx5"},
    {"mlx5_core 0000:17:00.0: High temperature on sensors with bit set 0x1", "mlx5"},
    {"mlx5_core 0000:17:00.0: firmware version: 28.39.1002", ""},
    {"mlx5_core 0000:17:00.0 ens1f0np0: Link down", "mlx5"},
    {"mlx5_core: loading out-of-tree module taints kernel.", ""},
    {"mlx4_core 0000:05:00.0: command 0x31 timed out (go bit not cleared)", "mlx4"},
    {"bnxt_en 0000:41:00.0 enp65s0f0np0: NIC Link is Down", "bnxt"},
    {"infiniband bnxt_re0: Failed to add GID: 0xfffffff0", "ib_core"},
    {"ice 0000:31:00.0: Fail during requesting FW log", "ice"},
    {"bnxt_en 0000:41:00.0 ens3f0np0: Pause Storm detected!", "bnxt"},
    {"bnxt_en 0000:41:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0xe]=0x3",
     "bnxt"},
    {"bnxt_en 0000:41:00.0 ens3f0np0: Abandoning msg {0x27 0x6a} len: 0 due to firmware status: "
     "0x8001",
     "bnxt"},
    {"bnxt_en 0000:41:00.0 ens3f0np0: Unqualified SFP+ module detected on port 0", "bnxt"},
    {"ice 0000:4c:00.0 rocep76s0: critical PE Error, GLPE_CRITERR=0x00020003", "ice"},
    {"ice 0000:b1:00.0: Malicious Driver Detection event 5 on TX queue 12 PF# 0 VF# 3", "ice"},
    {"ice 0000:b1:00.0 ens1f0: Rx/Tx is disabled on this device because an unsupported module "
     "type "
     "was detected.",
     "ice"},
    {"ice 0000:b1:00.0: The driver for the device detected a newer version of the NVM image than "
     "expected. Please install the most recent version of the network driver.",
     ""},
    {"(NULL ib_device): [Update PE SDs Cmd Error][op_code=21] status=-5", "ib_core"},
    {"__ib_cache_gid_add: unable to add gid fe80::1 error=-22", "ib_core"},
    {"ionic 0000:06:00.0: FW heartbeat stalled: reset", "ionic"},
    {"ionic 0000:06:00.0: FW heartbeat stalled at 4512", "ionic"},
    {"ionic 0000:06:00.0: FW Down: Stopping LIFs", "ionic"},
    {"ionic 0000:06:00.0: Surprise FW stop, stopping queues", "ionic"},
    {"ionic 0000:06:00.0: FW Up: LIFs restarted", "ionic"},
    {"ena 0000:00:05.0 ens5: Keep alive watchdog timeout.", "ena"},
    {"ena 0000:00:05.0: ENA device version: 0.10", ""},
    {"hns3 0000:bd:00.2: AEQ overflow!", "hns"},
    {"NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 3 timed out", "watchdog"},
    {"nvmet_rdma: received IB QP event: local access violation work queue error (3)", "nvmet_rdma"},
    {"nvmet_rdma: enabling port 1 (10.0.0.1:4420)", ""},
    {"rpcrdma: rdma_create_qp returned -12 failed", "rpcrdma"},
    {"RDS/IB: connection <10.0.0.1,10.0.0.2,0> dropped due to 'qp event'", "rds"},
    {"NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.", "xid"},
    {"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.54.15", ""},
    {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 32", "sxid"},
    {"nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping "
     "further processing",
     "peermem"},
    {"pcieport 0000:97:01.0: AER: Corrected error received: 0000:9c:00.0", "pcie"},
    {"pcieport 0000:97:01.0: AER: enabled with IRQ 30", ""},
    {"DMAR: [DMA Write NO_PASID] Request device [17:00.0] fault addr 0x0", "iommu"},
    {"AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:17:00.0]", "iommu"},
    {"AMD-Vi: Completion-Wait loop timed out", "iommu"},
    {"DMAR: VT-d detected Invalidation Time-out Error: SID 0", "iommu"},
    {"bond0: (slave ens1f0np0): link status definitely down, disabling slave", "bond"},
    {"watchdog: BUG: soft lockup - CPU#3 stuck for 22s!", "host"},
    {"neighbour: arp_cache: neighbor table overflow!", "net"},
    {"ice 0000:b1:00.0: Firmware recovery mode detected. Limiting functionality.", "ice"},
    {"EXT4-fs error (device sda1): ext4_lookup", ""},
};

TEST(LogLine, MattersByItsWriterAndItsWords) {
  for (const WriterCase& test : kWriterCases) {
    const auto pattern = MatchLogLine({.text = test.text});
    EXPECT_EQ(pattern ? pattern->category : "", test.category) << test.text;
  }
}

TEST(LogLine, MattersWhenTheKernelCallsItAWarning) {
  EXPECT_TRUE(MatchLogLine({.text = "mlx5_core 0000:17:00.0: something new", .severity = 4}));
  EXPECT_FALSE(MatchLogLine({.text = "mlx5_core 0000:17:00.0: something new", .severity = 6}));
  EXPECT_FALSE(MatchLogLine({.text = "NVRM: Xid (PCI:0000:1b:00): 79", .facility = 1}))
      << "a program wrote it";
}

std::vector<std::string> Kinds(const std::vector<const char*>& lines) {
  KernelLogDigest digest;
  for (const char* line : lines) digest.Add(*ParseLogLine(line));
  std::vector<std::string> kinds;
  for (const KernelLogEntry& entry : digest.Entries())
    kinds.push_back(
        Format("{} {} [{}] [{}]", entry.count, entry.category, entry.pci_address, entry.device));
  return kinds;
}

TEST(KernelLogDigest, ALineWithOtherNumbersIsOfTheSameKind) {
  EXPECT_THAT(Kinds({"mlx5_core 0000:17:00.0: cmd_check: failed, syndrome (0x65b500), err(-22)",
                     "mlx5_core 0000:17:00.0: cmd_check: failed, syndrome (0x1f), err(-110)",
                     "mlx5_core 0000:18:00.0: cmd_check: failed, syndrome (0x1f), err(-110)"}),
              ElementsAre("2 mlx5 [0000:17:00.0] []", "1 mlx5 [0000:18:00.0] []"));
}

TEST(KernelLogDigest, NamesTheDeviceOfTheLine) {
  EXPECT_THAT(
      Kinds({"mlx5_core 0000:17:00.0 ens1f0np0: Link down", "infiniband mlx5_0: wait failed",
             "mlx5_core 0000:17:00.0 mlx5_3: error", "mlx5_0: bad thing",
             "bond0: (slave ens1f0np0): link status definitely down",
             "mlx5_core 0000:17:00.0 (unnamed): fail", "NVRM: Xid (PCI:0000:1b:00): 79, pid=1"}),
      ElementsAre("1 mlx5 [0000:17:00.0] [ens1f0np0]", "1 ib_core [] [mlx5_0]",
                  "1 mlx5 [0000:17:00.0] [mlx5_3]", "1 mlx5 [] [mlx5_0]", "1 bond [] [ens1f0np0]",
                  "1 mlx5 [0000:17:00.0] []", "1 xid [0000:1b:00.0] []"));
}

TEST(KernelLogDigest, EachDeviceThatTheIommuRefusesIsAKindOfItsOwn) {
  KernelLogDigest digest;
  for (const char* device : {"3b:00.0", "17:00.0", "3b:00.0"})
    digest.Add({.text = std::string("DMAR: [DMA Read] Request device [") + device +
                        "] fault addr 0xfffe0000"});
  EXPECT_THAT(digest.Entries(), SizeIs(2));
}

TEST(KernelLogDigest, EachXidIsAKindOfItsOwn) {
  EXPECT_THAT(
      Kinds({"NVRM: Xid (PCI:0000:1b:00): 79, pid=1", "NVRM: Xid (PCI:0000:1b:00): 79, pid=22",
             "NVRM: Xid (PCI:0000:1b:00): 31, pid=1"}),
      SizeIs(2));
}

TEST(KernelLogDigest, KeepsTheLatestTextAndBothTimes) {
  KernelLogDigest digest;
  const auto at = [](int seconds) { return WallTime(std::chrono::seconds(seconds)); };
  digest.Add({.text = "mlx5_core: error 1", .severity = 3, .at = at(10)});
  digest.Add({.text = "mlx5_core: error 2", .severity = 3, .at = at(20)});
  const auto entries = digest.Entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].text, "mlx5_core: error 2");
  EXPECT_EQ(entries[0].first_at, at(10));
  EXPECT_EQ(entries[0].last_at, at(20));
  EXPECT_EQ(entries[0].severity, 3u);
}

TEST(KernelLogDigest, ForgetsWhatWasSeenLongestAgoWhenThereAreTooManyKinds) {
  KernelLogDigest digest;
  digest.Add({.text = "mlx5_core: error first"});
  for (std::size_t i = 0; i < KernelLogDigest::kKindsMax; ++i) {
    std::string letters;
    for (std::size_t n = i + 1; n > 0; n /= 20) letters += static_cast<char>('g' + n % 20);
    digest.Add({.text = "mlx5_core: error " + letters});
  }
  EXPECT_THAT(digest.Entries(), SizeIs(KernelLogDigest::kKindsMax));
  EXPECT_EQ(digest.forgotten(), 1u);
  EXPECT_NE(digest.Entries()[0].text, "mlx5_core: error first");
}

}  // namespace
}  // namespace fabric::host
