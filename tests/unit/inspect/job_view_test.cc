// What a job sees, from captured files of its process.
#include "agents/inspect/job/job_view.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "agents/inspect/report/report.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPod = "0c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f";
constexpr const char* kSlice =
    "0::/kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod0c1d2e3f_4a5b_6c7d_8e9f_0a1b2c3d4e5f.slice/cri-containerd-77.scope\n";
constexpr const char* kStatus =
    "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
    "Groups:\t44 1001 \nCapEff:\t0000000000000000\n";
constexpr const char* kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            1024                 4096                 files     \n"
    "Max locked memory         65536                8388608              bytes     \n";

// Process 4242 of a pod, as user 1000, on a node with mlx5_0.
class JobViewTest : public ::testing::Test {
 protected:
  JobViewTest() {
    node_.File("proc/4242/comm", "python3\n")
        .File("proc/4242/status", kStatus)
        .File("proc/4242/limits", kLimits)
        .File("proc/4242/cgroup", kSlice)
        .File("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n")
        .File("proc/4242/root/dev/infiniband/uverbs0", "")
        .File("proc/4242/root/dev/infiniband/rdma_cm", "");
    Mode("uverbs0", 0666);
    Mode("rdma_cm", 0666);
  }

  void Mode(const std::string& name, unsigned mode) {
    std::filesystem::permissions(
        std::filesystem::path(node_.tree.path()) / "proc/4242/root/dev/infiniband" / name,
        static_cast<std::filesystem::perms>(mode));
  }

  v1::NodeSnapshot See(const std::string& netns = "4242") {
    const auto target = FindJob(node_.fake.host().root, netns);
    EXPECT_TRUE(target.ok()) << target.status().message();
    v1::NodeSnapshot snapshot = node_.Inspected();
    AddJobView(node_.fake.host(), *target, snapshot);
    return snapshot;
  }

  v1::JobDevice Uverbs() { return See().job().character_devices(0); }

  SmallNode node_;
};

TEST_F(JobViewTest, ProcessLimitsAndPod) {
  node_.File("sys/fs/cgroup/kubepods.slice/rdma.max", "mlx5_0 hca_handle=2 hca_object=max\n");
  const v1::NodeSnapshot snapshot = See();
  const v1::JobView& job = snapshot.job();
  EXPECT_EQ(job.pid(), 4242U);
  EXPECT_EQ(job.process(), "python3");
  EXPECT_EQ(job.memlock().soft_bytes(), 65536U);
  EXPECT_EQ(job.memlock().hard_bytes(), 8388608U);
  EXPECT_EQ(job.memlock().source(), "proc/4242/limits");
  EXPECT_EQ(job.pod_uid(), kPod);
  EXPECT_THAT(job.cgroup(), HasSubstr("cri-containerd-77.scope"));
  EXPECT_EQ(job.rdma_cgroup_limits(), "mlx5_0 hca_handle=2 hca_object=max");
  EXPECT_FALSE(job.has_network_namespace()) << "a captured tree has no namespaces";
  EXPECT_THAT(job.rdma_devices(), ElementsAre("mlx5_0"));
  EXPECT_THAT(job.usable_rdma_devices(), ElementsAre("mlx5_0"));
  EXPECT_THAT(Report(snapshot), HasSubstr("65536 bytes, 8388608 at most"));
}

TEST_F(JobViewTest, OpenFilesAreLeftToTheProgramOfTheCgroup) {
  const v1::JobDevice device = Uverbs();
  EXPECT_EQ(device.path(), "/dev/infiniband/uverbs0");
  EXPECT_TRUE(device.present());
  EXPECT_FALSE(device.has_accessible());
  EXPECT_THAT(device.reason(), HasSubstr("unless the cgroup's device program forbids it"));
}

TEST_F(JobViewTest, ADeviceThatTheContainerWasNotGiven) {
  node_.Remove("proc/4242/root/dev/infiniband/uverbs0");
  const v1::NodeSnapshot snapshot = See();
  EXPECT_FALSE(snapshot.job().character_devices(0).present());
  EXPECT_FALSE(snapshot.job().character_devices(0).accessible());
  EXPECT_THAT(snapshot.job().usable_rdma_devices(), IsEmpty());
  EXPECT_THAT(Report(snapshot), HasSubstr("the container was not given it"));
}

TEST_F(JobViewTest, ADeviceThatIsClosedToItsUser) {
  Mode("uverbs0", 0600);
  if (node_.fake.host().root.Info("proc/4242/root/dev/infiniband/uverbs0")->uid == 1000)
    GTEST_SKIP() << "the tests run as the user of the job";
  EXPECT_FALSE(Uverbs().accessible());
  EXPECT_THAT(Uverbs().reason(), HasSubstr("closed to user 1000"));
  node_.File("proc/4242/status", "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n");
  EXPECT_FALSE(Uverbs().has_accessible()) << "root in the container may";
}

TEST_F(JobViewTest, TheDeviceListOfVersionOneDecides) {
  node_.File("proc/4242/cgroup", "5:devices:/docker/77\n0::/\n")
      .File("sys/fs/cgroup/devices/docker/77/devices.list", "c 1:3 rwm\n");
  EXPECT_FALSE(Uverbs().accessible());
  EXPECT_THAT(Uverbs().reason(), HasSubstr("does not list 0:0"));
  node_.File("sys/fs/cgroup/devices/docker/77/devices.list", "c 1:3 rwm\na *:* rwm\n");
  EXPECT_TRUE(Uverbs().accessible());
}

TEST_F(JobViewTest, AGidOfANetdevElsewhereIsOfNoUse) {
  node_.Remove("sys/class/net").Remove(kNetdev);
  EXPECT_THAT(See().job().usable_rdma_devices(), IsEmpty());
}

TEST_F(JobViewTest, WhatCannotBeReadIsAGap) {
  node_.Remove("proc/4242/limits").Remove("proc/4242/status");
  const v1::NodeSnapshot snapshot = See();
  EXPECT_FALSE(snapshot.job().has_memlock());
  EXPECT_FALSE(snapshot.job().character_devices(0).has_accessible());
  EXPECT_EQ(GapsOf(snapshot, "job_view").size(), 3U) << "limits, status and environ";
  EXPECT_FALSE(snapshot.job().environment_known());
}

TEST_F(JobViewTest, IsFoundByPidNameOrPath) {
  const Dir& root = node_.fake.host().root;
  EXPECT_EQ(FindJob(root, "4242")->namespace_path, "proc/4242/ns/net");
  node_.File("run/netns/blue", "");
  EXPECT_EQ(FindJob(root, "blue")->namespace_path, "run/netns/blue");
  EXPECT_EQ(FindJob(root, "/run/netns/blue")->namespace_path, "run/netns/blue");
  EXPECT_FALSE(FindJob(root, "blue")->pid.has_value());
  EXPECT_EQ(FindJob(root, "4243").status().code(), Code::kNotFound);
  EXPECT_EQ(FindJob(root, "red").status().code(), Code::kNotFound);
  EXPECT_EQ(FindJob(root, "/run/netns/red").status().message(),
            "/run/netns/red: No such file or directory");
  EXPECT_EQ(FindJob(root, "").status().code(), Code::kNotFound);
  EXPECT_EQ(FindJob(root, "///").status().code(), Code::kNotFound);
}

TEST_F(JobViewTest, APodIsFoundByAnyProcessButPause) {
  const Dir& root = node_.fake.host().root;
  node_.File("proc/17/comm", "pause\n").File("proc/17/cgroup", kSlice);
  EXPECT_EQ(FindPod(root, kPod)->pid, 4242U);
  node_.Remove("proc/4242");
  EXPECT_EQ(FindPod(root, "0C1D2E3F-4A5B-6C7D-8E9F-0A1B2C3D4E5F")->pid, 17U);
  EXPECT_EQ(FindPod(root, "0").status().code(), Code::kNotFound);
}

TEST(PodUidTest, OfBothCgroupDrivers) {
  EXPECT_EQ(PodUid(kSlice), kPod);
  EXPECT_EQ(PodUid(Format("11:devices:/kubepods/besteffort/pod{}/77ab\n0::/\n", kPod)), kPod);
  EXPECT_EQ(PodUid(Format("0::/kubepods/pod{}\n", kPod)), kPod);
  EXPECT_EQ(PodUid("0::/kubelet.slice/kubelet-kubepods.slice/x"), "");
  EXPECT_EQ(PodUid("0::/kubepods.slice/kubepods-pod81dc9bdb52d04dc20036dbd8313ed055.slice"),
            "81dc9bdb52d04dc20036dbd8313ed055")
      << "a pod of a file";
  EXPECT_EQ(PodUid("0::/user.slice/user-1000.slice/podman.scope\n"), "");
  EXPECT_EQ(PodUid(""), "");
}

TEST(MayReadWriteTest, ByOwnerGroupOthersAndCapability) {
  const host::FileInfo file{
      .mode = 0660, .uid = 0, .gid = 44, .inode = 1, .device_major = 231, .device_minor = 192};
  EXPECT_TRUE(MayReadWrite({.uid = 0, .gid = 0}, file));
  EXPECT_FALSE(MayReadWrite({.uid = 1, .gid = 1}, file));
  EXPECT_TRUE(MayReadWrite({.uid = 1, .gid = 44}, file));
  EXPECT_TRUE(MayReadWrite({.uid = 1, .gid = 1, .groups = {7, 44}}, file));
  EXPECT_TRUE(MayReadWrite({.uid = 1, .gid = 1, .capabilities = 2}, file));
  host::FileInfo backwards = file;
  backwards.mode = 0066;
  EXPECT_FALSE(MayReadWrite({.uid = 0, .gid = 0}, backwards)) << "the first class that fits counts";
}

TEST(DeviceListedTest, ByTypeNumbersAndAccess) {
  EXPECT_TRUE(DeviceListed("c 231:192 rw", 231, 192));
  EXPECT_TRUE(DeviceListed("c 1:3 rwm;c 231:* rwm", 231, 192));
  EXPECT_FALSE(DeviceListed("c 231:* r", 231, 192));
  EXPECT_FALSE(DeviceListed("b 231:192 rwm", 231, 192));
  EXPECT_FALSE(DeviceListed("c 231:193 rwm\nnonsense\nc 7 rw", 231, 192));
  EXPECT_FALSE(DeviceListed("", 231, 192));
}

TEST(ParseCredentialsTest, NeedsUidAndGid) {
  const auto who = ParseCredentials(kStatus);
  ASSERT_TRUE(who.ok());
  EXPECT_EQ(who->uid, 1000U);
  EXPECT_THAT(who->groups, ElementsAre(44U, 1001U));
  EXPECT_EQ(ParseCredentials("Uid:\t0\t0\t0\t0\n").status().code(), Code::kDataLoss);
  EXPECT_FALSE(ParseCredentials("Uid:\tx\ty\tz\t0\nGid:\t0\t0\t0\t0\n").ok());
}

}  // namespace
}  // namespace fabric::inspect
