#include "ctl/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/temp_tree.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

constexpr Option kNodes[] = {HostsOption("nodes", "Nodes.")};

Result<std::vector<std::string>> Hosts(const std::vector<std::string>& arguments) {
  Values values(kNodes);
  for (const std::string& argument : arguments) EXPECT_TRUE(values.Set("nodes", argument).ok());
  return HostsOf(values, "nodes");
}

TEST(HostList, TakesWhatSchedulersWrite) {
  for (const auto& [text, names] : std::vector<std::pair<std::string, std::string>>{
           {"n1", "n1"},
           {"n1,n2 n3\nn1", "n1 n2 n3"},
           {"node[001-003,20]", "node001 node002 node003 node20"},
           {"n[8-11]", "n8 n9 n10 n11"},
           {"n[08-11]", "n08 n09 n10 n11"},
           {"r[1-2]n[01-02],x", "r1n01 r1n02 r2n01 r2n02 x"},
           {"gpu[1,3].cluster.example", "gpu1.cluster.example gpu3.cluster.example"},
           {"# of job 7\nn1 # the first\n\nn2", "n1 n2"}}) {
    const auto list = ParseHostList(text);
    ASSERT_TRUE(list.ok()) << text << ": " << list.status().message();
    EXPECT_EQ(Join(*list, " "), names) << text;
  }
  EXPECT_EQ(ParseHostList("n[00001-65536]")->size(), kHostsMax);
}

TEST(HostList, SaysWhatIsNone) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected node names, saw none"},
           {" , ", "expected node names, saw none"},
           {"n[1-", "the bracket is not closed"},
           {"n[1-2\n]", "the bracket is not closed"},
           {"n]", "saw 'n]'"},
           {"n/1", "saw 'n/1'"},
           {"n[]", "expected a number or a range such as 001-016, saw ''"},
           {"n[a-b]", "saw 'a-b'"},
           {"n[-3]", "saw '-3'"},
           {"n[3-1]", "the range '3-1' goes backwards"},
           {"n[01-3]", "different widths"},
           {"n[1-099]", "different widths"},
           {"n[1-18446744073709551615]", "at most 65536 nodes"},
           {"n[1-65537]", "at most 65536 nodes"},
           {"n[1-1000][1-1000]", "at most 65536 nodes"},
           {"a[1-40000],b[1-40000]", "at most 65536 nodes"},
           {std::string(300, 'n'), "at most 253 letters"}}) {
    const Status status = ParseHostList(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST(HostList, IsReadFromAFile) {
  testing::TempTree files;
  files.File("hosts", "n[1-2]\nn7\n").File("wrong", "n[\n");
  EXPECT_EQ(Join(*Hosts({"@" + files.path() + "/hosts"}), " "), "n1 n2 n7");
  EXPECT_THAT(
      Hosts({"@" + files.path() + "/wrong"}).status().message(),
      HasSubstr("/wrong: expected a list of nodes such as n1,n2 or gpu[001-016,20], saw 'n['"));
  EXPECT_THAT(Hosts({"@" + files.path() + "/none"}).status().message(), HasSubstr("No such file"));
  EXPECT_EQ(Hosts({"@"}).status().message(), "--nodes: expected a file name after @, saw none");
}

TEST(HostList, OfSeveralOptionsIsOneList) {
  testing::TempTree files;
  files.File("hosts", "n[1-2]\n");
  EXPECT_EQ(Join(*Hosts({"n9,n1", "@" + files.path() + "/hosts", "n9"}), " "), "n9 n1 n2");
  EXPECT_TRUE(Hosts({})->empty());
  EXPECT_EQ(Hosts({"n1", ","}).status().message(), "--nodes: expected node names, saw none");
  EXPECT_THAT(Hosts({"a[1-40000]", "b[1-40000]"}).status().message(),
              HasSubstr("at most 65536 nodes"));
}

}  // namespace
}  // namespace fabric::ctl
