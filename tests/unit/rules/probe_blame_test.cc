// Findings of campaigns and the mesh in the engine: their causes among the findings of settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rules/engine/engine.h"
#include "daemon/rules/probes/located.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class ProbeBlame : public ::testing::Test {
 protected:
  ProbeBlame() {
    auto nodes = testing::Nodes(3, testing::RoceNode);
    *testing::FunctionOfRail(nodes[1], 0).mutable_link() = testing::Link(32, 4);
    for (v1::NodeSnapshot& node : nodes) fleet_.Put(std::move(node), {});
    for (const auto& [name, record] : fleet_.nodes()) engine_.Put(record);
  }

  // The finding about a port, by name of its node.
  v1::Finding Locate(v1::FaultKind fault, const std::string& node) {
    v1::Suspect suspect;
    suspect.set_kind(v1::SUSPECT_KIND_PORT);
    suspect.set_name(node + "/mlx5_0/1");
    suspect.set_node(node);
    suspect.set_device("mlx5_0");
    suspect.set_port(1);
    suspect.set_rail(0);
    suspect.set_fault(fault);
    suspect.set_severity(0.5);
    suspect.set_confidence(0.99);
    suspect.add_affected_pairs("n1/mlx5_0/1 to n2/mlx5_0/1");
    suspect.set_affected_pairs_total(7);
    const v1::Finding finding = FindingOf({.suspect = suspect,
                                           .located_by = "campaign c1",
                                           .show_command = "fabricctl probe show c1",
                                           .affected = {},
                                           .at = {}});
    engine_.PutReported({finding});
    for (const v1::Finding& each : engine_.All().findings)
      if (each.id() == finding.id()) return each;
    ADD_FAILURE() << "the engine does not have it";
    return {};
  }
  std::string RuleOf(const std::string& id) {
    for (const v1::Finding& each : engine_.All().findings)
      if (each.id() == id) return each.rule();
    return {};
  }

  fleet::Fleet fleet_;
  Engine engine_;
};

TEST_F(ProbeBlame, StatesFigureConfidenceAndPairs) {
  const v1::Finding finding = Locate(v1::FAULT_KIND_PACKET_LOSS, "n2");
  EXPECT_EQ(finding.title(), "port n2/mlx5_0/1: 50 % packet loss, expected no loss");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_CRITICAL);
  std::vector<std::string> texts;
  for (const v1::Evidence& evidence : finding.evidence())
    texts.push_back(evidence.what() + ": " + evidence.seen());
  EXPECT_THAT(texts, ElementsAre("packet loss: 50 % packet loss", "confidence: 99.0 %",
                                 "affected pairs: n1/mlx5_0/1 to n2/mlx5_0/1 and 6 more"));
}

TEST_F(ProbeBlame, LowBandwidthIsTheConsequenceOfANarrowPcieLink) {
  const v1::Finding finding = Locate(v1::FAULT_KIND_LOW_BANDWIDTH, "n2");
  EXPECT_THAT(RuleOf(finding.explained_by()), ::testing::HasSubstr("pcie_"));
}

TEST_F(ProbeBlame, ANarrowPcieLinkExplainsNoLossAndNoOtherPort) {
  EXPECT_EQ(Locate(v1::FAULT_KIND_PACKET_LOSS, "n2").explained_by(), "");
  EXPECT_EQ(Locate(v1::FAULT_KIND_LOW_BANDWIDTH, "n3").explained_by(), "");
}

TEST_F(ProbeBlame, IsGoneWhenNothingIsLocated) {
  const std::string id = Locate(v1::FAULT_KIND_TOTAL_LOSS, "n1").id();
  (void)engine_.Take();
  engine_.PutReported({});
  EXPECT_THAT(engine_.Take().gone, Contains(id));
}

}  // namespace
}  // namespace fabric::rules
