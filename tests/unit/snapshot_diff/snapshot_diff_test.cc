// Snapshots as lines, and what differs between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "daemon/snapshot_diff/difference.h"
#include "daemon/snapshot_diff/history.h"
#include "proto/snapshot_change.h"
#include "tests/testing/nodes.h"

namespace fabric::snapshot_diff {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::NetdevOf;
using ::testing::Not;
using testing::PortOf;
using testing::RoceNode;

std::vector<std::string> Lines(const FieldValues& values) {
  std::vector<std::string> lines;
  for (const FieldValue& value : values) lines.push_back(value.path + ": " + value.value);
  return lines;
}

// "path: before > after", "-" for absent.
template <class List>
std::vector<std::string> Lines(const List& differences, bool counters) {
  std::vector<std::string> lines;
  for (const v1::FieldDifference& each : differences)
    if (each.counter() == counters)
      lines.push_back(Format("{}: {} > {}", each.path(), each.before_absent() ? "-" : each.before(),
                             each.after_absent() ? "-" : each.after()));
  return lines;
}

TEST(Flatten, GoesByTheNamesThatPeopleKnow) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  node.mutable_host()->set_kernel_command_line("BOOT_IMAGE=/vmlinuz root=UUID=1-2 iommu=pt quiet");
  auto& hugepages = *node.mutable_host()->add_hugepages();
  hugepages.set_page_bytes(2097152);
  hugepages.set_total(8);
  hugepages.set_free(3);
  node.mutable_host()->mutable_booted_at()->set_seconds(5);
  const auto lines = Lines(Flatten(node));
  for (const char* line :
       {"net_interfaces[rail0]: there", "net_interfaces[rail0].mtu_bytes: 9000",
        "net_interfaces[rail0].dcb.pfc.enabled_mask: 3",
        "net_interfaces[rail0].dcb.dscp_to_priority[26]: 3",
        "net_interfaces[rail0].dcb.trust: dscp", "rdma_devices[mlx5_0].ports[1].state: ACTIVE",
        "rdma_devices[mlx5_0].ports[1].physical_state: LinkUp",
        "rdma_devices[mlx5_0].protocol: RoCE", "host.kernel_command_line[iommu]: pt",
        "host.kernel_command_line[quiet]: there", "host.hugepages[2097152].total: 8"})
    EXPECT_THAT(lines, Contains(line));
  for (const std::string& line : lines) {
    EXPECT_FALSE(line.starts_with("taken_at")) << line;
    EXPECT_FALSE(line.starts_with("host.hugepages[2097152].free")) << line;
    EXPECT_FALSE(line.starts_with("host.booted_at")) << line;
    EXPECT_FALSE(line.starts_with("counters")) << line;
  }
}

TEST(Flatten, GivesEveryPathOnceAndSorted) {
  for (const auto make : {testing::RoceNode, testing::BnxtNode, testing::InfinibandNode}) {
    v1::NodeSnapshot node = make({.number = 1});
    *node.add_net_interfaces() = NetdevOf(node, 0);  // A second one of a name
    const FieldValues values = Flatten(node);
    for (std::size_t i = 1; i < values.size(); ++i) EXPECT_LT(values[i - 1].path, values[i].path);
  }
}

TEST(Flatten, CountersStandApart) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  node.clear_counters();
  node.clear_pci_functions();
  NetdevOf(node, 0).set_carrier_down_count(4);
  auto& set = *node.add_counters();
  set.set_device("mlx5_0");
  set.set_port(1);
  auto& counter = *set.add_counters();
  counter.set_name("symbol_error");
  counter.set_value(7);
  auto& line = *node.add_kernel_log();
  line.set_category("mlx5");
  line.set_text("mlx5_core 0000:17:00.0: health 12");
  line.set_count(3);
  EXPECT_THAT(Lines(FlattenCounters(node)),
              ElementsAre("counters[mlx5_0/1].symbol_error: 7",
                          "kernel_log[mlx5: mlxN_core N:N:N.N: health N]: 3",
                          "net_interfaces[rail0].carrier_down_count: 4"));
  EXPECT_THAT(Lines(Flatten(node)), Not(Contains("net_interfaces[rail0].carrier_down_count: 4")));
}

TEST(Diff, SettingsComeBeforeCounters) {
  v1::NodeSnapshot a = RoceNode({.number = 1});
  v1::NodeSnapshot b = a;
  NetdevOf(b, 1).set_mtu_bytes(1500);
  NetdevOf(a, 0).set_carrier_down_count(1);
  NetdevOf(b, 0).set_carrier_down_count(2);
  const auto response = Diff(a, b);
  ASSERT_EQ(response.differences_size(), 2);
  EXPECT_EQ(response.differences(0).path(), "net_interfaces[rail1].mtu_bytes");
  EXPECT_EQ(response.differences(0).before(), "9000");
  EXPECT_EQ(response.differences(0).after(), "1500");
  EXPECT_FALSE(response.differences(0).counter());
  EXPECT_TRUE(response.differences(1).counter());
  EXPECT_TRUE(Diff(a, a).differences().empty());
}

TEST(Diff, WhatCouldNotBeReadComesBehindSettings) {
  const v1::NodeSnapshot before = RoceNode({});
  v1::NodeSnapshot after = before;
  v1::Gap& gap = *after.add_gaps();
  gap.set_inspector("dcb");
  gap.set_path("netlink dcb");
  gap.set_code(v1::GAP_CODE_UNAVAILABLE);
  NetdevOf(after, 0).set_mtu_bytes(1500);
  const v1::DiffNodeResponse diff = Diff(before, after);
  ASSERT_GE(diff.differences_size(), 2);
  EXPECT_TRUE(diff.differences(0).path().starts_with("net_interfaces"));
  EXPECT_TRUE(diff.differences(diff.differences_size() - 1).path().starts_with("gaps["));
}

TEST(Diff, WhatOneSideLacksIsOneLine) {
  const v1::NodeSnapshot a = RoceNode({.number = 1});
  v1::NodeSnapshot b = a;
  b.mutable_rdma_devices()->DeleteSubrange(1, 1);
  EXPECT_THAT(Lines(Diff(a, b).differences(), false),
              ElementsAre("rdma_devices[mlx5_1]: there > -"));
}

TEST(Diff, OfTwoHealthyNodesOnlyNamesAndAddressesDiffer) {
  for (const auto make : {testing::RoceNode, testing::LabNode, testing::RxeNode, testing::BnxtNode,
                          testing::InfinibandNode, testing::IwarpNode}) {
    const auto response = Diff(make({.number = 1}), make({.number = 2}));
    EXPECT_FALSE(response.differences().empty());
    for (const v1::FieldDifference& difference : response.differences())
      EXPECT_TRUE(difference.counter() || IsIdentity(difference.path())) << difference.path();
  }
}

TEST(IsIdentity, KnowsWhatDiffersBetweenAnyTwoNodes) {
  for (const char* path :
       {"node.name", "net_interfaces[rail0].mac", "net_interfaces[a.b].addresses",
        "rdma_devices[mlx5_0].ports[1].gids[3].gid", "pci_functions[0000:17:00.0].iommu_group",
        "host.kernel_command_line[root]", "gpus[0000:1a:00.0].uuid"})
    EXPECT_TRUE(IsIdentity(path)) << path;
  for (const char* path :
       {"", "nonsense", "net_interfaces[rail0].mtu_bytes", "net_interfaces[rail0",
        "node.agent_version", "rdma_devices[mlx5_0].ports[1].gids[3].type",
        "host.kernel_command_line[iommu]", "pci_functions[0000:17:00.0].iommu_type", "[]",
        "rdma_devices[x]..mac"})
    EXPECT_FALSE(IsIdentity(path)) << path;
}

// What a controller does with each report.
Change Reported(v1::NodeSnapshot& node, const v1::NodeSnapshot& next, std::int64_t at) {
  google::protobuf::Timestamp time;
  time.set_seconds(at);
  const auto change = Difference(node, next);
  if (!change) return {};
  const Change changed = ChangeOf(node, *change, time);
  node = next;
  return changed;
}

TEST(History, OfAReportIsWhatItTouches) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  v1::NodeSnapshot next = node;
  testing::SetMtu(next, 0, 1500);
  next.mutable_node()->set_kernel_release("6.8");
  const std::string before = node.node().kernel_release();
  EXPECT_THAT(Lines(Reported(node, next, 1).differences(), false),
              ElementsAre("net_interfaces[rail0].mtu_bytes: 9000 > 1500",
                          "node.kernel_release: " + before + " > 6.8",
                          "rdma_devices[mlx5_0].ports[1].active_mtu_bytes: 4096 > 1024"));
  EXPECT_THAT(Lines(Reported(node, next, 2).differences(), false), IsEmpty());
}

// That only what is touched is looked at changes nothing.
TEST(History, IsTheSameAsComparingEverything) {
  const v1::NodeSnapshot other = testing::BnxtNode({.number = 2});
  v1::NodeSnapshot node = RoceNode({.number = 1});
  v1::NodeSnapshot next = other;
  *next.mutable_taken_at() = node.taken_at();
  *next.mutable_net_interfaces(0) = node.net_interfaces(0);
  next.mutable_net_interfaces(0)->mutable_dcb()->add_dscp_to_priority(5);
  next.mutable_net_interfaces(0)->clear_mtu_bytes();
  const Differences all = Compare(Flatten(node), Flatten(next));
  const Change changed = Reported(node, next, 1);
  EXPECT_EQ(Lines(changed.differences(), false), Lines(all, false));
}

TEST(History, ThenAndNowLeavesOutWhatWentBack) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  v1::NodeSnapshot next = node;
  std::vector<Change> changes;
  const auto report = [&](std::int64_t at) { changes.push_back(Reported(node, next, at)); };
  NetdevOf(next, 0).set_mtu_bytes(1500);
  NetdevOf(next, 1).set_mtu_bytes(1500);
  report(1);
  NetdevOf(next, 0).set_mtu_bytes(9000);
  report(2);
  NetdevOf(next, 1).set_mtu_bytes(4200);
  report(3);
  const Differences together = Together(changes);
  EXPECT_THAT(Lines(together, false), ElementsAre("net_interfaces[rail1].mtu_bytes: 9000 > 4200"));
  EXPECT_EQ(together[0].changed_at().seconds(), 3);
}

TEST(History, ADeviceThatComesBackWithOtherFirmwareHasThatChanged) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  const v1::RdmaDevice device = node.rdma_devices(0);
  v1::NodeSnapshot next = node;
  std::vector<Change> changes;
  next.mutable_rdma_devices()->DeleteSubrange(0, 1);
  changes.push_back(Reported(node, next, 1));
  EXPECT_THAT(Lines(Together(changes), false), ElementsAre("rdma_devices[mlx5_0]: there > -"));
  auto& back = *next.add_rdma_devices();
  back = device;
  back.set_firmware("99");
  changes.push_back(Reported(node, next, 2));
  EXPECT_THAT(Lines(Together(changes), false),
              ElementsAre("rdma_devices[mlx5_0].firmware: " + device.firmware() + " > 99"));
}

}  // namespace
}  // namespace fabric::snapshot_diff
