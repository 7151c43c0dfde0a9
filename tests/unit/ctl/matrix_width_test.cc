// fabricctl matrix on narrow terminals, of some nodes, and of leaf switches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "ctl/render.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// All pairs of these nodes, one of them slow.
FakeController WithPairs(std::size_t nodes, std::string_view prefix) {
  FakeController controller;
  v1::Campaign campaign;
  campaign.set_id("c1");
  campaign.set_state(v1::CAMPAIGN_STATE_DONE);
  for (std::size_t from = 1; from <= nodes; ++from)
    for (std::size_t to = 1; to <= nodes; ++to) {
      if (from == to) continue;
      v1::PairResult& pair = *campaign.add_results();
      pair.mutable_from()->set_node(Format("{}{:03}", prefix, from));
      pair.mutable_to()->set_node(Format("{}{:03}", prefix, to));
      pair.mutable_probe()->mutable_rc_write_bandwidth();
      pair.mutable_result()->set_status(v1::PROBE_STATUS_OK);
      pair.mutable_result()->mutable_bandwidth()->set_mean_bps(390e9);
      if (from == 37) pair.mutable_expectation()->set_missed(true);
    }
  controller.Answers<v1::Campaign>() = {campaign};
  return controller;
}

std::size_t LongestLine(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string_view line : Split(text, '\n'))
    longest = std::max(longest, DisplayWidth(line));
  return longest;
}

TEST(Matrix, FitsTheTerminal) {
  for (const char* const prefix : {"n", "gpu-cluster-a-node-"})
    for (const std::size_t columns : {80u, 160u})
      for (const char* const words : {"matrix c1", "matrix c1 --heat"}) {
        FakeController controller = WithPairs(40, prefix);
        const std::string out = RunWords(words, controller, {.columns = columns}).out;
        EXPECT_LE(LongestLine(out), columns) << out;
        EXPECT_THAT(out, HasSubstr(Format("{}037", prefix))) << "the worst one";
      }
}

TEST(Matrix, HeatUsesTheWidthOfTheTerminal) {
  FakeController controller = WithPairs(40, "gpu-0");
  const auto heat = [&](std::size_t columns) {
    return RunWords("matrix c1 --heat", controller, {.columns = columns}).out;
  };
  EXPECT_THAT(heat(80), HasSubstr("the worst 33 of 40 nodes; -o wide shows all\n"));
  EXPECT_THAT(heat(100), Not(HasSubstr("the worst")));
  EXPECT_EQ(heat(100), heat(0)) << "no terminal";
  EXPECT_EQ(RunWords("matrix c1 --heat -o wide", controller, {.columns = 80}).out, heat(0));
  EXPECT_EQ(RunWords("matrix c1 --heat -o csv", controller, {.columns = 80}).out,
            RunWords("matrix c1 -o csv", controller).out);
}

TEST(Matrix, OfSomeNodesHasOnlyPairsBetweenThem) {
  FakeController controller = WithPairs(40, "n");
  const std::string out = RunWords("matrix c1 --nodes n[036-038]", controller).out;
  for (const char* const name : {"n036", "n037", "n038"}) EXPECT_THAT(out, HasSubstr(name));
  EXPECT_THAT(out, Not(HasSubstr("n035")));
  EXPECT_THAT(out, Not(HasSubstr("the worst")));
  EXPECT_EQ(RunWords("matrix c1 --nodes n001,x9", controller).err,
            "fabricctl: --nodes: c1 has no pair between these nodes\n");
}

TEST(Matrix, ByLeafShowsTheWorstPairOfTwoLeaves) {
  FakeController controller = WithPairs(4, "n");
  v1::Campaign& campaign = controller.Answers<v1::Campaign>()[0];
  for (v1::PairResult& pair : *campaign.mutable_results())
    if (pair.from().node() == "n003" && pair.to().node() == "n001")
      pair.mutable_result()->mutable_bandwidth()->set_mean_bps(100e9);
  auto& ports = controller.Answer<v1::ListDevicesResponse>();
  for (int n = 1; n <= 3; ++n) {
    v1::DeviceSummary& port = *ports.add_devices();
    port.set_node(Format("n{:03}", n));
    port.set_device("mlx5_0");
    port.set_port(1);
    port.set_leaf(n < 3 ? "leaf-a" : "leaf-b");
  }
  for (v1::PairResult& pair : *campaign.mutable_results())
    for (v1::ProbePort* port : {pair.mutable_from(), pair.mutable_to()}) {
      port->set_device("mlx5_0");
      port->set_port(1);
    }
  EXPECT_THAT(RunWords("matrix c1 --by-leaf", controller).out,
              HasSubstr("FROM       (unknown)  leaf-a  leaf-b\n"
                        "(unknown)          -   390.0   390.0\n"
                        "leaf-a         390.0   390.0   390.0\n"
                        "leaf-b         390.0   100.0       -\n"));
}

}  // namespace
}  // namespace fabric::ctl
