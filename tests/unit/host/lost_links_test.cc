// Captures without the links of sysfs, or with links that lead nowhere.
#include "agents/host/lost_links.h"

#include <gmock/gmock.h>

#include "agents/host/sysfs.h"
#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TempTree;

class LostLinks : public ::testing::Test {
 protected:
  Dir Root() const { return *Dir::Open(tree_.path()); }
  std::string TextOf(const std::string& name) const {
    const auto text = Root().Text(name);
    return text.ok() ? *text : text.status().message();
  }
  std::vector<std::string> NamesOf(const std::string& name) const {
    const auto dir = Root().Sub(name);
    return dir.ok() ? *dir->Names() : std::vector<std::string>();
  }

  TempTree tree_;
};

TEST_F(LostLinks, ClassEntriesAreInTheFoldersOfTheirFunctions) {
  const std::string card = "sys/bus/pci/devices/0000:05:00.0/";
  tree_.File(card + "infiniband/mlx5_0/fw_ver", "16.28.2006\n")
      .File(card + "net/ens1/mtu", "1500\n")
      .File(card + "mlx5_core.sf.4/infiniband/mlx5_4/fw_ver", "22.41.1000\n")
      .File("sys/bus/pci/devices/0000:06:00.0/virtio0/net/eth0/mtu", "9000\n")
      .File("sys/devices/virtual/infiniband/rxe0/parent", "eth0\n");
  EXPECT_THAT(NamesOf("sys/class/infiniband"), ElementsAre("mlx5_0", "mlx5_4", "rxe0"));
  EXPECT_THAT(NamesOf("sys/class/net"), ElementsAre("ens1", "eth0"));
  EXPECT_EQ(TextOf("sys/class/infiniband/mlx5_0/fw_ver"), "16.28.2006");
  EXPECT_EQ(TextOf("sys/class/infiniband/mlx5_4/fw_ver"), "22.41.1000");
  EXPECT_EQ(TextOf("sys/class/infiniband/rxe0/parent"), "eth0");
  EXPECT_EQ(TextOf("sys/class/net/eth0/mtu"), "9000");
  const Dir net = *Root().Sub("sys/class/net");
  EXPECT_EQ(*net.Sub("ens1")->RealPath("."), card + "net/ens1");
  EXPECT_FALSE(net.Sub("ens2").ok());
  EXPECT_FALSE(Root().Sub("sys/class/infiniband_mad").ok()) << "nothing is in it";
}

TEST_F(LostLinks, FunctionsAreBelowTheirBridges) {
  tree_.File("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor", "0x15b3\n")
      .File("sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/vendor", "0x8086\n")
      .File("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0/hw_rev", "0\n")
      .Directory("sys/devices/system/node");
  EXPECT_THAT(NamesOf("sys/bus/pci/devices"),
              ElementsAre("0000:00:01.0", "0000:00:0e.0", "0000:01:00.0", "10000:e0:06.0"));
  EXPECT_EQ(TextOf("sys/bus/pci/devices/0000:01:00.0/vendor"), "0x15b3");
  EXPECT_EQ(TextOf("sys/bus/pci/devices/10000:e0:06.0/vendor"), "0x8086");
  EXPECT_EQ(TextOf("sys/class/infiniband/mlx5_0/hw_rev"), "0");
}

TEST_F(LostLinks, ALinkThatLeadsNowhereIsFollowedAllTheSame) {
  tree_.Link("sys/class/net/ens1", "../../devices/pci0000:00/0000:05:00.0/net/ens1")
      .Link("sys/class/net/ens2", "../../devices/pci0000:00/0000:05:00.1/net/ens2")
      .File("sys/bus/pci/devices/0000:05:00.0/net/ens1/mtu", "4200\n");
  EXPECT_EQ(TextOf("sys/class/net/ens1/mtu"), "4200");
  EXPECT_EQ(Root().Text("sys/class/net/ens2/mtu").status().code(), Code::kNotFound);
}

TEST_F(LostLinks, WhatIsThereIsNotLookedForElsewhere) {
  tree_.Link("sys/class/net/ens1", "../../devices/pci0000:00/0000:05:00.0/net/ens1")
      .File("sys/devices/pci0000:00/0000:05:00.0/net/ens1/mtu", "1500\n")
      .File("sys/bus/pci/devices/0000:06:00.0/net/moved/mtu", "9000\n")
      .File("sys/bus/pci/devices/0000:06:00.0/net/ens1/speed", "100\n");
  EXPECT_THAT(NamesOf("sys/class/net"), ElementsAre("ens1")) << "a class with links is whole";
  EXPECT_FALSE(Root().Text("sys/class/net/ens1/speed").ok());
  EXPECT_THAT(LostEntries(-1, "sys/class/block"), IsEmpty());
}

TEST_F(LostLinks, OfNoTreeAtAllThereIsNothing) {
  EXPECT_FALSE(Root().Sub("sys/class/infiniband").ok());
  EXPECT_FALSE(Root().Sub("sys/bus/pci/devices").ok());
  EXPECT_FALSE(Root().Has("sys/class/net/../net/eth0"));
}

}  // namespace
}  // namespace fabric::host
