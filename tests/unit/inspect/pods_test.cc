// Inspector pods, and the pod of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/inspect/inspection.h"
#include "agents/inspect/job/job_view.h"
#include "agents/inspect/report/report.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kUid[] = "0c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f";

class FakePods final : public host::Pods {
 public:
  Result<std::vector<host::Pod>> OfKubelet() const override { return kubelet; }
  Result<std::vector<host::Pod>> OfRuntime() const override { return runtime; }
  const host::PodSockets& sockets() const override { return paths; }

  Result<std::vector<host::Pod>> kubelet = std::vector<host::Pod>();
  Result<std::vector<host::Pod>> runtime = std::vector<host::Pod>();
  host::PodSockets paths = {.kubelet = "/run/kubelet.sock", .runtime = "/run/cri.sock"};
};

host::Pod PodOf(const std::string& name, const std::string& uid,
                std::vector<host::PodDevice> devices = {}) {
  return {.name_space = "ml", .name = name, .uid = uid, .devices = std::move(devices)};
}

// Process 77 of the pod ml/train-0 uses RDMA.
class PodsOfANode : public ::testing::Test {
 protected:
  PodsOfANode() {
    node_.AnswerRdma();
    node_.fake.rdma.processes[7] = {77};
    node_.File("proc/77/comm", "train\n")
        .File("proc/77/environ", "")
        .File("proc/77/maps", "")
        .File("proc/77/cgroup", Format("0::/kubepods/pod{}/a\n", kUid));
    node_.fake.pods = &pods_;
  }

  SmallNode node_;
  FakePods pods_;
};

TEST_F(PodsOfANode, NameTheProcessesThatUseRdma) {
  pods_.runtime = std::vector{PodOf("train-0", kUid), PodOf("web", "1")};
  const v1::NodeSnapshot snapshot = node_.Inspected();
  ASSERT_EQ(snapshot.rdma_processes_size(), 1);
  EXPECT_EQ(snapshot.rdma_processes(0).pod_namespace(), "ml");
  EXPECT_EQ(snapshot.rdma_processes(0).pod_name(), "train-0");
  ASSERT_EQ(snapshot.pods_size(), 1) << "the pod web has nothing to do with the fabric";
  EXPECT_EQ(snapshot.pods(0).uid(), kUid);
  EXPECT_THAT(Report(snapshot), HasSubstr("ml/train-0"));
}

TEST_F(PodsOfANode, HaveTheirDevicesSorted) {
  pods_.kubelet = std::vector{PodOf("train-1", "", {{"rdma/hca", "2"}}),
                              PodOf("train-0", "",
                                    {{"rdma/hca", "1"},
                                     {"nvidia.com/gpu", "GPU-2"},
                                     {"nvidia.com/gpu", "GPU-1"},
                                     {"nvidia.com/gpu", "GPU-2"}}),
                              PodOf("web", "")};
  const v1::NodeSnapshot snapshot = node_.Inspected();
  ASSERT_EQ(snapshot.pods_size(), 2);
  const v1::KubernetesPod& pod = snapshot.pods(0);
  EXPECT_EQ(pod.name(), "train-0");
  EXPECT_FALSE(pod.has_uid());
  ASSERT_EQ(pod.devices_size(), 2);
  EXPECT_EQ(pod.devices(0).resource(), "nvidia.com/gpu");
  EXPECT_THAT(pod.devices(0).ids(), ElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(Report(snapshot), HasSubstr("GPU-1 GPU-2"));
}

TEST_F(PodsOfANode, ASocketThatDoesNotAnswerIsAGapAndTheOtherIsUsed) {
  pods_.kubelet = Status(Code::kDeadlineExceeded, "Deadline Exceeded");
  pods_.runtime = std::vector{PodOf("train-0", kUid)};
  const v1::NodeSnapshot snapshot = node_.Inspected();
  EXPECT_EQ(snapshot.rdma_processes(0).pod_name(), "train-0");
  EXPECT_THAT(GapsOf(snapshot, "pods"), ElementsAre(HasSubstr("run/kubelet.sock")));
  EXPECT_THAT(GapsOf(snapshot, "rdma_processes"), IsEmpty());
}

TEST_F(PodsOfANode, AreNotAskedWithoutTheSetting) {
  pods_.paths = {.kubelet = "/run/kubelet.sock"};
  pods_.runtime = Status(Code::kInternal, "asked");
  EXPECT_THAT(GapsOf(node_.Inspected(), "pods"), IsEmpty());
  node_.fake.pods = nullptr;
  const v1::NodeSnapshot snapshot = node_.Inspected();
  EXPECT_EQ(snapshot.pods_size(), 0);
  EXPECT_EQ(snapshot.rdma_processes(0).pod_uid(), kUid);
  EXPECT_FALSE(snapshot.rdma_processes(0).has_pod_name());
}

TEST_F(PodsOfANode, AreCutAtTheLimitWithAGap) {
  std::vector<host::Pod> many;
  for (int i = 0; i < 600; ++i) many.push_back(PodOf(Format("p{}", i), "", {{"rdma/hca", "1"}}));
  pods_.kubelet = many;
  const v1::NodeSnapshot snapshot = node_.Inspected();
  EXPECT_EQ(snapshot.pods_size(), 512);
  EXPECT_THAT(GapsOf(snapshot, "pods"), ElementsAre(HasSubstr("600 pods")));
}

TEST_F(PodsOfANode, KeepTheirNamesWhenOnlyAnEventIsInspected) {
  pods_.runtime = std::vector{PodOf("train-0", kUid)};
  v1::NodeSnapshot previous = node_.Inspected();
  pods_.runtime = Status(Code::kInternal, "asked");
  const v1::NodeSnapshot next =
      Inspect(node_.fake.host(),
              {.node_name = "", .now = {}, .events = EventKind::kLink, .previous = &previous});
  EXPECT_EQ(next.rdma_processes(0).pod_name(), "train-0");
  EXPECT_EQ(next.pods_size(), 1);
  EXPECT_THAT(GapsOf(next, "pods"), IsEmpty());
}

TEST(PodOfAJob, IsFoundByItsName) {
  const std::vector<host::Pod> pods = {PodOf("train-0", kUid)};
  const auto uid = UidOfPod(pods, "ml/train-0");
  ASSERT_TRUE(uid.ok());
  EXPECT_EQ(*uid, kUid);
  const Status status = UidOfPod(pods, "ml/train-1").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(),
            "no pod 'ml/train-1' on this machine; the container runtime lists 1 pod");
}

TEST_F(PodsOfANode, NameTheJobThatIsInspected) {
  auto target = FindPod(node_.fake.host().root, kUid);
  ASSERT_TRUE(target.ok()) << target.status().message();
  target->pods = {PodOf("train-0", kUid)};
  v1::NodeSnapshot snapshot = node_.Inspected();
  AddJobView(node_.fake.host(), *target, snapshot);
  EXPECT_EQ(snapshot.job().pod_namespace(), "ml");
  EXPECT_EQ(snapshot.job().pod_name(), "train-0");
  EXPECT_THAT(Report(snapshot), HasSubstr(kUid));
}

}  // namespace
}  // namespace fabric::inspect
