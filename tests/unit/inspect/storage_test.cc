// Storage uses of NICs, roles that follow from them, and settings of jobs: storage,
// function_position, rdma_processes.
#include <gmock/gmock.h>

#include "agents/inspect/function_role.h"
#include "agents/inspect/job/job_settings.h"
#include "agents/inspect/parse/storage_texts.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;

TEST(StorageOfMounts, KnowsNetworkFileSystems) {
  struct Case {
    const char* line;
    v1::StorageKind kind;
    const char* remote;
    const char* local;
  };
  const Case cases[] = {
      {"10.0.0.1:/a /mnt/a nfs4 rw,proto=rdma,port=20049,clientaddr=10.0.0.9,addr=10.0.0.1 0 0",
       v1::STORAGE_KIND_NFS_RDMA, "10.0.0.1", "10.0.0.9"},
      {"nas:/b /b nfs rw,vers=3,proto=rdma6,addr=fd00::1 0 0", v1::STORAGE_KIND_NFS_RDMA, "fd00::1",
       ""},
      {"nas:/c /c nfs4 rw,proto=tcp,clientaddr=0.0.0.0,addr=10.0.0.2 0 0", v1::STORAGE_KIND_NFS_TCP,
       "10.0.0.2", ""},
      {"10.1.0.1@o2ib:10.1.0.2@o2ib:/scratch /scratch lustre rw 0 0", v1::STORAGE_KIND_LUSTRE_O2IB,
       "10.1.0.1", ""},
      {"10.1.0.1@tcp:/s /s lustre rw 0 0", v1::STORAGE_KIND_LUSTRE_TCP, "10.1.0.1", ""},
      {"10.2.0.1:6789,10.2.0.2:6789:/ /ceph ceph rw 0 0", v1::STORAGE_KIND_CEPH, "10.2.0.1", ""},
      {"admin@fs.a=/ /ceph ceph rw,mon_addr=10.2.0.3:3300 0 0", v1::STORAGE_KIND_CEPH, "10.2.0.3",
       ""},
      {"//s/x /x cifs rw,rdma,addr=10.3.0.1 0 0", v1::STORAGE_KIND_SMB_DIRECT, "10.3.0.1", ""},
      {"beegfs_nodev /b beegfs rw 0 0", v1::STORAGE_KIND_BEEGFS, "", ""},
  };
  for (const Case& test : cases) {
    const auto uses = StorageOfMounts(test.line);
    ASSERT_EQ(uses.size(), 1U) << test.line;
    EXPECT_EQ(uses[0].kind(), test.kind) << test.line;
    EXPECT_EQ(uses[0].remote_address(), test.remote) << test.line;
    EXPECT_EQ(uses[0].local_address(), test.local) << test.line;
  }
  EXPECT_THAT(
      StorageOfMounts("/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n//s/x /x cifs rw\n"),
      IsEmpty());
}

TEST(CufileAddresses, SkipComments) {
  EXPECT_THAT(
      CufileAddresses("{\n // \"rdma_dev_addr_list\": [\"1.1.1.1\"]\n \"properties\": {\n"
                      "  \"rdma_dev_addr_list\": [ \"172.16.8.88\", \"172.16.9.88\" ],\n}}"),
      ElementsAre("172.16.8.88", "172.16.9.88"));
  EXPECT_THAT(CufileAddresses("{\"rdma_dev_addr_list\": [ ], }"), IsEmpty());
  EXPECT_THAT(CufileAddresses("\"rdma_dev_addr_list\": ["), IsEmpty());
}

TEST(Storage, IsLocatedByAddressOrRoute) {
  SmallNode node;
  node.File("sys/class/nvme/nvme0/transport", "pcie\n")
      .File("sys/class/nvme/nvme3/transport", "rdma\n")
      .File("sys/class/nvme/nvme3/address", "traddr=10.0.0.1,trsvcid=4420,src_addr=10.10.0.1\n")
      .File("sys/class/nvme/nvme3/state", "live\n")
      .File("proc/mounts", "10.20.0.1:/a /a nfs4 rw,proto=rdma,addr=10.20.0.1 0 0\n")
      .File("proc/net/route", "eth0\t0000140A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n")
      .File(kPort + "/gids/3", "0000:0000:0000:0000:0000:ffff:0a0a:0001\n")
      .File(kPort + "/gid_attrs/ndevs/3", "eth0\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.storage_size(), 2);
  for (const v1::StorageUse& use : snapshot.storage()) {
    EXPECT_EQ(use.netdev(), "eth0") << use.name();
    EXPECT_EQ(use.rdma_device(), "mlx5_0") << use.name();
  }
  EXPECT_EQ(snapshot.storage(1).name(), "nvme3");
  EXPECT_EQ(snapshot.storage(1).state(), "live");
}

// Eight GPUs with a NIC each below a switch, and two NICs of the same model on root ports.
v1::NodeSnapshot TenCards() {
  v1::NodeSnapshot snapshot;
  for (int i = 0; i < 10; ++i) {
    v1::RdmaDevice& device = *snapshot.add_rdma_devices();
    device.set_name(Format("mlx5_{}", i));
    device.set_model("ConnectX-7");
    device.set_pci_address(Format("0000:{:02x}:00.0", 0x80 + i));
    device.add_ports()->set_link_layer(v1::LINK_LAYER_INFINIBAND);
    device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
    v1::PciFunction& function = *snapshot.add_pci_functions();
    function.set_address(device.pci_address());
    for (int bridge = 0; bridge < (i < 8 ? 3 : 1); ++bridge) function.add_path("0000:00:01.0");
  }
  for (int gpu = 0; gpu < 8; ++gpu) {
    snapshot.add_gpus()->set_pci_address(Format("0000:{:02x}:00.0", gpu));
    for (int i = 0; i < 10; ++i) {
      v1::GpuNicPath& path = *snapshot.add_gpu_nic_paths();
      path.set_gpu(snapshot.gpus(gpu).pci_address());
      path.set_device(Format("mlx5_{}", i));
      path.set_distance(i == gpu ? v1::PCI_DISTANCE_PXB : v1::PCI_DISTANCE_NODE);
    }
  }
  return snapshot;
}

std::vector<std::string> StorageDevices(v1::NodeSnapshot snapshot) {
  DecideRolesByPosition(snapshot);
  std::vector<std::string> names;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.function().role() == v1::FUNCTION_ROLE_STORAGE) names.push_back(device.name());
  return names;
}

TEST(RolesByPosition, AreStorageOnRootPorts) {
  EXPECT_THAT(StorageDevices(TenCards()), ElementsAre("mlx5_8", "mlx5_9"));
  v1::NodeSnapshot unknown = TenCards();
  unknown.mutable_gpu_nic_paths(3)->clear_distance();
  EXPECT_THAT(StorageDevices(unknown), IsEmpty()) << "a distance is unknown";
  v1::NodeSnapshot level = TenCards();
  for (v1::GpuNicPath& path : *level.mutable_gpu_nic_paths())
    path.set_distance(v1::PCI_DISTANCE_NODE);
  EXPECT_THAT(StorageDevices(level), IsEmpty()) << "no card is next to a GPU";
}

TEST(RolesByPosition, StayWhenAGpuIsLost) {
  v1::NodeSnapshot lost = TenCards();
  lost.mutable_gpus()->DeleteSubrange(2, 1);
  lost.mutable_gpu_nic_paths()->DeleteSubrange(20, 10);
  EXPECT_THAT(StorageDevices(lost), ElementsAre("mlx5_8", "mlx5_9")) << "mlx5_2 stays";
}

TEST(RolesByPosition, BelowASwitchNeedAUseOrAnotherKind) {
  v1::NodeSnapshot shared = TenCards();
  for (const int i : {8, 9})
    for (int bridge = 0; bridge < 2; ++bridge)
      shared.mutable_pci_functions(i)->add_path("0000:00:01.0");
  EXPECT_THAT(StorageDevices(shared), IsEmpty());
  shared.mutable_rdma_devices(9)->set_model("ConnectX-6");
  EXPECT_THAT(StorageDevices(shared), ElementsAre("mlx5_9"));
  v1::StorageUse& use = *shared.add_storage();
  use.set_kind(v1::STORAGE_KIND_NVME_RDMA);
  use.set_rdma_device("mlx5_8");
  EXPECT_THAT(StorageDevices(shared), ElementsAre("mlx5_8", "mlx5_9"));
  use.set_rdma_device("mlx5_0");
  EXPECT_THAT(StorageDevices(shared), ElementsAre("mlx5_9")) << "next to a GPU: shared";
}

TEST(JobEnvironment, TakesListedVariablesOnly) {
  const auto variables = ParseEnvironment(
      "PATH=/bin\0AWS_SECRET_ACCESS_KEY=x\0NCCL_IB_HCA=mlx5\0NCCL_SECRET=y\0"
      "UCX_TLS=rc\n,ud\0broken\0"s);
  ASSERT_EQ(variables.size(), 2U);
  EXPECT_EQ(variables[0].name(), "NCCL_IB_HCA");
  EXPECT_EQ(variables[1].value(), "rc?,ud");
  const auto conf = ParseNcclConf("# NCCL_IB_TC=1\nNCCL_IB_TC = 106 # RoCE\nOTHER=1\n");
  ASSERT_EQ(conf.size(), 1U);
  EXPECT_EQ(conf[0].value(), "106");
  EXPECT_EQ(conf[0].source(), "/etc/nccl.conf");
}

TEST(JobLibraries, AreKnownByFileName) {
  const auto libraries = LibrariesOfMaps(
      "7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5\n"
      "7f01-7f02 r-xp 0 08:01 2 /usr/lib64/libibverbs.so.1.14.39.0 (deleted)\n"
      "7f02-7f03 r-xp 0 08:01 3 /usr/lib64/libc.so.6\n"
      "7f03-7f04 rw-s 0 08:01 4 /dev/infiniband/uverbs0\n");
  ASSERT_EQ(libraries.size(), 2U);
  EXPECT_EQ(libraries[0].name(), "libibverbs");
  EXPECT_EQ(libraries[0].package_version(), "39");
  EXPECT_EQ(libraries[0].path(), "/usr/lib64/libibverbs.so.1.14.39.0");
  EXPECT_EQ(libraries[1].version(), "2.21.5");
  EXPECT_TRUE(LibraryOfFile("libncclx.so.2.1").name().empty());
  EXPECT_FALSE(LibraryOfFile("libnccl.so.2").has_version());
  EXPECT_EQ(VersionOfPackage("nvidia_nccl_cu12-2.21.5.dist-info"), "2.21.5");
  EXPECT_EQ(VersionOfPackage("torch-2.4.0.dist-info"), "");
}

TEST(RdmaProcesses, AreThoseWithAVerbsDevice) {
  SmallNode node;
  const std::string packages = "proc/77/root/opt/venv/lib/python3/site-packages/";
  for (const char* pid : {"77", "78"})
    node.File(Format("proc/{}/comm", pid), "python3\n")
        .File(Format("proc/{}/environ", pid), "NCCL_IB_GID_INDEX=3\0HOME=/root\0"s)
        .File(Format("proc/{}/maps", pid),
              "7f00-7f01 r-xp 0 08:01 1 "
              "/opt/venv/lib/python3/site-packages/nvidia/nccl/lib/libnccl.so.2\n"
              "7f03-7f04 rw-s 0 08:01 4 /dev/infiniband/uverbs0\n");
  node.File("proc/79/comm", "bash\n").File("proc/79/maps", "7f-8f r-xp 0 08:01 1 /bin/bash\n");
  node.File(packages + "nvidia_nccl_cu12-2.21.5.dist-info/METADATA", "")
      .File(packages + "nvidia/nccl/lib/libnccl.so.2", "");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.rdma_processes_size(), 2) << "77 knows the version of NCCL";
  const v1::RdmaProcess& process = snapshot.rdma_processes(0);
  EXPECT_EQ(process.name(), "python3");
  EXPECT_TRUE(process.environment_known());
  ASSERT_EQ(process.variables_size(), 1);
  EXPECT_EQ(process.variables(0).name(), "NCCL_IB_GID_INDEX");
  EXPECT_EQ(process.libraries(0).version(), "2.21.5");
}

TEST(RdmaProcesses, OfALiveMachineAreOfRdmaNetlink) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.rdma.processes[7] = {77, 78, 79};
  for (const char* pid : {"77", "78"})
    node.File(Format("proc/{}/comm", pid), "train\n")
        .File(Format("proc/{}/environ", pid), "NCCL_IB_TC=106\0"s)
        .File(Format("proc/{}/maps", pid), "");
  node.File("proc/79/comm", "fabric-agent\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.rdma_processes_size(), 1) << "equal ones are one";
  EXPECT_EQ(snapshot.rdma_processes(0).processes(), 2U);
  EXPECT_THAT(snapshot.rdma_processes(0).rdma_devices(), ElementsAre("mlx5_0"));
}

TEST(RdmaStack, HasTheVersionOfRdmaCoreAndNcclConf) {
  SmallNode node;
  node.File("usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.50.0", "")
      .File("etc/nccl.conf", "NCCL_IB_TC=106\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.host().rdma_core_version(), "50");
  ASSERT_EQ(snapshot.host().nccl_conf_size(), 1);
  EXPECT_EQ(snapshot.host().nccl_conf(0).name(), "NCCL_IB_TC");
}

}  // namespace
}  // namespace fabric::inspect
