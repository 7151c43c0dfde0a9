// Commands about an InfiniBand subnet from files and from the controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/wire/snapshot_parts.h"
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
  EXPECT_THAT(healthy.out,
              HasSubstr(Format("8 nodes, 8 cables, {} rules: ", subnet::AllChecks().size())));
  EXPECT_THAT(healthy.out, HasSubstr("no forwarding tables: add the output of dump_lfts"));
  const Said failed = Run("subnet check -o json " + Edited(net, "lid 7 4xHDR", "lid 65535 4xHDR"));
  EXPECT_THAT(failed.out, HasSubstr("\"counts\": {"));
  EXPECT_THAT(Run("subnet check /not/there").err, HasSubstr("/not/there: No such file"));
  EXPECT_THAT(Run("subnet show mlx5_9").err,
              HasSubstr("; for a subnet that the controller reads, use --subnet NAME"));
  EXPECT_THAT(Run("subnet check --oversubscription x " + net).err, HasSubstr("saw 'x'"));
}

// A host and a switch, as parts of the controller.
std::vector<v1::SubnetPart> PartsOfSmallSubnet() {
  v1::SubnetSnapshot snapshot;
  for (const auto type : {v1::SUBNET_NODE_TYPE_ADAPTER, v1::SUBNET_NODE_TYPE_SWITCH}) {
    v1::SubnetNode& node = *snapshot.add_nodes();
    const auto index = static_cast<std::uint32_t>(snapshot.nodes_size());
    node.set_type(type);
    node.set_guid(index);
    node.set_port_count(1);
    node.set_description(index == 1 ? "gpu-1 mlx5_0" : "leaf-1");
    if (index == 2) node.set_firmware("27.2012.1010");
    v1::SubnetPort& port = *node.add_ports();
    port.set_number(1);
    port.set_peer(index == 1 ? 2 : 1);
    port.set_peer_port(1);
  }
  const auto frame = subnet::Compress(snapshot.SerializeAsString(), {});
  std::vector<v1::SubnetPart> parts;
  for (std::uint32_t i = 0; frame.ok() && i < subnet::PartsOf(*frame); ++i)
    parts.push_back(subnet::PartOf(*frame, i));
  return parts;
}

TEST_F(SubnetCommands, WithoutAFileTheControllersSnapshotIsUsed) {
  v1::SubnetInfo& info = *controller.Answer<v1::ListSubnetsResponse>().add_subnets();
  info.set_name("mlx5_0/1");
  info.set_source("n3 mlx5_0/1");
  info.set_message_bytes(100);
  controller.Answers<v1::SubnetPart>() = PartsOfSmallSubnet();
  const Said links = Run("subnet links");
  EXPECT_EQ(links.status, kExitOk) << links.err;
  EXPECT_THAT(links.out, HasSubstr("gpu-1"));
  EXPECT_EQ(controller.LastRequest<v1::GetSubnetSnapshotRequest>().name(), "mlx5_0/1");
  EXPECT_EQ(Run("subnet links --subnet rail9").status, kExitOk);
  EXPECT_EQ(controller.LastRequest<v1::GetSubnetSnapshotRequest>().name(), "rail9");
  EXPECT_THAT(Run("subnet links --subnet rail9 " + net).err,
              HasSubstr("expected none with a FILE"));

  // A damaged part.
  controller.Answer<v1::SubnetPart>().mutable_data()->resize(5);
  EXPECT_EQ(Run("subnet links").status, kExitUsage);

  // Several subnets, and none that an agent reads.
  *controller.Answer<v1::ListSubnetsResponse>().add_subnets() = info;
  controller.Answer<v1::ListSubnetsResponse>().mutable_subnets(1)->set_name("mlx5_1/1");
  EXPECT_THAT(Run("subnet links").err, HasSubstr("expected one of mlx5_0/1, mlx5_1/1"));
  controller.Answer<v1::ListSubnetsResponse>().clear_subnets();
  EXPECT_THAT(Run("subnet links").err, HasSubstr("expected a FILE"));
}

TEST_F(SubnetCommands, OfASubnetFromFilesTheControllerHasNamesAndCablesOnly) {
  v1::SubnetInfo& info = *controller.Answer<v1::ListSubnetsResponse>().add_subnets();
  info.set_name("rail1");
  info.set_source("/etc/fabricd/subnets/rail1");
  info.mutable_read_at()->set_seconds(1);
  controller.Answers<v1::SubnetPart>() = PartsOfSmallSubnet();
  EXPECT_THAT(Run("subnet check --subnet rail1").err,
              HasSubstr("subnet rail1 comes from files: expected /etc/fabricd/subnets/rail1 on the "
                        "host of the controller as FILE, saw --subnet"));
  EXPECT_TRUE(controller.Requests<v1::GetSubnetSnapshotRequest>().empty());
}

TEST_F(SubnetCommands, SubnetSwitchesShowsTheirFirmware) {
  v1::SubnetInfo& info = *controller.Answer<v1::ListSubnetsResponse>().add_subnets();
  info.set_name("mlx5_0/1");
  info.set_message_bytes(100);
  controller.Answers<v1::SubnetPart>() = PartsOfSmallSubnet();
  EXPECT_THAT(Run("subnet switches").out, HasSubstr("27.2012.1010"));
  EXPECT_THAT(Run("subnet switches -o json").out, HasSubstr("\"firmware\":\"27.2012.1010\""));
}

TEST_F(SubnetCommands, SubnetListShowsWhoReadsAndWhyNot) {
  EXPECT_THAT(Run("subnet list").err, HasSubstr("There are no InfiniBand subnets"));
  v1::SubnetInfo& info = *controller.Answer<v1::ListSubnetsResponse>().add_subnets();
  info.set_name("mlx5_0/1");
  info.set_problem("n3 mlx5_0/1: Permission denied");
  const Said said = Run("subnet list");
  EXPECT_THAT(said.out, HasSubstr("mlx5_0/1"));
  EXPECT_THAT(said.out, HasSubstr("Permission denied"));
  EXPECT_EQ(said.out.find(" 0 "), std::string::npos) << "numbers that are not known\n" << said.out;
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

TEST_F(SubnetCommands, SubnetPathOfHostsWithSeveralAdapters) {
  // n1 and n3 are one host, n2 and n4 another: each has an adapter on both leaves.
  std::ifstream in(net);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  for (const auto& [before, after] :
       {std::pair("n3 mlx5_0", "n1 mlx5_1"), std::pair("n4 mlx5_0", "n2 mlx5_1")})
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; ++at)
      text.replace(at, std::string_view(before).size(), after);
  tree.File("rails.txt", text);
  const std::string files = " " + tree.path() + "/rails.txt " + lfts;
  const Said both = Run("subnet path n1 n2" + files);
  EXPECT_EQ(both.status, kExitOk) << both.err;
  EXPECT_THAT(both.out, HasSubstr("node \"n1\" mlx5_0 port 1"));
  EXPECT_THAT(both.out, HasSubstr("node \"n1\" mlx5_1 port 1"));
  const Said one = Run("subnet path 7 n2 -o json" + files);
  EXPECT_THAT(one.out, HasSubstr("\"arrives\":true"));
  EXPECT_THAT(one.out, HasSubstr("\"to\":\"node \\\"n2\\\" mlx5_1 port 1\",\"hops\":2"));
  EXPECT_THAT(Run("subnet path leaf-1 n2" + files).err,
              HasSubstr("'n2': expected one node, saw 2: 'n2 mlx5_0', 'n2 mlx5_1'"));
}

TEST_F(SubnetCommands, SubnetPathHasTheReasonInJson) {
  const Said said = Run("subnet path n1 n2 -o json " + net + " " +
                        Edited(lfts, "0x0006 002 # Channel", "0x0006 007 # Channel"));
  EXPECT_EQ(said.status, kExitFindings) << said.err;
  EXPECT_THAT(said.out, HasSubstr("\"arrives\":false,\"paths\":[{\"from\":"));
  EXPECT_THAT(said.out, HasSubstr("\"reason\":\"switch \\\"leaf-1\\\""));
}

TEST_F(SubnetCommands, SubnetShowLinksSwitchesExportAndDiff) {
  EXPECT_THAT(Run("subnet show " + net).out, HasSubstr("2, 2 switches from the leaves up"));
  EXPECT_THAT(Run("subnet links " + net + " -o json").out, HasSubstr("\"rate\":\"4xHDR\""));
  EXPECT_THAT(Run("subnet switches " + net).out, HasSubstr("spine-1"));
  EXPECT_THAT(Run("subnet export --as slurm " + net).out,
              HasSubstr("SwitchName=top1 Switches=leaf-1,leaf-2\n"));
  EXPECT_EQ(Run("subnet diff " + net + " " + net).status, kExitOk);
}

TEST_F(SubnetCommands, SubnetRoutesShowsPortAndHopsOfEachLid) {
  const Said said = Run("subnet routes leaf-1 " + net + " " + lfts);
  // The tables of the spines are not complete.
  EXPECT_EQ(said.status, kExitFindings) << said.err << said.out;
  EXPECT_THAT(said.out, HasSubstr("5 of 8 LIDs do not arrive by the tables that are known."));
  EXPECT_THAT(said.out, HasSubstr("LID  NODE"));
  EXPECT_THAT(said.out, HasSubstr("node \"n2\" mlx5_0 port 1"));
  const Said json = Run("subnet routes leaf-1 -o json " + net + " " + lfts);
  EXPECT_THAT(json.out, HasSubstr("\"lid\":6,\"node\":\"node \\\"n2\\\" mlx5_0 port 1\","
                                  "\"arrives\":true,\"port\":2"));
  EXPECT_THAT(json.out, HasSubstr("\"switch\":\"leaf-1\",\"lost\":5"));
  const Said broken = Run("subnet routes leaf-1 " + net + " " +
                          Edited(lfts, "0x0006 002 # Channel", "0x0006 007 # Channel"));
  EXPECT_EQ(broken.status, kExitFindings);
  EXPECT_THAT(broken.out, HasSubstr("6 of 8 LIDs"));
  EXPECT_THAT(Run("subnet routes leaf-1 " + net).err, HasSubstr("no forwarding table"));
  EXPECT_THAT(Run("subnet routes n1 " + net).err, HasSubstr("expected one switch, saw node"));
  EXPECT_THAT(Run("subnet routes leaf-9 " + net).err, HasSubstr("unknown node 'leaf-9'"));
}

TEST_F(SubnetCommands, SubnetPlanCompareListsWhatDiffers) {
  const Said same = Run("subnet plan compare " + net + " " + net);
  EXPECT_EQ(same.status, kExitOk) << same.err;
  EXPECT_THAT(same.out + same.err, HasSubstr("8 cables as planned."));
  const std::string moved = Edited(net, "\"H-0000000000200021\"[1](200022) \t\t# \"n3 mlx5_0\"",
                                   "\"H-0000000000200041\"[1](200042) \t\t# \"n5 mlx5_0\"");
  const Said said = Run("subnet plan compare " + net + " " + moved);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("miswired"));
  EXPECT_THAT(Run("subnet plan compare " + net + " -o json " + moved).out,
              HasSubstr("\"change\":\"miswired\""));
  EXPECT_THAT(Run("subnet plan compare /not/there " + net).err, HasSubstr("/not/there"));
}

TEST_F(SubnetCommands, SubnetExportForSchedulersAndPictures) {
  const Said nested = Run("subnet export --as topograph " + net);
  EXPECT_EQ(nested.status, kExitOk) << nested.err;
  EXPECT_THAT(nested.out, HasSubstr("\"name\": \"spine-1\""));
  EXPECT_THAT(nested.out, HasSubstr("\"nodes\": [\n            \"n1\",\n            \"n2\"\n"));
  EXPECT_THAT(Run("subnet export --as kubernetes " + net).out,
              HasSubstr("kubectl label node n1 --overwrite fabricd.io/topology-level-0=leaf-1"));
  EXPECT_THAT(Run("subnet export --as svg " + net).out, HasSubstr("<svg "));
  EXPECT_THAT(Run("subnet export --as dot " + net).out, HasSubstr("graph subnet {"));
}

}  // namespace
}  // namespace fabric::ctl
