#include "agents/host/lldp/lldpd.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "agents/host/lldp/lldp.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The library made of fake_lldpctl.cc.
std::string FakeLibrary() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_lldpctl.so";
}

TEST(Lldpd, TellsItsNeighborsWithWhatItDoesNotKnowItself) {
  const auto lldpd = OpenLldpd(FakeLibrary());
  for (int i = 0; i < 2; ++i) {
    const auto neighbors = lldpd->Neighbors();
    ASSERT_TRUE(neighbors.ok()) << neighbors.status().message();
    ASSERT_THAT(*neighbors, SizeIs(1)) << "the other one speaks CDP";
    const LldpdNeighbor& neighbor = neighbors->front();
    EXPECT_EQ(neighbor.netdev, "eth0");
    EXPECT_EQ(neighbor.received_at, WallTime(std::chrono::seconds(1'700'000'000)));
    const LldpFrame& frame = neighbor.frame;
    EXPECT_EQ(frame.chassis_id, "aa:bb:cc:dd:ee:ff");
    EXPECT_EQ(frame.chassis_id_subtype, 4u);
    EXPECT_EQ(frame.port_id, "Ethernet7");
    EXPECT_EQ(frame.port_id_subtype, 5u);
    EXPECT_EQ(frame.ttl_s, 120u);
    EXPECT_EQ(frame.port_description, "to node-1");
    EXPECT_EQ(frame.system_name, "leaf1");
    EXPECT_EQ(frame.system_description, "SONiC?");
    EXPECT_THAT(frame.management_addresses, ElementsAre("10.0.0.7"));
    EXPECT_EQ(frame.port_vlan_id, 5u);
    EXPECT_EQ(frame.max_frame_bytes, 9216u);
    EXPECT_FALSE(frame.link_aggregation_enabled);
    ASSERT_TRUE(frame.pfc);
    EXPECT_EQ(frame.pfc->enabled_mask, 0x08u);
    ASSERT_THAT(frame.applications, SizeIs(1));
    EXPECT_EQ(frame.applications[0].priority, 3u);
    EXPECT_EQ(frame.applications[0].selector, 5u);
    EXPECT_EQ(frame.applications[0].protocol, 26u);
  }
}

TEST(Lldpd, ThatDoesNotRunSaysWhere) {
  const auto neighbors = OpenLldpd(FakeLibrary(), "/run/none.socket")->Neighbors();
  EXPECT_EQ(neighbors.status(),
            Status(Code::kUnavailable, "lldpd at /run/none.socket: unable to connect to lldpd"));
}

TEST(Lldpd, WithoutTheLibraryThereIsNobodyToAsk) {
  const auto neighbors = OpenLldpd("libno-such-library.so.1")->Neighbors();
  EXPECT_EQ(neighbors.status().code(), Code::kNotFound);
  EXPECT_THAT(neighbors.status().message(), HasSubstr("libno-such-library.so.1"));
}

TEST(Lldpd, ALibraryWithoutTheFunctionsIsRefused) {
  EXPECT_EQ(OpenLldpd("libm.so.6")->Neighbors().status().code(), Code::kUnimplemented);
}

// With the right to listen and without it.
TEST(Lldp, WhatIsNotHeardIsAskedOfLldpd) {
  const auto lldp = OpenLldp({}, OpenLldpd(FakeLibrary()));
  const std::vector<std::string> netdevs = {"eth0", "eth9"};
  const auto view = lldp->Neighbors(netdevs);
  ASSERT_TRUE(view.ok()) << view.status().message();
  ASSERT_THAT(view->neighbors, SizeIs(1));
  EXPECT_EQ(view->neighbors[0].netdev, "eth0");
  EXPECT_TRUE(view->neighbors[0].by_lldpd);
  const std::vector<std::string> others = {"eth1"};
  EXPECT_THAT(lldp->Neighbors(others)->neighbors, SizeIs(0));
}

}  // namespace
}  // namespace fabric::host
