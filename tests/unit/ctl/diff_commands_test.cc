// The commands diff and profile infer, with a controller and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "proto/json.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DiffCommands : public ::testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = tree.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string Node(const std::string& file, const v1::NodeSnapshot& node) {
    return File(file, ToJson(node, true));
  }

  testing::TempTree tree;
  FakeController controller;
};

TEST_F(DiffCommands, LongValuesAreCutAtTheWidthOfTheTerminal) {
  v1::FieldDifference& difference = *controller.Answer<v1::DiffNodeResponse>().add_differences();
  difference.set_path("host.kernel_command_line");
  difference.set_before(std::string(300, 'a'));
  difference.set_after(std::string(300, 'b'));
  std::istringstream lines(RunWords("diff n1 n2", controller, {.columns = 80}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
  EXPECT_THAT(RunWords("diff n1 n2", controller).out, HasSubstr(std::string(300, 'a')));
}

TEST_F(DiffCommands, DiffSinceShowsWhenItChanged) {
  controller.Answer<v1::DiffNodeResponse>() = FromText<v1::DiffNodeResponse>(R"({
    "since": "2026-11-21T08:00:00Z",
    "differences": [
      {"path": "net_interfaces[rail0].mtu_bytes", "before": "9000", "after": "1500",
       "changed_at": "2026-11-21T08:30:00Z"},
      {"path": "net_interfaces[rail0].mac", "before": "a", "after": "b",
       "changed_at": "2026-11-21T08:30:01Z"},
      {"path": "rdma_devices[mlx5_3]", "before": "there", "after_absent": true,
       "changed_at": "2026-11-21T08:31:00Z"},
      {"path": "counters[mlx5_0/1].bytes", "before": "7", "after": "8", "counter": true},
      {"path": "counters[mlx5_0/1].pfc_pauses", "before_absent": true, "after": "0",
       "counter": true},
      {"path": "counters[mlx5_0/1].symbol_error", "before": "0", "after": "8", "counter": true}],
    "counters_since": "2026-11-21T07:20:00Z"})");
  const Said said = RunWords("diff node-3 --since 90m", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(controller.LastRequest<v1::DiffNodeRequest>().name(), "node-3");
  EXPECT_EQ(controller.LastRequest<v1::DiffNodeRequest>().since_seconds(), 5400U);
  EXPECT_EQ(said.out,
            "since 2026-11-21T08:00:00Z; counters since 2026-11-21T07:20:00Z\n\n"
            "WHAT                             THEN   NOW   CHANGED\n"
            "net_interfaces[rail0].mtu_bytes  9000   1500  2026-11-21T08:30:00Z\n"
            "net_interfaces[rail0].mac        a      b     2026-11-21T08:30:01Z\n"
            "rdma_devices[mlx5_3]             there  -     2026-11-21T08:31:00Z\n"
            "counters[mlx5_0/1].symbol_error  0      8     -\n"
            "counters[mlx5_0/1].bytes         7      8     -\n\n"
            "1 counter not shown; use --all\n");
  EXPECT_THAT(RunWords("diff node-3 --since 90m --all", controller).out,
              HasSubstr("counters[mlx5_0/1].pfc_pauses "));
  controller.Answer<v1::DiffNodeResponse>().clear_counters_since();
  EXPECT_THAT(RunWords("diff node-3 --since 90m", controller).out,
              HasSubstr("; counters not kept for this period\n"));
}

TEST_F(DiffCommands, DiffOfTwoNodesHidesWhatDiffersBetweenAnyTwo) {
  controller.Answer<v1::DiffNodeResponse>() = FromText<v1::DiffNodeResponse>(R"({"differences": [
      {"path": "net_interfaces[rail0].mtu_bytes", "before": "9000", "after": "1500"},
      {"path": "node.name", "before": "n1", "after": "n2"},
      {"path": "counters[mlx5_0/1].bytes", "before": "7", "after": "8", "counter": true},
      {"path": "counters[mlx5_0/1].symbol_error", "before": "0", "after": "8",
       "counter": true}]})");
  const Said said = RunWords("diff n1 n2", controller);
  EXPECT_EQ(controller.LastRequest<v1::DiffNodeRequest>().other(), "n2");
  EXPECT_EQ(said.out,
            "WHAT                             n1    n2\n"
            "net_interfaces[rail0].mtu_bytes  9000  1500\n"
            "counters[mlx5_0/1].symbol_error  0     8\n\n"
            "1 difference of names, addresses and GUIDs not shown; use --all\n"
            "1 counter not shown; use --all\n");
  EXPECT_THAT(RunWords("diff n1 n2 --all", controller).out, HasSubstr("node.name"));
  EXPECT_THAT(RunWords("diff n1 n2 -o json", controller).out, HasSubstr("\"node.name\""));
}

TEST_F(DiffCommands, DiffOfSnapshotsNeedsNoController) {
  controller.failure = Status(Code::kUnavailable, "no controller");
  v1::NodeSnapshot node = testing::RoceNode({.number = 1});
  const std::string a = Node("a.json", node);
  testing::SetMtu(node, 1, 1500);
  const Said said = RunWords("diff " + a + " " + Node("b.json", node), controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("net_interfaces[rail1].mtu_bytes"));
  EXPECT_THAT(RunWords("diff " + a + " " + a, controller).err, HasSubstr("No difference."));
}

TEST_F(DiffCommands, DiffSaysWhatItWants) {
  EXPECT_EQ(RunWords("diff n1", controller).status, kExitUsage);
  EXPECT_EQ(RunWords("diff n1 n2 --since 1h", controller).status, kExitUsage);
  EXPECT_EQ(RunWords("diff n1 n2 n3", controller).status, kExitUsage);
  EXPECT_THAT(RunWords("diff n1 n2.json", controller).err, HasSubstr("two nodes, or two files"));
  controller.failure = Status(Code::kUnavailable, "no controller");
  EXPECT_EQ(RunWords("diff n1 n2", controller).status, kExitUnreachable);
}

TEST_F(DiffCommands, ProfileInferPrintsAProfileThatCheckTakes) {
  std::string files;
  for (std::uint32_t number : {1, 2, 3})
    files += " " + Node("n" + std::to_string(number) + ".json",
                        testing::RoceNode({.number = number, .gpu = false}));
  const Said said = RunWords("profile infer" + files, controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("name: inferred\n"));
  const std::string profile = File("inferred.yaml", said.out);
  EXPECT_EQ(RunWords("profile check " + profile, controller).status, kExitOk);
  const Said checked = RunWords("check --profile " + profile + files, controller);
  EXPECT_EQ(checked.status, kExitOk) << checked.out;
}

TEST_F(DiffCommands, ProfileInferAsksTheController) {
  controller.Answer<v1::InferProfileResponse>().set_yaml("name: inferred\n");
  controller.Answer<v1::InferProfileResponse>().add_values()->set_field("ats");
  EXPECT_EQ(RunWords("profile infer", controller).out, "name: inferred\n");
  EXPECT_THAT(RunWords("profile infer -o json", controller).out, HasSubstr("\"values\""));
  controller.failure = Status(Code::kUnavailable, "no controller");
  EXPECT_EQ(RunWords("profile infer", controller).status, kExitUnreachable);
}

}  // namespace
}  // namespace fabric::ctl
