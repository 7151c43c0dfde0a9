#include "tests/testing/tree_archive.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fabric::testing {
namespace {

using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

TEST(UnpackTree, WritesEveryKindOfEntry) {
  const TempTree tree;
  constexpr std::string_view kArchive =
      "# a card\n"
      "In: sys/class/net/eth0\n"
      "mtu = 9000\n"
      "device -> ../../../devices/x\n"
      "statistics /\n"
      "empty !\n"
      "In: .\n"
      "proc/modules |\n"
      "|nvidia 1\n"
      "|ib_core 2\n"
      "proc/config # 00ff41\n"
      "proc/sparse @ 6 1:ff41 5:07\n";
  const Status status = UnpackTree(kArchive, tree.path());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Content(tree.path() + "/sys/class/net/eth0/mtu"), "9000\n");
  EXPECT_EQ(std::filesystem::read_symlink(tree.path() + "/sys/class/net/eth0/device"),
            "../../../devices/x");
  EXPECT_TRUE(std::filesystem::is_directory(tree.path() + "/sys/class/net/eth0/statistics"));
  EXPECT_EQ(std::filesystem::file_size(tree.path() + "/sys/class/net/eth0/empty"), 0u);
  EXPECT_EQ(Content(tree.path() + "/proc/modules"), "nvidia 1\nib_core 2\n");
  EXPECT_EQ(Content(tree.path() + "/proc/config"), std::string("\0\xff\x41", 3));
  EXPECT_EQ(Content(tree.path() + "/proc/sparse"), std::string("\0\xff\x41\0\0\7", 6));
}

TEST(UnpackTree, NamesTheLineOfAMistake) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"mtu\n", "line 1: expected 'name = content', saw 'mtu'"},
      {"\nmtu : 9000\n", "line 2: expected one of"},
      {"../mtu = 9000\n", "line 1: expected a path below"},
      {"/etc/mtu = 9000\n", "line 1: expected a path below"},
      {"mtu = 1\nmtu = 2\n", "line 2: mtu: already there"},
      {"config # zz\n", "line 1: expected a number"},
      {"config @ 4 3:0102\n", "line 1: beyond the end: '3:0102'"},
      {"config @ 4 03\n", "line 1: expected 'offset:bytes', saw '03'"},
  };
  for (const auto& [archive, expected] : cases) {
    const TempTree tree;
    const Status status = UnpackTree(archive, tree.path());
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(std::string(expected)));
  }
}

}  // namespace
}  // namespace fabric::testing
