// Faults of jobs in real clusters, and variations with other vendors, IPv6, VLANs, bonds and
// containers: the one finding that names the cause, and no other.
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
using testing::NetdevOf;
using testing::Nodes;
using testing::PortOf;
using testing::SetVariable;
using Node = v1::NodeSnapshot;
using Fleet = std::vector<Node>;

void AddIpv6Gid(Node& node, std::uint32_t rail, std::uint32_t index, const std::string& netdev) {
  const int number = std::stoi(node.node().name().substr(1));
  v1::Gid& gid = *PortOf(node, rail).add_gids();
  gid.set_index(index);
  gid.set_gid(Format("fd00:0000:0000:{:04x}:0000:0000:0000:{:04x}", rail, number));
  gid.set_ipv6(Format("fd00:0:0:{:x}::{:x}", rail, number));
  gid.set_type(v1::GID_TYPE_ROCE_V2);
  gid.set_netdev(netdev);
}

Fleet Ipv6Fleet(Node (*make)(const testing::NodeOptions&)) {
  Fleet nodes = Nodes(3, make);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::DropAddress(node, rail);
      AddIpv6Gid(node, rail, 2, PortOf(node, rail).netdev());
    }
  return nodes;
}

// A container of another site pins index 3. Here the addresses of the netdev are IPv6 only.
TEST(JobCase, IndexOfIpv4IsEmptyOnAnIpv6Fabric) {
  for (auto* const make : {testing::RoceNode, testing::BnxtNode}) {
    Fleet nodes = Ipv6Fleet(make);
    v1::JobView& job = AddJob(nodes[0]);
    SetVariable(job, "NCCL_IB_GID_INDEX", "3");
    EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("GID 3 is empty"));
    SetVariable(job, "NCCL_IB_GID_INDEX", "2");
    EXPECT_THAT(Failures(nodes), IsEmpty()) << "a unique local address is routable";
  }
}

// The library finds no IPv4 address in its range and falls back to a fixed index.
TEST(JobCase, FallbackIndexIsLinkLocalOnBroadcom) {
  Fleet nodes = Nodes(3, testing::BnxtNode);
  SetVariable(AddJob(nodes[0]), "UCX_IB_GID_INDEX", "1");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("GID 1 is link-local on bnxt_re0/1"));
}

// With a VLAN the pairs of the VLAN's address come after those of the port. Both can be used.
TEST(JobCase, IndexOfAVlanAddressIsUsable) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  for (Node& node : nodes) {
    v1::NetInterface& vlan = *node.add_net_interfaces();
    vlan.set_name("rail0.7");
    vlan.mutable_vlan()->set_id(7);
    vlan.mutable_vlan()->set_lower("rail0");
    vlan.mutable_vlan()->add_egress_priorities(3);
    vlan.set_mtu_bytes(9000);
    NetdevOf(node, 0).add_uppers("rail0.7");
    AddIpv6Gid(node, 0, 5, "rail0.7");
  }
  SetVariable(AddJob(nodes[0]), "NCCL_IB_GID_INDEX", "5");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  SetVariable(*nodes[0].mutable_job(), "NCCL_IB_GID_INDEX", "4");
  EXPECT_THAT(Failures(nodes), ElementsAre("job_gid_index_usable n1"));
}

// Two layers set the index: the environment hides the file of the system.
TEST(JobCase, ProcessesOfOneNodeWithDifferentSettings) {
  Fleet nodes = Nodes(2, testing::RoceNode);
  for (const char* index : {"3", "1", "2"}) {
    v1::RdmaProcess& process = *nodes[0].add_rdma_processes();
    process.set_name("rank");
    process.set_pid(100 + static_cast<std::uint32_t>(index[0]));
    process.set_environment_known(true);
    SetVariable(process, "NCCL_IB_GID_INDEX", index);
  }
  EXPECT_THAT(Failures(nodes), ElementsAre("job_gid_index_usable n1", "job_gid_index_usable n1"));
}

// A name of a bond in the list of a job on nodes where no bond was formed.
TEST(JobCase, ListedBondDoesNotExist) {
  Fleet nodes = Nodes(2, testing::RoceNode);
  SetVariable(AddJob(nodes[1]), "NCCL_IB_HCA", "=mlx5_bond_0:1");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("names mlx5_bond_0"));
}

// Rails without routes between them, IPv6: RCCL with PXN off fails for peers of another rail.
TEST(JobCase, Ipv6RailsAreIsolatedAndPxnIsOff) {
  Fleet nodes = Ipv6Fleet(testing::BnxtNode);
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    AddRoute(nodes[0], Format("fd00:0:0:{:x}::/64", rail), Format("rail{}", rail));
  AddRoute(nodes[0], "::/0", "eth0", "fd01::1");
  v1::JobView& job = AddJob(nodes[0]);
  Map(job, "librccl", "1.0.60200");
  SetVariable(job, "NCCL_PXN_DISABLE", "1");
  EXPECT_THAT(TheFailure(nodes).title(),
              HasSubstr("no route from fd00:0:0:0::1 over rail0 to fd00:0:0:1::1"));
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    AddRoute(nodes[0], "::/0", Format("rail{}", rail), Format("fd00:0:0:{:x}::ff", rail));
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

// A job inside a container without the environment of the host: NCCL takes the storage bond, too.
TEST(JobCase, StorageBondAmongInfinibandRails) {
  Fleet nodes = Nodes(2, testing::InfinibandNode, {.rails = 4});
  for (Node& node : nodes) {
    v1::RdmaDevice ethernet =
        testing::RoceNode({.number = node.node().name() == "n1" ? 1U : 2U, .rails = 5})
            .rdma_devices(4);
    ethernet.set_name("mlx5_bond_0");
    ethernet.mutable_function()->set_role(v1::FUNCTION_ROLE_STORAGE);
    ethernet.mutable_ports(0)->clear_netdev();
    ethernet.clear_pci_address();
    *node.add_rdma_devices() = ethernet;
  }
  v1::JobView& job = AddJob(nodes[0]);
  Map(job, "libnccl", "2.27.3");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("job_devices_one_link_layer n1"));
  SetVariable(job, "NCCL_IB_HCA", "^mlx5_bond");
  EXPECT_THAT(Failures(nodes),
              ::testing::Not(::testing::Contains("job_devices_one_link_layer n1")));
}

}  // namespace
}  // namespace fabric::rules
