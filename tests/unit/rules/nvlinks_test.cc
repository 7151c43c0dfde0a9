// nvlinks_active, nvlinks_equal, nvlink_errors_like_equals, log_nvlinks_healthy
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Node = v1::NodeSnapshot;

constexpr std::uint32_t kLinks = 18;

// Four GPUs with 18 NVLinks, in three nodes.
std::vector<Node> GpuNodes() {
  auto nodes = testing::Nodes(3, testing::RoceNode);
  for (Node& node : nodes) {
    const v1::Gpu first = node.gpus(0);
    node.clear_gpus();
    node.clear_gpu_nic_paths();
    for (std::uint32_t number = 0; number < 4; ++number) {
      v1::Gpu& gpu = *node.add_gpus();
      gpu = first;
      gpu.set_pci_address(Format("0000:{:02x}:00.0", 0x1b + number));
      gpu.set_nvlinks(kLinks);
      gpu.set_nvlinks_active(kLinks);
      for (std::uint32_t index = 0; index < kLinks; ++index) {
        v1::Nvlink& link = *gpu.add_links();
        link.set_index(index);
        link.set_active(true);
        link.set_crc_data_errors(index % 3);
        link.set_replay_errors(0);
      }
    }
  }
  return nodes;
}

TEST(Nvlinks, HealthyGpusPass) {
  EXPECT_THAT(Failures(GpuNodes()), IsEmpty());
}

TEST(Nvlinks, GpusWithoutAnyAreHealthy) {
  auto nodes = GpuNodes();
  for (Node& node : nodes)
    for (v1::Gpu& gpu : *node.mutable_gpus()) {
      gpu.set_nvlinks(12);
      gpu.set_nvlinks_active(0);
      gpu.clear_links();
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(Nvlinks, AnInactiveLinkIsAFindingOfItsGpu) {
  auto nodes = GpuNodes();
  v1::Gpu& gpu = *nodes[1].mutable_gpus(2);
  gpu.set_nvlinks_active(17);
  gpu.mutable_links(5)->set_active(false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "nvlinks_active");
  EXPECT_EQ(finding.title(), "GPU 0000:1d:00.0 has 17 active NVLinks, expected 18, inactive: 5");
}

TEST(Nvlinks, ANodeWithoutFabricManagerIsOneFinding) {
  auto nodes = GpuNodes();
  for (v1::Gpu& gpu : *nodes[2].mutable_gpus()) gpu.set_nvlinks_active(0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "nvlinks_equal");
  EXPECT_THAT(finding.title(), HasSubstr("active NVLinks of a GPU 0, expected 18"));
}

TEST(Nvlinks, ProfileDecidesAndAsksForTheLibrary) {
  v1::Expectations expect;
  expect.set_nvlinks(18);
  auto nodes = GpuNodes();
  for (v1::Gpu& gpu : *nodes[0].mutable_gpus()) gpu.set_nvlinks_active(12);
  EXPECT_THAT(Failures({nodes[0]}, Expecting(expect)), ::testing::SizeIs(4));
  for (v1::Gpu& gpu : *nodes[0].mutable_gpus()) gpu.clear_nvlinks_active();
  EXPECT_THAT(Unknowns({nodes[0]}, Expecting(expect)), ElementsAre("nvlinks_active n1"));
}

TEST(Nvlinks, ErrorsAreComparedWithOtherLinks) {
  auto nodes = GpuNodes();
  Node& node = nodes[1];
  node.mutable_host()->mutable_booted_at()->set_seconds(node.taken_at().seconds() - 36'000);
  node.mutable_gpus(1)->mutable_links(7)->set_crc_data_errors(5000);
  node.mutable_gpus(2)->mutable_links(7)->set_crc_data_errors(4000);  // The other end
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "nvlink_errors_like_equals");
  EXPECT_EQ(finding.title(),
            "NVLink 7 of GPU 0000:1c:00.0 has 5000 CRC errors, 0 replays, 0 recoveries, 500 an "
            "hour since boot, expected at most 2 as on other links");
  for (v1::Gpu& gpu : *node.mutable_gpus())
    for (v1::Nvlink& link : *gpu.mutable_links()) link.set_crc_data_errors(4000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "all have the same";
}

TEST(NvlinkLog, FatalLinesAreFindings) {
  for (const auto& [category, text, fails] :
       {std::tuple{"sxid", "nvidia-nvswitch3: SXid (PCI:0000:06:00.0): 24007, Fatal, Link 46",
                   true},
        {"sxid", "nvidia-nvswitch3: SXid (PCI:0000:06:00.0): 12028, Non-fatal, Link 46", false},
        {"xid", "NVRM: Xid (PCI:0000:1b:00): 74, pid=9, NVLink: fatal error", true}}) {
    auto nodes = GpuNodes();
    testing::Logged(nodes[0], category, text);
    if (fails)
      EXPECT_EQ(TheFailure(nodes).rule(), "log_nvlinks_healthy") << text;
    else
      EXPECT_THAT(Failures(nodes), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace fabric::rules
