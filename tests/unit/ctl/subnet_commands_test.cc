// Commands about an InfiniBand subnet from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/paths.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

class SubnetCommands : public ::testing::Test {
 protected:
  Said Run(const std::string& words) { return RunWords(words, controller); }

  std::string Edited(const std::string& path, const std::string& from, const std::string& to) {
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    text.replace(text.find(from), from.size(), to);
    std::string made = tree.path() + "/edited.txt";
    std::ofstream(made) << text;
    return made;
  }

  const std::string corpus = std::string(testing::kSourceDir) + "/tests/fuzz/corpus/";
  const std::string net = corpus + "subnet_topology/small_tree";
  const std::string lfts = corpus + "subnet_tables/opensm_lfts";
  testing::TempTree tree;
  FakeController controller;
};

TEST_F(SubnetCommands, SubnetCheckExitsWithOneForAFailure) {
  const Said healthy = Run("subnet check " + net);
  EXPECT_EQ(healthy.status, kExitOk) << healthy.err;
  EXPECT_THAT(healthy.out, HasSubstr("8 nodes, 8 cables, 27 rules: "));
  EXPECT_THAT(healthy.out, HasSubstr("no forwarding tables: add the output of dump_lfts"));
  const Said failed = Run("subnet check -o json " + Edited(net, "lid 7 4xHDR", "lid 65535 4xHDR"));
  EXPECT_THAT(failed.out, HasSubstr("\"counts\": {"));
  EXPECT_THAT(Run("subnet check /not/there").err, HasSubstr("/not/there: No such file"));
  EXPECT_THAT(Run("subnet check --oversubscription x " + net).err, HasSubstr("saw 'x'"));
}

TEST_F(SubnetCommands, SubnetCheckComparesWithASavedFile) {
  EXPECT_EQ(Run("subnet check --plan " + net + " " + net).status, kExitOk);
  const std::string moved = Edited(net, "\"H-0000000000200021\"[1](200022) \t\t# \"n3 mlx5_0\"",
                                   "\"H-0000000000200041\"[1](200042) \t\t# \"n5 mlx5_0\"");
  const Said said = Run("subnet check --plan " + net + " " + moved);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("miswired: "));
}

TEST_F(SubnetCommands, SubnetPathShowsTheCables) {
  const Said said = Run("subnet path n1 n2 " + net + " " + lfts);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("node \"n1\" mlx5_0 port 1  switch \"leaf-1\" port 1"));
  EXPECT_THAT(said.out, HasSubstr("switch \"leaf-1\" port 2   node \"n2\" mlx5_0 port 1"));
  EXPECT_THAT(Run("subnet path n1 n9 " + net + " " + lfts).err, HasSubstr("unknown node 'n9'"));
  EXPECT_THAT(Run("subnet path n1 n2 " + net).err, HasSubstr("no forwarding tables"));
}

TEST_F(SubnetCommands, SubnetShowLinksSwitchesExportAndDiff) {
  EXPECT_THAT(Run("subnet show " + net).out, HasSubstr("2, 2 switches from the leaves up"));
  EXPECT_THAT(Run("subnet links " + net + " -o json").out, HasSubstr("\"rate\":\"4xHDR\""));
  EXPECT_THAT(Run("subnet switches " + net).out, HasSubstr("spine-1"));
  EXPECT_THAT(Run("subnet export --as slurm " + net).out,
              HasSubstr("SwitchName=top1 Switches=leaf-1,leaf-2\n"));
  EXPECT_EQ(Run("subnet diff " + net + " " + net).status, kExitOk);
}

}  // namespace
}  // namespace fabric::ctl
