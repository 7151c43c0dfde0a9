#include "agents/host/machine.h"

#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

TEST(Machine, OfACapturedTreeHasOnlyFiles) {
  testing::TempTree tree;
  tree.File("sys/class/net/rail0/mtu", "9000\n");
  Machine machine = *Machine::Open(tree.path());
  const Host host = machine.host();
  EXPECT_TRUE(host.captured);
  EXPECT_EQ(*host.root.Number<int>("sys/class/net/rail0/mtu"), 9000);
  EXPECT_EQ(host.rdma.Devices().status().code(), Code::kUnimplemented);
  EXPECT_EQ(host.dcb.Ieee("rail0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(host.ethtool.Driver("rail0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(host.addresses.Addresses().status().code(), Code::kUnimplemented);
  EXPECT_EQ(host.verbs.QueryPort("mlx5_0", 1).status().code(), Code::kUnimplemented);
  EXPECT_EQ(host.verbs.QueryDevice("mlx5_0", 1).status().code(), Code::kUnimplemented);
}

TEST(Machine, IsLiveAtTheRoot) {
  Machine machine = *Machine::Open("/");
  EXPECT_FALSE(machine.host().captured);
  EXPECT_TRUE(machine.host().addresses.Addresses().ok());
}

TEST(Machine, KeepsItsHostWhenItMoves) {
  testing::TempTree tree;
  tree.File("file", "1\n");
  Machine first = *Machine::Open(tree.path());
  const Host host = first.host();
  const Machine second = std::move(first);
  EXPECT_EQ(*host.root.Text("file"), "1");
}

TEST(Machine, NeedsItsRoot) {
  EXPECT_EQ(Machine::Open("/no/such/tree").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace fabric::host
