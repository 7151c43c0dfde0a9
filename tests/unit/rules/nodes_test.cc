// Nodes as a whole: node_connected, rdma_device_present, and the nodes that findings are about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rules/engine/engine.h"
#include "proto/affected.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using ::testing::SizeIs;

fleet::NodeRecord RecordOf(const v1::NodeSnapshot& snapshot) {
  fleet::NodeRecord record;
  record.name = snapshot.node().name();
  record.snapshot = snapshot;
  return record;
}

TEST(NodeConnected, FailsForALostNodeAndIsResolvedWhenItIsBack) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : Nodes(3, testing::RoceNode))
    records.push_back(RecordOf(node));
  Engine engine;
  for (const fleet::NodeRecord& record : records) engine.Put(record);
  EXPECT_THAT(engine.Take().found, IsEmpty());
  records[0].state = v1::NODE_STATE_LOST;
  records[0].lost_reason = "no message for 3.0 s";
  records[0].state_since.wall = WallTime(std::chrono::seconds(1'800'000'000));
  engine.PutUnjudged(records[0]);
  const Delta lost = engine.Take();
  ASSERT_THAT(lost.found, SizeIs(1));
  const v1::Finding& finding = lost.found[0];
  EXPECT_EQ(finding.rule(), "node_connected");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_ERROR);
  EXPECT_THAT(finding.title(), HasSubstr("node is lost since 2027-"));
  EXPECT_THAT(finding.title(), HasSubstr("no message for 3.0 s"));
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("systemctl status fabric-agent"));
  EXPECT_THAT(NodesOf(finding), ElementsAre("n1"));
  EXPECT_EQ(lost.counts.fail(), 1u);
  EXPECT_EQ(engine.nodes(), 2u);
  records[0].state = v1::NODE_STATE_CONNECTED;
  engine.Put(records[0]);
  const Delta back = engine.Take();
  EXPECT_THAT(back.gone, ElementsAre(finding.id()));
  EXPECT_EQ(back.counts.fail(), 0u);
}

TEST(NodeConnected, FailsForANodeWithoutRecentSettings) {
  fleet::NodeRecord record = RecordOf(testing::RoceNode({}));
  record.outdated = true;
  Engine engine;
  engine.PutUnjudged(record);
  const Delta delta = engine.Take();
  ASSERT_THAT(delta.found, SizeIs(1));
  EXPECT_THAT(delta.found[0].title(), HasSubstr("has reported no settings since"));
  engine.Remove("n1");
  EXPECT_THAT(engine.Take().gone, ElementsAre(delta.found[0].id()));
}

// Equal numbers of lost and judged nodes are not "all nodes".
TEST(NodeConnected, IsOneFindingForEachLostNode) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : Nodes(6, testing::RoceNode))
    records.push_back(RecordOf(node));
  Engine engine;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i < 3) engine.Put(records[i]);
    if (i < 3) continue;
    records[i].state = v1::NODE_STATE_LOST;
    engine.PutUnjudged(records[i]);
  }
  const Evaluation all = engine.All();
  ASSERT_THAT(all.findings, SizeIs(3));
  for (const v1::Finding& finding : all.findings) EXPECT_EQ(finding.explained_by(), "");
}

void RemoveDevices(v1::NodeSnapshot& node) {
  node.clear_rdma_devices();
  node.clear_gpu_nic_paths();
}

TEST(RdmaDevicePresent, FailsForANodeWithGpusUnlessItsCardIsJudged) {
  auto nodes = Nodes(1, testing::RoceNode);
  RemoveDevices(nodes[0]);
  nodes[0].clear_pci_functions();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rdma_device_present");
  EXPECT_THAT(finding.title(),
              HasSubstr("no RDMA device, expected at least one (1 GPU, no RDMA card)"));
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("lspci"));
  nodes[0].clear_pci_functions();
  v1::PciFunction& card = *nodes[0].add_pci_functions();
  card.set_address("0000:17:00.0");
  card.set_class_code("020700");
  card.set_driver("bnxt_en");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("RDMA card 0000:17:00.0"));
  card.clear_driver();
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_card_has_driver n1"));
}

TEST(RdmaDevicePresent, NamesTheModuleThatIsNotLoaded) {
  auto nodes = Nodes(1, testing::RoceNode);
  RemoveDevices(nodes[0]);
  nodes[0].clear_pci_functions();
  v1::PciFunction& card = *nodes[0].add_pci_functions();
  card.set_address("0000:17:00.0");
  card.set_class_code("020000");
  card.set_driver("bnxt_en");
  nodes[0].mutable_host()->add_modules()->set_name("bnxt_en");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_THAT(finding.title(), HasSubstr("RDMA card 0000:17:00.0 without module bnxt_re"));
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("modprobe bnxt_re"));
  nodes[0].mutable_host()->add_modules()->set_name("bnxt_re");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("(1 GPU, RDMA card 0000:17:00.0)"));
}

TEST(RdmaDevicePresent, LeavesTheNumberOfAProfileToItsRule) {
  auto nodes = Nodes(1, testing::RoceNode);
  RemoveDevices(nodes[0]);
  nodes[0].clear_pci_functions();
  v1::Expectations expect;
  expect.set_fabric_ports(2);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("fabric_port_count_equal n1"));
}

TEST(RdmaDevicePresent, IsUnknownForANodeThatNeedsNone) {
  auto nodes = Nodes(1, testing::RoceNode);
  RemoveDevices(nodes[0]);
  nodes[0].clear_gpus();
  nodes[0].clear_pci_functions();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("rdma_device_present n1"));
}

TEST(RdmaDevicePresent, IsUnknownWhenDevicesCouldNotBeRead) {
  auto nodes = Nodes(1, testing::RoceNode);
  RemoveDevices(nodes[0]);
  nodes[0].clear_pci_functions();
  v1::Gap& gap = *nodes[0].add_gaps();
  gap.set_inspector("rdma_devices");
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  gap.set_reason("Permission denied");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("rdma_device_present n1"));
}

// Subjects

std::vector<std::string> AffectedBy(const v1::Finding& finding) {
  std::vector<std::string> ports;
  for (const v1::Subject& subject : finding.affected())
    ports.push_back(subject.node() + "/" + subject.device());
  return ports;
}

TEST(Affected, OfADuplicateAreAllItsPorts) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::NetdevOf(nodes[2], 1).set_mac(testing::NetdevOf(nodes[0], 1).mac());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_THAT(AffectedBy(finding), ElementsAre("n1/mlx5_1", "n3/mlx5_1"));
  EXPECT_TRUE(Affects(finding, "n1"));
  EXPECT_FALSE(Affects(finding, "n2"));
  EXPECT_EQ(finding.affected_total(), 0u);
}

TEST(Affected, OfARailWithoutMajorityAreAllPorts) {
  auto nodes = Nodes(2, testing::RoceNode);
  testing::SetPfc(nodes[1], 0, 0b11000);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_RAIL);
  EXPECT_THAT(AffectedBy(finding), ElementsAre("n1/mlx5_0", "n2/mlx5_0"));
  EXPECT_EQ(finding.affected(0).rail(), 0u);
}

TEST(Affected, OfACommonCauseAreThoseOfAllItExplains) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings) {
    if (finding.explains().empty()) continue;
    EXPECT_THAT(AffectedBy(finding), ElementsAre("n2/mlx5_0", "n2/mlx5_1"));
    return;
  }
  ADD_FAILURE() << "no common cause";
}

TEST(Affected, IsCutWithTheNumberOfAll) {
  auto nodes = Nodes(300, testing::RoceNode);
  for (v1::NodeSnapshot& node : nodes) node.mutable_node()->set_machine_id("image");
  for (const v1::Finding& finding : Judge(nodes).findings) {
    if (finding.rule() != "duplicate_machine_id") continue;
    EXPECT_EQ(finding.affected_size(), 256);
    EXPECT_EQ(finding.affected_total(), 300u);
    return;
  }
  ADD_FAILURE() << "no finding";
}

// What stays when an unrelated node comes or goes

class StabilityTest : public ::testing::Test {
 protected:
  // n3 has another PFC priority than n1 and n2.
  StabilityTest() {
    auto nodes = Nodes(3, testing::RoceNode);
    testing::SetPfc(nodes[2], 1, 0b11000);
    for (const v1::NodeSnapshot& node : nodes) records_.push_back(RecordOf(node));
    for (const fleet::NodeRecord& record : records_) engine_.Put(record);
    const Delta delta = engine_.Take();
    EXPECT_THAT(delta.found, SizeIs(1));
    if (!delta.found.empty()) before_ = delta.found[0];
  }
  // The finding of n3 as it is now; empty: there is none.
  v1::Finding Now() {
    for (const v1::Finding& finding : engine_.All().findings)
      if (finding.rule() == "pfc_equal_on_rail") return finding;
    return {};
  }

  std::vector<fleet::NodeRecord> records_;
  Engine engine_;
  v1::Finding before_;
};

TEST_F(StabilityTest, APortThatGoesDownDoesNotChangeAFindingOfAnother) {
  testing::LinkDown(records_[0].snapshot, 1);
  engine_.Put(records_[0]);
  EXPECT_EQ(Now().id(), before_.id());
  EXPECT_EQ(Now().title(), before_.title());
  EXPECT_EQ(Now().evidence(0).basis(), before_.evidence(0).basis());
}

TEST_F(StabilityTest, ANodeThatIsLostDoesNotChangeAFindingOfAnother) {
  records_[0].state = v1::NODE_STATE_LOST;
  engine_.PutUnjudged(records_[0]);
  EXPECT_EQ(Now().id(), before_.id());
  EXPECT_EQ(Now().title(), before_.title());
  EXPECT_EQ(engine_.nodes(), 2u);
  engine_.Remove("n1");
  EXPECT_EQ(Now().subject().scope(), v1::SCOPE_RAIL) << "n2 and n3 disagree";
}

TEST_F(StabilityTest, ALostNodeIsNotJudgedItself) {
  records_[2].state = v1::NODE_STATE_LOST;
  engine_.PutUnjudged(records_[2]);
  EXPECT_EQ(Now().id(), "");
  records_[2].state = v1::NODE_STATE_CONNECTED;
  engine_.Put(records_[2]);
  EXPECT_EQ(Now().id(), before_.id());
}

// Two live nodes agree; what three lost ones have does not matter.
TEST(LostNodes, OnlyBreakTies) {
  auto nodes = Nodes(5, testing::RoceNode);
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes) records.push_back(RecordOf(node));
  for (const std::size_t i : {2U, 3U, 4U}) testing::SetMtu(records[i].snapshot, 0, 1500);
  Engine engine;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].state = i < 2 ? v1::NODE_STATE_CONNECTED : v1::NODE_STATE_LOST;
    if (i < 2)
      engine.Put(records[i]);
    else
      engine.PutUnjudged(records[i]);
  }
  for (const v1::Finding& finding : engine.All().findings)
    EXPECT_EQ(finding.rule(), "node_connected");
}

}  // namespace
}  // namespace fabric::rules
