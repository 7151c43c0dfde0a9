// The commands rules check and rules test, which need no controller.
#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

constexpr std::string_view kRule =
    "  - {id: site.numa, title: no NUMA, severity: info, scope: device,\n"
    "     check: device.numa_node == 0}\n";
constexpr std::string_view kNode =
    R"({"rdma_devices": [{"name": "x", "numa_node": 0}, {"name": "y", "numa_node": 1}]})";

class RulesCommands : public ::testing::Test {
 protected:
  Said Run(const std::string& command, const std::string& yaml) {
    tree_.File("site.yaml", yaml);
    tree_.File("node.json", kNode);
    Said said = RunWords(command + " " + path() + " -o table", controller_);
    for (std::size_t at = 0; (at = said.out.find(path())) != said.out.npos;)
      said.out.replace(at, path().size(), "F");
    return said;
  }
  std::string path() const { return std::string(tree_.path()) + "/site.yaml"; }

  testing::TempTree tree_;
  FakeController controller_;
};

TEST_F(RulesCommands, CheckListsTheGoodAndSaysWhereTheBadAre) {
  const std::string bad =
      "  - {id: port_active, title: t, severity: info, scope: node, check: 'true'}\n";
  const Said said = Run("rules check", "rules:\n" + std::string(kRule) + bad);
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_EQ(said.out,
            "F:4:10: id: 'port_active' is taken by another rule\n\n"
            "RULE       SEVERITY  SCOPE   TITLE\n"
            "site.numa  info      device  no NUMA\n");
  EXPECT_EQ(Run("rules check", "rules:\n" + std::string(kRule)).status, kExitOk);
}

TEST_F(RulesCommands, CheckOfAFileThatIsNotThere) {
  const Said said = RunWords("rules check /nowhere/x.yaml", controller_);
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_EQ(said.out, "/nowhere/x.yaml: No such file or directory\n");
}

TEST_F(RulesCommands, IdsAreUniqueOverAllFiles) {
  Run("rules check", "rules:\n" + std::string(kRule));
  EXPECT_EQ(RunWords("rules check " + path() + " " + path(), controller_).status, kExitUsage);
}

TEST_F(RulesCommands, TestRunsTheTestsWithSnapshotsBesideTheFile) {
  const std::string test =
      "tests:\n"
      "  - {name: numa, snapshot: node.json, expect: [{subject: y, verdict: fail}]}\n";
  const Said said = Run("rules test", "rules:\n" + std::string(kRule) + test);
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_EQ(said.out,
            "TEST  RESULT  WHERE\n"
            "numa  passed  F:5\n");
}

TEST_F(RulesCommands, TestSaysWhatDiffers) {
  const std::string test =
      "tests:\n"
      "  - {name: numa, snapshot: node.json, expect: [{subject: y, verdict: pass}]}\n"
      "  - {name: lost, snapshot: none.json, expect: [{subject: y, verdict: pass}]}\n";
  const Said said = Run("rules test", "rules:\n" + std::string(kRule) + test);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_TRUE(
      said.out.starts_with("TEST  RESULT  WHERE\n"
                           "numa  FAILED  F:5\n"
                           "lost  FAILED  F:6\n"))
      << said.out;
  EXPECT_NE(said.out.find("F:5: numa: site.numa on y: expected pass, saw fail (no NUMA)\n"),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("none.json: No such file or directory\n"), std::string::npos);
}

TEST_F(RulesCommands, WithoutFilesOrWithAWrongWord) {
  EXPECT_EQ(RunWords("rules check", controller_).err,
            "fabricctl: FILE is required; see fabricctl rules check --help\n");
  EXPECT_EQ(RunWords("rules tset", controller_).err,
            "fabricctl: unexpected argument 'tset'; did you mean 'test'?\n");
}

}  // namespace
}  // namespace fabric::ctl
