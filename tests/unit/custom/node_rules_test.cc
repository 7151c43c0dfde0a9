// Operators' rules beside the built-in ones.
#include "daemon/custom/node_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/names.h"
#include "tests/testing/nodes.h"

namespace fabric::custom {
namespace {

constexpr std::string_view kMtu = R"(rules:
  - {id: site.mtu, title: "MTU ${netdev.mtu_bytes}", severity: error, scope: port,
     check: netdev.mtu_bytes == 9000}
)";

std::vector<v1::Finding> Judge(std::span<const RuleFile> files,
                               const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  std::vector<v1::Finding> own;
  for (v1::Finding& finding : rules::Evaluate(fleet::FleetView(records), NodeRules(files)).findings)
    if (finding.rule().starts_with("site.")) own.push_back(std::move(finding));
  return own;
}

TEST(NodeRules, AreJudgedLikeAnyOther) {
  const RuleText text = {.name = "site.yaml", .text = std::string(kMtu)};
  const std::vector<RuleFile> files = LoadAll({&text, 1});
  auto nodes = testing::Nodes(2, testing::RoceNode);
  testing::NetdevOf(nodes[1], 1).set_mtu_bytes(1500);
  const auto findings = Judge(files, nodes);
  ASSERT_EQ(findings.size(), 1U);
  const v1::Finding& finding = findings[0];
  EXPECT_EQ(finding.rule(), "site.mtu");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_ERROR);
  EXPECT_EQ(finding.verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(finding.title(), "MTU 1500");
  EXPECT_EQ(SubjectName(finding.subject()), "n2/mlx5_1/1");
  EXPECT_EQ(finding.subject().rail(), 1U);
  EXPECT_EQ(finding.id().size(), 16U);
  EXPECT_EQ(Judge(files, nodes)[0].id(), finding.id());
  EXPECT_EQ(NodeRules(files).size(), 1U);
  const auto infos = Infos(files);
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].id(), "site.mtu");
  EXPECT_EQ(infos[0].family(), "custom");
}

// After a reload, the files of the rules in use are gone.
TEST(NodeRules, DoNotNeedTheirFiles) {
  std::vector<rules::NodeRule> copies;
  {
    const RuleText text = {.name = "site.yaml", .text = R"(rules:
  - {id: site.mtu, title: "MTU ${netdev.mtu_bytes}", severity: error, scope: port,
     check: "port.netdev.matches('^none$') && netdev.mtu_bytes == 9000",
     fix: [{command: "ip link set ${port.netdev} mtu 9000"}]}
)"};
    const std::vector<RuleFile> files = LoadAll({&text, 1});
    ASSERT_THAT(files[0].problems, ::testing::IsEmpty());
    const std::vector<rules::NodeRule> rules = NodeRules(files);
    copies = rules;
  }
  std::vector<fleet::NodeRecord> records = {{.name = "n1", .snapshot = testing::RoceNode({})}};
  std::vector<v1::Finding> own;
  for (v1::Finding& finding : rules::Evaluate(fleet::FleetView(records), copies).findings)
    if (finding.rule() == "site.mtu") own.push_back(std::move(finding));
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(own[0].title(), "MTU 9000");
  ASSERT_EQ(own[0].remedies_size(), 1);
  EXPECT_THAT(own[0].remedies(0).command(), ::testing::HasSubstr("mtu 9000"));
}

TEST(NodeRules, OfSeveralFilesHaveIdsOfTheirOwn) {
  const RuleText texts[] = {
      {.name = "a.yaml", .text = std::string(kMtu)},
      {.name = "b.yaml", .text = std::string(kMtu)},
      {.name = "c.yaml",
       .text = "rules:\n  - {id: port_active, title: t, severity: info, scope: node, check: "
               "has(node.gpus)}\n"}};
  const std::vector<RuleFile> files = LoadAll(texts);
  EXPECT_THAT(files, ::testing::SizeIs(3));
  EXPECT_TRUE(files[0].problems.empty());
  EXPECT_EQ(files[1].problems.size(), 1U);
  EXPECT_EQ(files[2].problems.size(), 1U);
  EXPECT_EQ(NodeRules(files).size(), 1U);
}

}  // namespace
}  // namespace fabric::custom
