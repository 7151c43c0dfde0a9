// Limits, devices of jobs, modules, clocks, drivers that do not answer: memlock_unlimited,
// job_memlock_unlimited, job_devices_usable, uverbs_present, rdma_ucm_loaded, rdma_cgroup_ample,
// numa_balancing_off, clock_synchronized, clock_offset, drivers_answer
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;

void Limit(v1::MemoryLimit& limit, const std::string& source) {
  limit.set_unlimited(false);
  limit.set_soft_bytes(65536);
  limit.set_source(source);
}

TEST(MemlockUnlimited, FailsForALimitWithGpusAndRdma) {
  auto nodes = Nodes(2, RoceNode);
  Limit(*nodes[1].mutable_host()->mutable_default_user_memlock(), "etc/security/limits.conf");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "memlock_unlimited");
  EXPECT_EQ(finding.title(), "locked memory of users is limited to 64 KiB, expected unlimited");
  EXPECT_EQ(finding.evidence(0).source(), "etc/security/limits.conf");
  nodes[1].clear_gpus();
  nodes[1].clear_gpu_nic_paths();
  nodes[0].clear_gpus();
  nodes[0].clear_gpu_nic_paths();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_memlock_unlimited(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("memlock_unlimited n2"));
}

TEST(MemlockUnlimited, SkipsDefaults) {
  auto nodes = Nodes(1, RoceNode);
  v1::HostFacts& host = *nodes[0].mutable_host();
  host.clear_default_user_memlock();
  Limit(*host.mutable_default_service_memlock(), "etc/systemd/system.conf (compiled-in default)");
  host.mutable_default_service_memlock()->set_is_default(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  host.mutable_default_service_memlock()->set_is_default(false);
  Limit(*host.mutable_default_service_memlock(), "etc/systemd/system.conf.d/x.conf");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("of services"));
}

TEST(JobMemlock, FailsForTheLimitOfAContainer) {
  auto nodes = Nodes(1, RoceNode);
  v1::JobView& job = *nodes[0].mutable_job();
  job.set_pid(4711);
  job.set_process("python3");
  Limit(*job.mutable_memlock(), "");
  EXPECT_EQ(TheFailure(nodes).title(),
            "locked memory of job 4711 (python3) is limited to 64 KiB, expected unlimited");
  Limit(*nodes[0].mutable_host()->mutable_default_user_memlock(), "etc/security/limits.conf");
  EXPECT_THAT(Failures(nodes), ElementsAre("job_memlock_unlimited n1")) << "one finding";
  job.mutable_memlock()->set_unlimited(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(JobDevices, FailsForAVisibleButUnusableDevice) {
  auto nodes = Nodes(1, RoceNode);
  v1::JobView& job = *nodes[0].mutable_job();
  job.set_pid(4711);
  job.set_process("python3");
  testing::DeviceOf(nodes[0], 1).add_character_devices("uverbs1");
  testing::DeviceOf(nodes[0], 0).add_character_devices("uverbs0");
  for (const char* name : {"mlx5_0", "mlx5_1"}) job.add_rdma_devices(name);
  job.add_usable_rdma_devices("mlx5_0");
  v1::JobDevice& file = *job.add_character_devices();
  file.set_path("/dev/infiniband/uverbs1");
  file.set_present(true);
  file.set_accessible(false);
  file.set_reason("Operation not permitted");
  EXPECT_EQ(TheFailure(nodes).title(),
            "job 4711 (python3) cannot use mlx5_1, expected usable: /dev/infiniband/uverbs1 "
            "cannot be opened: Operation not permitted");
  job.add_usable_rdma_devices("mlx5_1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(Uverbs, FailsForADeviceWithoutThem) {
  auto nodes = Nodes(1, RoceNode);
  testing::DeviceOf(nodes[0], 1).add_character_devices("uverbs1");
  EXPECT_EQ(TheFailure(nodes).title(), "mlx5_0 without a uverbs device, expected one each");
  testing::DeviceOf(nodes[0], 1).clear_character_devices();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not known";
  v1::Gap& gap = *nodes[0].add_gaps();
  gap.set_inspector("character_devices");
  gap.set_code(v1::GAP_CODE_NOT_FOUND);
  EXPECT_EQ(TheFailure(nodes).title(),
            "ib_uverbs is not loaded, expected loaded: programs cannot use RDMA");
  nodes[0].set_captured(true);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not captured";
}

TEST(RdmaUcm, FailsForIwarpWithoutIt) {
  auto nodes = Nodes(1, testing::IwarpNode);
  nodes[0].mutable_host()->mutable_modules()->RemoveLast();
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_ucm_loaded n1"));
  nodes[0].mutable_host()->clear_modules();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not known";
}

TEST(RdmaCgroup, FailsForALowLimit) {
  auto nodes = Nodes(1, RoceNode);
  v1::JobView& job = *nodes[0].mutable_job();
  job.set_cgroup("/job1");
  job.set_rdma_cgroup_limits("mlx5_0 hca_handle=max hca_object=max;mlx5_1 hca_handle=2");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_THAT(finding.title(), HasSubstr("is mlx5_1 hca_handle=2, expected max"));
  EXPECT_EQ(finding.remedies(0).command(),
            "echo 'mlx5_1 hca_handle=max hca_object=max' > /sys/fs/cgroup/job1/rdma.max");
  job.set_rdma_cgroup_limits("mlx5_0 hca_handle=100 hca_object=20000");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(NumaBalancing, FailsOnGrace) {
  auto nodes = Nodes(2, RoceNode);
  for (auto& node : nodes) {
    node.mutable_host()->set_product("NVIDIA GH200 P4352");
    node.mutable_host()->set_kernel_version("Linux version 6.8.0-1014-nvidia-64k (aarch64)");
    node.mutable_host()->set_numa_nodes(9);
    node.mutable_host()->clear_sysctls();
    v1::Sysctl& sysctl = *node.mutable_host()->add_sysctls();
    sysctl.set_name("kernel.numa_balancing");
    sysctl.set_value("0");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[0].mutable_host()->mutable_sysctls(0)->set_value("1");
  EXPECT_EQ(TheFailure(nodes).title(), "kernel.numa_balancing is 1, expected 0 on NVIDIA Grace");
}

TEST(NumaBalancing, FailsWithAmdGpus) {
  auto nodes = Nodes(1, RoceNode);
  v1::HostFacts& host = *nodes[0].mutable_host();
  host.set_numa_nodes(2);
  host.mutable_sysctls(0)->set_value("1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[0].mutable_gpus(0)->set_driver("amdgpu");
  nodes[0].mutable_gpus(0)->set_vendor_id("1002");
  EXPECT_THAT(Failures(nodes), ElementsAre("numa_balancing_off n1"));
}

TEST(ClockSynchronized, FailsWhenMostNodesAreSynchronized) {
  auto nodes = Nodes(3, RoceNode);
  nodes[1].mutable_time_sync()->set_synchronized(false);
  EXPECT_EQ(TheFailure(nodes).title(),
            "clock is not synchronized, expected synchronized (2 of 3 nodes are)");
  nodes[2].mutable_time_sync()->set_synchronized(false);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[2].clear_time_sync();
  v1::Expectations expect;
  expect.set_time_offset_max_us(1000);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("clock_synchronized n2"));
}

TEST(ClockOffset, ComparesWithTheProfile) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].mutable_time_sync()->set_offset_seconds(-0.25);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_time_offset_max_us(100'000);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "clock is 250000 us off, expected at most 100000 us");
}

TEST(DriversAnswer, FailsForABlockedDriver) {
  auto nodes = Nodes(2, RoceNode);
  v1::Gap& gap = *nodes[0].add_gaps();
  gap.set_inspector("port_counters");
  gap.set_code(v1::GAP_CODE_DEADLINE_EXCEEDED);
  gap.set_reason("something that it asked does not answer");
  EXPECT_EQ(TheFailure(nodes).title(),
            "a driver does not answer (port_counters), expected an answer: something that it "
            "asked does not answer");
}

}  // namespace
}  // namespace fabric::rules
