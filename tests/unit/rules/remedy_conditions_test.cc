// Commands that a rule offers only under a condition that its own test does not need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/counter_rates.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::NetdevOf;
using testing::Nodes;
using testing::RoceNode;
using Fleet = std::vector<v1::NodeSnapshot>;

std::vector<std::string> CommandsOf(const Evaluation& evaluation, std::string_view rule) {
  std::vector<std::string> commands;
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule() == rule)
      for (const v1::Remedy& remedy : finding.remedies()) commands.push_back(remedy.command());
  return commands;
}

TEST(RemedyCondition, DscpOfTheProfileGivesTheTrafficClassOfAJob) {
  v1::Expectations expect;
  expect.set_data_dscp(26);
  testing::Pair pair = testing::PairOf(Nodes(3, RoceNode));
  testing::Busy(pair, 0, 0);
  testing::CounterOf(pair.after[0], 0, "tx_bytes_prio3").set_value(1000);
  EXPECT_THAT(CommandsOf(JudgeBetween(pair.before, pair.after, Expecting(expect)),
                         "rdma_on_lossless_priority"),
              Contains("export NCCL_IB_TC=106 UCX_IB_TRAFFIC_CLASS=106"));
}

TEST(RemedyCondition, KnownDistributionGivesTheCommandForBootParameters) {
  Fleet nodes = Nodes(4, RoceNode);
  for (v1::NodeSnapshot& node : nodes) {
    node.mutable_host()->set_distribution_id("ubuntu");
    node.mutable_host()->set_kernel_command_line("root=/dev/sda1 pcie_aspm=off");
  }
  nodes[3].mutable_host()->set_kernel_command_line("root=/dev/sda1 pci=noaer");
  EXPECT_THAT(
      CommandsOf(Judge(nodes), "kernel_command_line_equal"),
      ::testing::AllOf(Contains(HasSubstr("pcie_aspm=off")), Contains(HasSubstr("pci=noaer"))));
}

TEST(RemedyCondition, DataPriorityOfTheProfileGivesThePfcCommand) {
  v1::Expectations expect;
  expect.set_data_priority(3);
  Fleet nodes = Nodes(3, RoceNode, {.rails = 1});
  for (v1::NodeSnapshot& node : nodes) {
    testing::SetPfc(node, 0, 0);
    testing::DeviceOf(node, 0).set_model("ConnectX-4");
  }
  EXPECT_THAT(CommandsOf(Judge(nodes, Expecting(expect)), "roce_mode_defined"),
              Contains(HasSubstr("prio-pfc")));
}

}  // namespace
}  // namespace fabric::rules
