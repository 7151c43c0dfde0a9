// Rules about the environment and libraries of jobs: job_gid_index_usable,
// job_roce_version_routable, job_pkey_index_used, job_traffic_class_lossless,
// traffic_class_without_rules, gpu_initiated_traffic_class, job_devices_exist,
// job_devices_one_link_layer, job_crosses_rails, rails_routed, job_nccl_finds_peermem,
// job_nccl_version, rdma_core_equal, job_hop_limit, roce_hop_limit,
// job_adaptive_routing
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/jobs.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::AddJob;
using testing::AddRoute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Map;
using testing::Nodes;
using testing::PortOf;
using testing::RoceNode;
using testing::SetVariable;
using ::testing::StartsWith;
using Fleet = std::vector<v1::NodeSnapshot>;

Fleet FleetWith(const char* variable, const char* value,
                v1::NodeSnapshot (*make)(const testing::NodeOptions&) = RoceNode) {
  Fleet nodes = Nodes(3, make);
  SetVariable(AddJob(nodes[1]), variable, value);
  return nodes;
}

// RoCE nodes have at index 0 and 1 link-local GIDs, at 2 RoCE v1 and at 3 RoCE v2.
TEST(JobGidIndex, FailsForAGidThatNoRouterForwards) {
  const std::pair<const char*, const char*> wrong[] = {
      {"0", "RoCE v1"}, {"1", "link-local"}, {"2", "RoCE v1"}, {"7", "empty"}};
  for (const auto& [index, problem] : wrong)
    for (const char* name : {"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"}) {
      const v1::Finding finding = TheFailure(FleetWith(name, index));
      EXPECT_EQ(finding.title(),
                Format("{}={} of job 4711 (python3): GID {} is {} on mlx5_0/1, mlx5_1/1, expected "
                       "RoCE v2 with a routable address",
                       name, index, index, problem));
      EXPECT_EQ(finding.remedies(0).command(), Format("unset {}", name));
      EXPECT_EQ(finding.remedies(1).command(), Format("export {}=3", name));
      EXPECT_EQ(finding.affected_size(), 2);
    }
  for (const char* right : {"3", "-1", "auto"})
    EXPECT_THAT(Failures(FleetWith("NCCL_IB_GID_INDEX", right)), IsEmpty()) << right;
  EXPECT_THAT(Failures(FleetWith("NCCL_IB_GID_INDEX", "0", testing::InfinibandNode)), IsEmpty());
}

TEST(JobGidIndex, LooksAtTheDevicesOfTheJobOnly) {
  Fleet nodes = FleetWith("NCCL_IB_GID_INDEX", "3");
  auto& gids = *PortOf(nodes[1], 1).mutable_gids();
  gids[2].set_index(4);
  gids[3].set_index(5);
  nodes.resize(2);
  nodes.erase(nodes.begin());
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("GID 3 is empty on mlx5_1/1"));
  SetVariable(*nodes[0].mutable_job(), "NCCL_IB_HCA", "=mlx5_0");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  SetVariable(*nodes[0].mutable_job(), "NCCL_IB_HCA", "^mlx5_1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(JobGidIndex, IsUnknownWithoutTheEnvironment) {
  Fleet nodes = Nodes(1, RoceNode);
  AddJob(nodes[0]).set_environment_known(false);
  v1::Gap& gap = *nodes[0].add_gaps();
  gap.set_inspector("rdma_processes");
  gap.set_path("proc/PID/environ");
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  gap.set_reason("Permission denied");
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("job_gid_index_usable n1"));
}

TEST(JobProcesses, AreJudgedLikeTheJob) {
  Fleet nodes = Nodes(2, RoceNode);
  v1::RdmaProcess& process = *nodes[0].add_rdma_processes();
  process.set_name("train.py");
  process.set_pid(99);
  process.set_environment_known(true);
  SetVariable(process, "NCCL_IB_GID_INDEX", "2");
  *nodes[0].add_rdma_processes() = process;
  EXPECT_THAT(TheFailure(nodes).title(), StartsWith("NCCL_IB_GID_INDEX=2 of job 99 (train.py)"));
  for (v1::RdmaProcess& one : *nodes[0].mutable_rdma_processes()) {
    one.set_pod_namespace("ml");
    one.set_pod_name("train-0");
  }
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("of job 99 (train.py, pod ml/train-0)"));
}

TEST(JobRoceVersion, FailsForVersionOne) {
  EXPECT_THAT(Failures(FleetWith("NCCL_IB_ROCE_VERSION_NUM", "1")),
              ElementsAre("job_roce_version_routable n2"));
  EXPECT_THAT(Failures(FleetWith("NCCL_IB_ROCE_VERSION_NUM", "2")), IsEmpty());
}

TEST(JobPkey, FailsForTheIndexOfAnEmptySlot) {
  Fleet nodes = FleetWith("NCCL_IB_PKEY", "2", testing::InfinibandNode);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "indexes not known";
  for (std::uint32_t rail = 0; rail < 2; ++rail) PortOf(nodes[1], rail).add_pkey_indexes(0);
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("P_Key 2 is empty on mlx5_0/1, mlx5_1/1"));
  for (std::uint32_t rail = 0; rail < 2; ++rail) PortOf(nodes[1], rail).set_pkey_indexes(0, 2);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

// Priority 3 has PFC; DSCP d has priority d / 8.
TEST(JobTrafficClass, FailsForALossyPriority) {
  const v1::Finding finding = TheFailure(FleetWith("NCCL_IB_TC", "160"));
  EXPECT_EQ(finding.rule(), "job_traffic_class_lossless");
  EXPECT_EQ(finding.title(),
            "NCCL_IB_TC=160 of job 4711 (python3): priority 5 (DSCP 40) on mlx5_0/1, mlx5_1/1, "
            "expected a priority with PFC (3)");
  EXPECT_THAT(Failures(FleetWith("UCX_IB_TRAFFIC_CLASS", "160")),
              ElementsAre("job_traffic_class_lossless n2"));
  for (const char* right : {"106", "104", "0x6a"})
    EXPECT_THAT(Failures(FleetWith("NCCL_IB_TC", right)), IsEmpty()) << right;
  EXPECT_THAT(Failures(FleetWith("NCCL_IB_TC", "160", testing::InfinibandNode)), IsEmpty());
}

TEST(JobTrafficClass, ComparesWithTheProfile) {
  v1::Expectations expect;
  expect.set_data_dscp(26);
  const v1::Finding finding = TheFailure(FleetWith("NCCL_IB_TC", "96"), Expecting(expect));
  EXPECT_THAT(finding.title(), HasSubstr("DSCP 24 on mlx5_0/1"));
  EXPECT_EQ(finding.remedies(0).command(), "export NCCL_IB_TC=106");
}

TEST(JobTrafficClass, IsZeroForNcclWithoutTheVariable) {
  Fleet nodes = Nodes(3, RoceNode);
  v1::JobView& job = AddJob(nodes[0]);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not NCCL";
  Map(job, "libnccl", "2.27.3");
  EXPECT_THAT(TheFailure(nodes).title(),
              StartsWith("NCCL_IB_TC of job 4711 (python3) is not set: priority 0 (DSCP 0)"));
  for (v1::NodeSnapshot& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(106);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the driver overrides it";
}

TEST(JobTrafficClass, DoesNotMatterWithoutVerbs) {
  Fleet nodes = FleetWith("NCCL_IB_TC", "160");
  SetVariable(*nodes[1].mutable_job(), "NCCL_IB_DISABLE", "1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(TrafficClassRules, AreReported) {
  Fleet nodes = Nodes(1, RoceNode);
  v1::RoceDefaults& defaults = *PortOf(nodes[0], 1).mutable_roce_defaults();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  defaults.add_traffic_class_rules("src_ip=10.0.0.1,tclass=96");
  EXPECT_THAT(Failures(nodes), ElementsAre("traffic_class_without_rules n1/mlx5_1/1"));
}

TEST(GpuInitiated, FailsWhereOnlyTheDriverSetsTheClass) {
  Fleet nodes = Nodes(2, RoceNode, {.rails = 1});
  for (v1::NodeSnapshot& node : nodes)
    PortOf(node, 0).mutable_roce_defaults()->set_traffic_class(106);
  v1::JobView& job = AddJob(nodes[0]);
  SetVariable(job, "NVSHMEM_IB_ENABLE_IBGDA", "1");
  EXPECT_EQ(TheFailure(nodes).rule(), "gpu_initiated_traffic_class");
  SetVariable(job, "NVSHMEM_IB_TRAFFIC_CLASS", "106");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  job.clear_variables();
  v1::Expectations expect;
  expect.set_gpu_initiated_networking(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)),
              ElementsAre("gpu_initiated_traffic_class n1/mlx5_0/1",
                          "gpu_initiated_traffic_class n2/mlx5_0/1"));
}

TEST(JobDeviceNames, FailForADeviceThatIsNotThere) {
  EXPECT_EQ(TheFailure(FleetWith("NCCL_IB_HCA", "mlx5_0,mlx5_1,mlx5_9:1")).title(),
            "NCCL_IB_HCA of job 4711 (python3) names mlx5_9, expected devices of the node");
  EXPECT_THAT(Failures(FleetWith("UCX_NET_DEVICES", "mlx5_7:1")),
              ElementsAre("job_devices_exist n2"));
  for (const char* right : {"mlx5", "=mlx5_0:1", "^mlx5_9", "^=mlx5_9", ""})
    EXPECT_THAT(Failures(FleetWith("NCCL_IB_HCA", right)), IsEmpty()) << right;
  EXPECT_THAT(Failures(FleetWith("UCX_NET_DEVICES", "all")), IsEmpty());
  EXPECT_THAT(Failures(FleetWith("UCX_NET_DEVICES", "mlx5_0:1,eth0")), IsEmpty());
}

TEST(JobLinkLayers, FailWhenNcclTakesBoth) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 4});
  v1::RdmaDevice& ethernet = *nodes[0].add_rdma_devices();
  ethernet = testing::RoceNode({.number = 1, .rails = 5}).rdma_devices(4);
  ethernet.set_name("mlx5_bond_0");
  ethernet.mutable_function()->set_role(v1::FUNCTION_ROLE_STORAGE);
  v1::JobView& job = AddJob(nodes[0]);
  EXPECT_THAT(Failures(nodes),
              ::testing::Not(::testing::Contains("job_devices_one_link_layer n1")));
  Map(job, "libnccl", "2.27.3");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("job_devices_one_link_layer n1"));
  SetVariable(job, "NCCL_IB_HCA", "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  EXPECT_THAT(Failures(nodes),
              ::testing::Not(::testing::Contains("job_devices_one_link_layer n1")));
  SetVariable(job, "NCCL_IB_HCA", "mlx5");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("job_devices_one_link_layer n1"));
}

TEST(JobCrossesRails, FailsWhereEachRailIsANetwork) {
  Fleet nodes = FleetWith("NCCL_PXN_DISABLE", "1");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "routes are not known";
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    AddRoute(nodes[1], Format("10.10.{}.0/24", rail), Format("rail{}", rail));
  EXPECT_EQ(TheFailure(nodes).title(),
            "NCCL_PXN_DISABLE=1 of job 4711 (python3) connects different rails, expected paths "
            "between them: no route from 10.10.0.2 over rail0 to 10.10.1.2");
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    AddRoute(nodes[1], "10.10.0.0/16", Format("rail{}", rail));
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[1].clear_ip_routes();
  nodes[1].mutable_job()->mutable_variables(0)->set_value("0");
  EXPECT_THAT(Failures(nodes), ::testing::Not(::testing::Contains("job_crosses_rails n2")));
}

TEST(JobCrossesRails, FailsInDifferentInfinibandSubnets) {
  Fleet nodes = Nodes(1, testing::InfinibandNode);
  PortOf(nodes[0], 1).set_subnet_prefix("fe80:0000:0000:0001");
  SetVariable(AddJob(nodes[0]), "NCCL_CROSS_NIC", "1");
  EXPECT_THAT(Failures(nodes), ElementsAre("job_crosses_rails n1"));
}

TEST(RailsRouted, IsJudgedByTheProfile) {
  Fleet nodes = Nodes(2, RoceNode);
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    AddRoute(nodes[0], Format("10.10.{}.0/24", rail), Format("rail{}", rail));
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_rails_routed(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("rails_routed n1"));
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)), ElementsAre("rails_routed n2"));
}

TEST(JobNccl, DoesNotFindTheRenamedModuleBefore223) {
  Fleet nodes = Nodes(1, RoceNode);
  v1::JobView& job = AddJob(nodes[0]);
  SetVariable(job, "NCCL_IB_TC", "106");
  Map(job, "libnccl", "2.22.3");
  EXPECT_EQ(TheFailure(nodes).title(),
            "NCCL 2.22.3 of job 4711 (python3) does not find nvidia_peermem, expected 2.23 or "
            "later: GPUDirect RDMA is off");
  nodes[0].mutable_peer_memory()->add_clients("nv_mem");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "registered by its former name";
  nodes[0].mutable_peer_memory()->clear_clients();
  nodes[0].mutable_peer_memory()->mutable_dma_buf()->set_possible(true);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "dma-buf";
  nodes[0].mutable_peer_memory()->clear_dma_buf();
  job.mutable_libraries(0)->set_version("2.23.4");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(JobNccl, ComparesWithTheProfile) {
  Fleet nodes = Nodes(3, RoceNode);
  for (v1::NodeSnapshot& node : nodes) {
    v1::JobView& job = AddJob(node);
    SetVariable(job, "NCCL_IB_TC", "106");
    Map(job, "libnccl", &node == &nodes[1] ? "2.25.1" : "2.27.3");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "jobs can differ";
  v1::Expectations expect;
  expect.set_nccl_version_min("2.27");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("job_nccl_version n2"));
}

TEST(RdmaCore, IsEqualInTheFleet) {
  Fleet nodes = Nodes(3, RoceNode);
  for (v1::NodeSnapshot& node : nodes) node.mutable_host()->set_rdma_core_version("50");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[2].mutable_host()->set_rdma_core_version("39");
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_core_equal n3"));
}

TEST(HopLimit, FailsForOne) {
  EXPECT_THAT(Failures(FleetWith("UCX_IB_HOP_LIMIT", "1")), ElementsAre("job_hop_limit n2"));
  EXPECT_THAT(Failures(FleetWith("UCX_IB_HOP_LIMIT", "64")), IsEmpty());
  Fleet nodes = Nodes(1, RoceNode);
  PortOf(nodes[0], 0).mutable_roce_defaults()->set_ttl(1);
  EXPECT_EQ(TheFailure(nodes).title(),
            "hop limit of RoCE 1, expected 64 or more (a router discards packets with hop limit "
            "1)");
  PortOf(nodes[0], 0).mutable_roce_defaults()->set_ttl(64);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(AdaptiveRouting, IsWantedOfNcclByTheProfile) {
  Fleet nodes = Nodes(1, RoceNode);
  v1::JobView& job = AddJob(nodes[0]);
  Map(job, "libnccl", "2.27.3");
  SetVariable(job, "NCCL_IB_TC", "106");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_adaptive_routing(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("job_adaptive_routing n1"));
  SetVariable(job, "NCCL_IB_ADAPTIVE_ROUTING", "1");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
