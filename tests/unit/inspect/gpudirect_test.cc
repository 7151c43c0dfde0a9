// The inspectors gpus, peer_memory and nvlinks, and whether dma-buf is possible.
#include <gmock/gmock.h>

#include "agents/inspect/dma_buf.h"
#include "agents/inspect/report/pci_text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void AddFunction(SmallNode& node, const std::string& address, const std::string& vendor,
                 const std::string& class_code) {
  const std::string path = "sys/bus/pci/devices/" + address;
  node.File(path + "/vendor", vendor + "\n").File(path + "/class", class_code + "\n");
  node.File(path + "/device", "0x2330\n").File(path + "/numa_node", "0\n");
  node.File(path + "/resource", "0x1000 0x1fff 0x14220c\n0x4000000000 0x5fffffffff 0x14220c\n");
}

void AddNvidia(SmallNode& node) {
  AddFunction(node, "0000:17:00.0", "0x10de", "0x030200");
  node.tree.Link("sys/bus/pci/devices/0000:17:00.0/driver", "../../../drivers/nvidia");
  node.File("proc/driver/nvidia/gpus/0000:17:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\nGPU UUID: \t GPU-1f00\n"
            "GPU Firmware: \t 535.129.03\nGPU Excluded:\t No\n");
  node.File("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.129.03  Release Build\n"
            "GCC version:  gcc version 11.4.0\n");
}

void AddAmd(SmallNode& node) {
  AddFunction(node, "0000:05:00.0", "0x1002", "0x120000");
  node.tree.Link("sys/bus/pci/devices/0000:05:00.0/driver", "../../../drivers/amdgpu");
}

TEST(Gpus, AreFoundByVendorAndClass) {
  SmallNode node;
  AddNvidia(node);
  AddFunction(node, "0000:17:00.1", "0x10de", "0x040300");  // Its audio function
  AddFunction(node, "0000:05:00.0", "0x10de", "0x068000");  // NVSwitch
  AddFunction(node, "10000:e1:00.0", "0x1002", "0x120000");
  AddFunction(node, "0000:00:02.0", "0x8086", "0x030000");
  AddFunction(node, "0000:03:00.0", "0x1a03", "0x030000");  // The screen of a BMC
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.gpus_size(), 2);
  EXPECT_EQ(snapshot.gpus(0).pci_address(), "0000:17:00.0");
  EXPECT_EQ(snapshot.gpus(0).driver(), "nvidia");
  EXPECT_EQ(snapshot.gpus(0).device_id(), "2330");
  EXPECT_EQ(snapshot.gpus(0).vendor(), "NVIDIA");
  EXPECT_EQ(snapshot.gpus(0).model(), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(snapshot.gpus(0).uuid(), "GPU-1f00");
  EXPECT_EQ(snapshot.gpus(0).firmware(), "535.129.03");
  EXPECT_EQ(snapshot.gpus(0).bar1_bytes(), std::uint64_t{128} << 30);
  EXPECT_EQ(snapshot.gpus(1).pci_address(), "10000:e1:00.0");
  EXPECT_EQ(snapshot.gpus(1).vendor(), "AMD");
  EXPECT_FALSE(snapshot.gpus(1).has_driver());
  EXPECT_THAT(GapsOf(snapshot, "gpus"), IsEmpty());
}

TEST(Gpus, AnAmdChipForTheConsoleIsNone) {
  SmallNode node;
  AddFunction(node, "0000:01:03.0", "0x1002", "0x030000");
  AddFunction(node, "0000:c3:00.0", "0x1002", "0x030000");
  node.tree.Link("sys/bus/pci/devices/0000:01:03.0/driver", "../../../drivers/radeon");
  node.tree.Link("sys/bus/pci/devices/0000:c3:00.0/driver", "../../../drivers/amdgpu");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.gpus_size(), 1);
  EXPECT_EQ(snapshot.gpus(0).pci_address(), "0000:c3:00.0");
}

TEST(Gpus, AVirtualFunctionCountsOnlyWhereItsPhysicalOneIsOutOfSight) {
  SmallNode node;
  AddNvidia(node);
  AddFunction(node, "0000:17:00.4", "0x10de", "0x030200");
  node.tree.Link("sys/bus/pci/devices/0000:17:00.4/physfn", "../0000:17:00.0");
  AddFunction(node, "0000:18:00.4", "0x10de", "0x030200");
  node.tree.Link("sys/bus/pci/devices/0000:18:00.4/physfn", "../0000:18:00.0");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_THAT(snapshot.gpus(), SizeIs(2));
  EXPECT_EQ(snapshot.gpus(1).pci_address(), "0000:18:00.4");
}

TEST(Gpus, AmdTellsModelAndIdWhereItsBoardDoes) {
  SmallNode node;
  AddAmd(node);
  const std::string path = "sys/bus/pci/devices/0000:05:00.0/";
  node.File(path + "product_name", "\n").File(path + "unique_id", "a1b2c3d4e5f60718\n");
  node.File(path + "vbios_version", "113-M3000100-102\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.gpus(0).has_model());
  EXPECT_EQ(snapshot.gpus(0).uuid(), "a1b2c3d4e5f60718");
  EXPECT_EQ(snapshot.gpus(0).firmware(), "113-M3000100-102");
}

TEST(Gpus, FilesOfTheDriverThatAreNotThereAreOneGap) {
  SmallNode node;
  AddNvidia(node);
  for (const std::string address : {"0000:2a:00.0", "0000:2b:00.0"}) {
    AddFunction(node, address, "0x10de", "0x030200");
    node.tree.Link("sys/bus/pci/devices/" + address + "/driver", "../../../drivers/nvidia");
  }
  node.Remove("proc/driver/nvidia/gpus");
  EXPECT_THAT(
      GapsOf(node.Inspected(), "gpus"),
      ElementsAre(" proc/driver/nvidia/gpus/*/information: NOT_FOUND No such file or directory "
                  "(0000:17:00.0 0000:2a:00.0 0000:2b:00.0)"));
}

TEST(PeerMemory, IsSeenInSysfsOrProc) {
  SmallNode node;
  EXPECT_FALSE(node.Inspected().peer_memory().nvidia_peermem_loaded());
  node.File("proc/modules", "nvidia_peermem 16384 0 - Live 0x0\n");
  EXPECT_TRUE(node.Inspected().peer_memory().nvidia_peermem_loaded());
  node.File("proc/modules", "").File("sys/module/nvidia_peermem/version", "535.1\n");
  node.File("sys/kernel/mm/memory_peers/nv_mem/version", "535.1\n");
  const v1::PeerMemory peer_memory = node.Inspected().peer_memory();
  EXPECT_TRUE(peer_memory.nvidia_peermem_loaded());
  EXPECT_FALSE(peer_memory.nv_peer_mem_loaded());
  EXPECT_FALSE(peer_memory.gdrdrv_loaded());
  EXPECT_EQ(peer_memory.version(), "535.1");
  EXPECT_THAT(peer_memory.clients(), ElementsAre("nv_mem"));
}

TEST(PeerMemory, AModuleThatIsStillLoadingIsNotLoaded) {
  SmallNode node;
  node.File("sys/module/nvidia_peermem/initstate", "coming\n");
  EXPECT_FALSE(node.Inspected().peer_memory().nvidia_peermem_loaded());
}

TEST(PeerMemory, NoModuleListIsAGapAndNotNo) {
  SmallNode node;
  node.Remove("proc/modules");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.has_peer_memory());
  EXPECT_THAT(GapsOf(snapshot, "peer_memory"),
              ElementsAre(" proc/modules: NOT_FOUND No such file or directory"));
  node.File("sys/module/kernel/parameters/panic", "0\n");  // All of sys/module is here.
  EXPECT_TRUE(node.Inspected().peer_memory().has_nvidia_peermem_loaded());
}

struct Binding {
  const char* what;
  std::vector<std::pair<std::string, std::string>> files;
  const char* bound;  // "yes", "no", "?"
  const char* reason;
};

TEST(PeerMemory, IsBoundByItsClientsOrTheUsersOfIbCore) {
  const std::string loaded = "nvidia_peermem 1 0 - Live 0x0\n";
  const Binding cases[] = {
      {"nothing is loaded", {}, "?", "no peer memory module is loaded"},
      {"a client",
       {{"proc/modules", loaded}, {"sys/kernel/mm/memory_peers/nv_mem_nc/version", "1\n"}},
       "yes",
       "memory_peers lists nv_mem"},
      {"no client",
       {{"proc/modules", loaded}, {"sys/kernel/mm/memory_peers/other/version", "1\n"}},
       "no",
       "nvidia_peermem is loaded, but memory_peers does not list nv_mem"},
      {"a holder",
       {{"proc/modules", loaded}, {"sys/module/ib_core/holders/nvidia_peermem/x", ""}},
       "yes",
       "ib_core is used by nvidia_peermem"},
      {"a user of the list",
       {{"proc/modules", loaded + "ib_core 4 2 mlx5_ib,nvidia_peermem, Live 0x0\n"}},
       "yes",
       "ib_core is used by nvidia_peermem"},
      {"a user of ib_uverbs, which has the interface on some kernels",
       {{"proc/modules", loaded + "ib_core 4 1 mlx5_ib, Live 0x0\n"
                                  "ib_uverbs 4 2 nvidia_peermem,mlx5_ib, Live 0x0\n"}},
       "yes",
       "ib_uverbs is used by nvidia_peermem"},
      {"no user of the list",
       {{"proc/modules", loaded + "ib_core 4 1 mlx5_ib, Live 0x0\n"}},
       "no",
       "ib_core is not used by nvidia_peermem"},
      {"no interface",
       {{"proc/modules", loaded},
        {"sys/kernel/mm/ksm/run", "0\n"},
        {"sys/module/ib_core/initstate", "live\n"}},
       "no",
       "ib_core has no peer memory interface"},
      {"nothing more is known",
       {{"proc/modules", loaded}},
       "?",
       "nvidia_peermem is loaded; neither memory_peers nor the users of ib_core are known"},
  };
  for (const Binding& each : cases) {
    SCOPED_TRACE(each.what);
    SmallNode node;
    for (const auto& [path, content] : each.files) node.File(path, content);
    const v1::PeerMemory peer = node.Inspected().peer_memory();
    EXPECT_STREQ(!peer.has_bound_to_ib_core() ? "?"
                 : peer.bound_to_ib_core()    ? "yes"
                                              : "no",
                 each.bound);
    EXPECT_EQ(peer.bound_reason(), each.reason);
  }
}

TEST(PeerMemory, AmdIsAClientOfItsOwn) {
  SmallNode node;
  AddAmd(node);
  node.File("sys/kernel/mm/memory_peers/amdkfd/version", "1.0\n");
  EXPECT_TRUE(node.Inspected().peer_memory().bound_to_ib_core());
  node.Remove("sys/kernel/mm/memory_peers").File("sys/kernel/mm/ksm/run", "0\n");
  const v1::PeerMemory peer = node.Inspected().peer_memory();
  EXPECT_TRUE(peer.has_bound_to_ib_core());
  EXPECT_FALSE(peer.bound_to_ib_core());
  EXPECT_EQ(peer.bound_reason(), "ib_core has no peer memory interface");
}

TEST(DmaBuf, ACaptureIsJudgedByVersions) {
  SmallNode node;
  AddNvidia(node);
  const v1::PeerMemory peer = node.Inspected().peer_memory();
  EXPECT_TRUE(peer.gpu_driver().open_module());
  EXPECT_EQ(peer.gpu_driver().version(), "535.129.03");
  EXPECT_TRUE(peer.dma_buf().possible());
  EXPECT_THAT(peer.dma_buf().devices(), ElementsAre("mlx5_0"));
  EXPECT_EQ(peer.dma_buf().reason(),
            "the open NVIDIA module; 1 of 1 RDMA devices take dma-bufs by driver and kernel "
            "version");
}

TEST(DmaBuf, ALiveMachineIsAskedWhereThereAreGpus) {
  SmallNode node;
  node.fake.verbs.status = Status();
  EXPECT_FALSE(node.Inspected().peer_memory().has_dma_buf());
  AddNvidia(node);
  node.fake.verbs.dma_bufs["mlx5_0"] = false;
  const v1::PeerMemory peer = node.Inspected().peer_memory();
  EXPECT_FALSE(peer.dma_buf().possible());
  EXPECT_EQ(peer.dma_buf().reason(), "no RDMA driver here takes dma-bufs");
  node.fake.verbs.dma_bufs.clear();
  EXPECT_THAT(GapsOf(node.Inspected(), "peer_memory"),
              ElementsAre("mlx5_0 verbs dma-buf mlx5_0: NOT_FOUND not in the table of the fake"));
}

struct Decision {
  const char* what;
  DmaBufFacts facts;
  const char* possible;  // "yes", "no", "?"
  const char* reason;
};

TEST(DmaBuf, NeedsKernelGpuDriverAndRdmaDriver) {
  const DmaBufDevice mlx5{.name = "mlx5_0", .driver = "mlx5_core", .takes = {}};
  const DmaBufDevice bnxt{.name = "bnxt_re0", .driver = "bnxt_en", .takes = {}};
  const DmaBufDevice asked{.name = "mlx5_0", .driver = "mlx5_core", .takes = true};
  const Decision cases[] = {
      {"closed module",
       {"6.8.0", {"nvidia"}, false, {mlx5}},
       "no",
       "the NVIDIA module is the closed one"},
      {"module not known",
       {"6.8.0", {"nvidia"}, {}, {mlx5}},
       "?",
       "unknown whether the NVIDIA module is the open one"},
      {"passed through",
       {"6.8.0", {"vfio-pci"}, {}, {mlx5}},
       "no",
       "no GPU has a driver that exports dma-bufs"},
      {"old kernel",
       {"5.4.0-150-generic", {"nvidia"}, true, {mlx5}},
       "no",
       "kernel 5.4.0-150-generic is older than 5.12"},
      {"old number, new parts",
       {"4.18.0-477.el8.x86_64", {"nvidia"}, true, {mlx5}},
       "?",
       "kernel 4.18.0-477.el8.x86_64 is a distribution kernel with backports; unknown whether "
       "mlx5_core registers dma-bufs"},
      {"old number, but it was asked",
       {"4.18.0-477.el8.x86_64", {"nvidia"}, true, {asked}},
       "yes",
       "the open NVIDIA module; 1 of 1 RDMA devices take dma-bufs"},
      {"AMD and Broadcom",
       {"6.12.1", {"amdgpu"}, {}, {bnxt}},
       "yes",
       "amdgpu; 1 of 1 RDMA devices take dma-bufs by driver and kernel version"},
      {"Broadcom's own driver perhaps",
       {"6.5.0", {"amdgpu"}, {}, {bnxt}},
       "?",
       "unknown whether bnxt_en registers dma-bufs"},
      {"no RDMA", {"6.12.1", {"amdgpu"}, {}, {}}, "no", "no RDMA device on PCI"},
      {"no kernel version",
       {"", {"amdgpu"}, {}, {asked}},
       "yes",
       "amdgpu; 1 of 1 RDMA devices take dma-bufs"},
  };
  for (const Decision& each : cases) {
    SCOPED_TRACE(each.what);
    const v1::DmaBuf dma_buf = DecideDmaBuf(each.facts);
    EXPECT_STREQ(!dma_buf.has_possible() ? "?" : dma_buf.possible() ? "yes" : "no", each.possible);
    EXPECT_EQ(dma_buf.reason(), each.reason);
  }
}

TEST(Nvlinks, AreAskedForOnlyOfAnNvidiaDriverThatIsUp) {
  SmallNode node;
  node.fake.gpu_management.status = Status();
  (void)node.Inspected();
  AddAmd(node);
  (void)node.Inspected();
  EXPECT_EQ(node.fake.gpu_management.reads, 0);
  AddNvidia(node);
  EXPECT_THAT(GapsOf(node.Inspected(), "nvlinks"),
              ElementsAre(" dev/nvidiactl: NOT_FOUND the driver cannot be queried without it"));
  EXPECT_EQ(node.fake.gpu_management.reads, 0);
}

TEST(Nvlinks, FillInWhatTheDriverDidNotTell) {
  SmallNode node;
  AddNvidia(node);
  node.Remove("proc/driver/nvidia/gpus").File("dev/nvidiactl", "");
  node.fake.gpu_management.status = Status();
  node.fake.gpu_management.info = {
      .driver_version = "535.129.03",
      .library_version = "12.535.129.03",
      .cuda_version = "12.2",
      .gpus = {{.pci_address = "0000:17:00.0",
                .name = "NVIDIA H100",
                .uuid = "GPU-2",
                .board_part_number = "692-2G520-0200-000",
                .links = {{.index = 0,
                           .active = true,
                           .remote_pci_address = "0000:07:00.0",
                           .replay_errors = 3,
                           .recovery_errors = {},
                           .crc_flit_errors = {},
                           .crc_data_errors = 9},
                          {.index = 1,
                           .active = false,
                           .remote_pci_address = {},
                           .replay_errors = {},
                           .recovery_errors = {},
                           .crc_flit_errors = {},
                           .crc_data_errors = {}}}}},
      .failures = {Status(Code::kUnavailable, "GPU 1: GPU is lost (15)")}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.gpus(0).nvlinks(), 2U);
  EXPECT_EQ(snapshot.gpus(0).nvlinks_active(), 1U);
  EXPECT_EQ(snapshot.gpus(0).links(0).remote_pci_address(), "0000:07:00.0");
  EXPECT_EQ(snapshot.gpus(0).links(0).replay_errors(), 3U);
  EXPECT_FALSE(snapshot.gpus(0).links(0).has_recovery_errors());
  EXPECT_EQ(snapshot.gpus(0).links(0).crc_data_errors(), 9U);
  EXPECT_FALSE(snapshot.gpus(0).links(1).active());
  EXPECT_FALSE(snapshot.gpus(0).links(1).has_replay_errors());
  EXPECT_EQ(snapshot.gpus(0).board_part_number(), "692-2G520-0200-000");
  EXPECT_EQ(snapshot.peer_memory().gpu_driver().cuda_version(), "12.2");
  EXPECT_EQ(snapshot.gpus(0).model(), "NVIDIA H100");
  EXPECT_EQ(snapshot.gpus(0).uuid(), "GPU-2");
  EXPECT_EQ(snapshot.peer_memory().gpu_driver().nvml_version(), "12.535.129.03");
  EXPECT_THAT(GapsOf(snapshot, "nvlinks"),
              ElementsAre(HasSubstr("UNAVAILABLE GPU 1: GPU is lost (15)")));
}

TEST(Nvlinks, AGpuThatTheLibraryDoesNotListIsAGap) {
  SmallNode node;
  AddNvidia(node);
  node.File("dev/nvidiactl", "");
  node.fake.gpu_management.status = Status();
  node.fake.gpu_management.info = {.driver_version = "580.159.04",
                                   .library_version = "13.580.159.04",
                                   .cuda_version = "13.0",
                                   .gpus = {},
                                   .failures = {}};
  EXPECT_THAT(GapsOf(node.Inspected(), "nvlinks"),
              ElementsAre("0000:17:00.0 NVML: NOT_FOUND the library does not list this GPU"));
}

TEST(Nvlinks, NoLibraryIsAGap) {
  SmallNode node;
  AddNvidia(node);
  EXPECT_THAT(GapsOf(node.Inspected(), "nvlinks"), SizeIs(1)) << "a capture";
}

TEST(NvidiaVersion, TellsTheOpenModuleFromTheClosedOne) {
  const auto open = ParseNvidiaVersion(
      "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  560.28.03  Release Build  "
      "(dvs-builder@U16)  Thu Jul 18 20:16:57 UTC 2024\nGCC version:  gcc version 12.3.0");
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->version, "560.28.03");
  EXPECT_TRUE(open->open);
  const auto closed = ParseNvidiaVersion(
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n");
  ASSERT_TRUE(closed.ok());
  EXPECT_EQ(closed->version, "470.82.01");
  EXPECT_FALSE(closed->open);
  EXPECT_FALSE(ParseNvidiaVersion("GCC version: 12.3.0").ok());
}

TEST(NvidiaField, WhatTheDriverHasNotAskedForIsAbsent) {
  const char* const text = "Model: \t NVIDIA A100\nGPU UUID: \t GPU-?\?\?\?\nGPU Firmware: N/A";
  EXPECT_EQ(NvidiaField(text, "Model"), "NVIDIA A100");
  EXPECT_EQ(NvidiaField(text, "GPU UUID"), "");
  EXPECT_EQ(NvidiaField(text, "GPU Firmware"), "");
  EXPECT_EQ(NvidiaField(text, "Device Minor"), "");
}

}  // namespace
}  // namespace fabric::inspect
