#include "agents/host/sysfs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>

#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempTree;

class Tree : public ::testing::Test {
 protected:
  Dir Root() const { return *Dir::Open(tree_.path()); }
  Code TextCode(const std::string& name) const { return Root().Text(name).status().code(); }
  std::string At(const std::string& name) const { return tree_.path() + "/" + name; }

  TempTree tree_;
};

TEST_F(Tree, TextComesWithoutTrailingBlanks) {
  tree_.File("sys/rate", "400 Gb/sec (4X NDR)\n").File("sys/fw_ver", "\n").File("sys/none", "");
  const Dir sys = *Root().Sub("sys");
  EXPECT_EQ(*sys.Text("rate"), "400 Gb/sec (4X NDR)");
  EXPECT_EQ(*sys.Text("fw_ver"), "");
  EXPECT_EQ(*sys.Text("none"), "");
  EXPECT_EQ(sys.path(), At("sys"));
}

TEST_F(Tree, WhatIsMissingIsNotFoundAndNamed) {
  tree_.File("sys/file", "1\n");
  EXPECT_EQ(Root().Text("sys/rate").status(),
            Status(Code::kNotFound, At("sys/rate") + ": No such file or directory"));
  EXPECT_EQ(Root().Sub("proc").status().code(), Code::kNotFound);
  EXPECT_EQ(Root().Sub("sys/file").status().code(), Code::kNotFound);
  EXPECT_EQ(TextCode("sys/file/below"), Code::kNotFound);
  EXPECT_EQ(Dir::Open(At("absent")).status().code(), Code::kNotFound);
  EXPECT_EQ(Dir::Open("").status().code(), Code::kNotFound);
}

TEST_F(Tree, OnlyRelativeNamesAreTaken) {
  tree_.File("file", "1\n");
  for (const std::string& bad :
       {std::string(), std::string("/etc/passwd"), std::string("fi\0le", 5)})
    EXPECT_EQ(TextCode(bad), Code::kInvalidArgument) << bad;
}

TEST_F(Tree, BinaryContentIsDataLoss) {
  tree_.File("nul", std::string_view("a\0b", 3)).File("latin1", "K\xf6ln\n").File("esc", "\x1b[2J");
  for (const char* name : {"nul", "latin1", "esc"})
    EXPECT_EQ(TextCode(name), Code::kDataLoss) << name;
  EXPECT_THAT(Root().Text("nul").status().message(), HasSubstr(At("nul")));
  EXPECT_EQ(*Root().Whole("nul"), std::string("a\0b", 3));
}

TEST_F(Tree, HugeFilesAreRefusedNotCut) {
  tree_.File("page", std::string(4096, 'x')).File("more", std::string(4097, 'x'));
  constexpr std::size_t kLimit = std::size_t{16} << 20;
  tree_.File("limit", std::string(kLimit, 'x')).File("beyond", std::string(kLimit + 1, 'x'));
  EXPECT_EQ(Root().Text("page")->size(), 4096u);
  EXPECT_EQ(TextCode("more"), Code::kResourceExhausted);
  EXPECT_EQ(Root().Whole("more")->size(), 4097u);
  EXPECT_EQ(Root().Whole("limit")->size(), kLimit);
  EXPECT_EQ(Root().Whole("beyond").status().code(), Code::kResourceExhausted);
}

TEST_F(Tree, TheEndOfALogBeginsWithAWholeLine) {
  tree_.File("log", "first\nsecond\nthird\n").File("line", "0123456789").File("empty", "");
  EXPECT_EQ(Root().End("log", 100)->text, "first\nsecond\nthird\n");
  EXPECT_EQ(Root().End("log", 100)->left_out_bytes, 0U);
  EXPECT_EQ(Root().End("log", 10)->text, "third\n");
  EXPECT_EQ(Root().End("log", 10)->left_out_bytes, 13U);
  EXPECT_EQ(Root().End("line", 4)->text, "");
  EXPECT_EQ(Root().End("line", 4)->left_out_bytes, 10U);
  EXPECT_EQ(Root().End("empty", 4)->text, "");
  EXPECT_EQ(Root().End("missing", 4).status().code(), Code::kNotFound);
}

TEST_F(Tree, StampsStayWithinTheTree) {
  tree_.Directory("inside").Link("out", "/tmp").Link("in", "/inside").File("file", "");
  EXPECT_FALSE(Root().StampOf("out"));
  EXPECT_FALSE(Root().StampOf("file"));
  EXPECT_EQ(Root().StampOf("in"), Root().StampOf("inside"));
}

TEST_F(Tree, UnreadableIsPermissionDenied) {
  tree_.File("config", "secret\n");
  const Dir root = Root();
  std::filesystem::permissions(tree_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(At("config"), std::filesystem::perms::none);
  const int before = ::setfsuid(65534);  // Root may read anything, this user may not.
  const Code code = root.Text("config").status().code();
  const bool there = root.Has("config");
  ::setfsuid(static_cast<uid_t>(before));
  EXPECT_EQ(code, Code::kPermissionDenied);
  EXPECT_TRUE(there);
}

TEST_F(Tree, NothingButRegularFilesIsRead) {
  tree_.Directory("directory");
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0600), 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, At("socket").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  for (const char* name : {"directory", "fifo", "socket"}) {
    EXPECT_EQ(TextCode(name), Code::kInvalidArgument) << name;
    EXPECT_EQ(Root().Whole(name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(Dir::Open("/")->Text("dev/zero").status().code(), Code::kInvalidArgument);
}

TEST_F(Tree, NumbersAreWholeOrDataLoss) {
  tree_.File("mtu", "9000\n").File("node", "-1\n").File("lid", "0x2f\n").File("pad", "  7\n");
  EXPECT_EQ(*Root().Number<std::uint32_t>("mtu"), 9000u);
  EXPECT_EQ(*Root().Number<int>("node"), -1);
  EXPECT_EQ(*Root().Number<std::uint16_t>("lid", 16), 0x2f);
  EXPECT_EQ(*Root().Number<int>("pad"), 7);
  tree_.File("pma", "N/A (no PMA)\n").File("empty", "").File("huge", "4294967296\n");
  for (const char* name : {"pma", "empty", "huge", "node", "lid"})
    EXPECT_EQ(Root().Number<std::uint32_t>(name).status().code(), Code::kDataLoss) << name;
  EXPECT_EQ(Root().Number<int>("pma").status().message(),
            At("pma") + ": expected a number, saw 'N/A (no PMA)'");
  EXPECT_EQ(Root().Number<int>("absent").status().code(), Code::kNotFound);
}

TEST_F(Tree, NamesAreSortedWithoutDots) {
  tree_.File("net/rail1/mtu", "1").File("net/eth0/mtu", "1").File("net/.hidden", "1");
  tree_.Link("net/lo", "nowhere").Directory("empty");
  const Dir net = *Root().Sub("net");
  EXPECT_THAT(*net.Names(), ElementsAre("eth0", "lo", "rail1"));
  EXPECT_THAT(*net.Names(), ElementsAre("eth0", "lo", "rail1"));  // From the start again.
  EXPECT_THAT(*Root().Sub("empty")->Names(), ElementsAre());
  EXPECT_THAT(*Root().Names(), ElementsAre("empty", "net"));
}

TEST_F(Tree, HasSeesDanglingLinks) {
  tree_.File("file", "").Link("dangling", "nowhere").Link("loop", "loop");
  for (const char* name : {"file", "dangling", "loop"}) EXPECT_TRUE(Root().Has(name)) << name;
  EXPECT_FALSE(Root().Has("absent"));
}

TEST_F(Tree, LinksTellNamesAndPlaces) {
  tree_.File("sys/devices/pci0000:17/0000:17:00.0/net/rail0/mtu", "9000\n");
  tree_.Link("sys/class/net/rail0", "../../devices/pci0000:17/0000:17:00.0/net/rail0");
  tree_.Link("sys/devices/pci0000:17/0000:17:00.0/net/rail0/device", "../..");
  tree_.Link("sys/devices/pci0000:17/0000:17:00.0/driver", "/sys/bus/pci/drivers/mlx5_core/");
  const Dir net = *Root().Sub("sys/class/net");
  EXPECT_EQ(*net.LinkName("rail0"), "rail0");
  EXPECT_EQ(*net.LinkName("rail0/device/driver"), "mlx5_core");
  EXPECT_EQ(*net.RealPath("rail0"), "sys/devices/pci0000:17/0000:17:00.0/net/rail0");
  EXPECT_EQ(*net.RealPath("rail0/device"), "sys/devices/pci0000:17/0000:17:00.0");
  EXPECT_EQ(*net.Sub("rail0")->Sub("device")->RealPath("net"),
            "sys/devices/pci0000:17/0000:17:00.0/net");
  EXPECT_EQ(*Root().RealPath("."), ".");
  EXPECT_EQ(net.RealPath("rail0/device/driver").status().code(), Code::kNotFound);  // Dangling.
  EXPECT_EQ(*net.LinkTarget("rail0/device/driver"), "/sys/bus/pci/drivers/mlx5_core/");
}

TEST_F(Tree, FlattenedLinksAreUnimplemented) {
  tree_.File("device/driver", "driver").Directory("device/subsystem");
  EXPECT_EQ(Root().LinkName("device/driver").status().code(), Code::kUnimplemented);
  EXPECT_EQ(Root().LinkName("device/subsystem").status().code(), Code::kUnimplemented);
  EXPECT_EQ(Root().LinkName("device/absent").status().code(), Code::kNotFound);
}

TEST_F(Tree, LoopsOfLinksAreTheTreesFault) {
  tree_.Link("a", "b").Link("b", "a").Link("self", "self/self");
  for (const char* name : {"a", "b", "self", "a/file"})
    EXPECT_EQ(TextCode(name), Code::kInvalidArgument) << name;
  EXPECT_EQ(Root().Sub("a").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Root().RealPath("a").status().code(), Code::kInvalidArgument);
}

TEST_F(Tree, NoLinkLeadsOutOfACapturedTree) {
  TempTree outside;
  outside.File("secret", "outside\n");
  tree_.File("secret", "inside\n").Directory("deep/er");
  tree_.Link("deep/absolute", outside.path() + "/secret");
  tree_.Link("deep/up", "../../../../../../../../secret");
  tree_.Link("deep/slash", "/secret").Link("deep/root", "/");
  EXPECT_EQ(TextCode("deep/absolute"), Code::kNotFound);
  const Dir er = *Root().Sub("deep/er");
  EXPECT_EQ(*er.Text("../up"), "inside");
  EXPECT_EQ(*er.Text("../slash"), "inside");
  EXPECT_EQ(*er.Text("../../../../secret"), "inside");
  EXPECT_EQ(*er.RealPath("../root/deep"), "deep");
  EXPECT_EQ(er.Sub("../root" + outside.path()).status().code(), Code::kNotFound);
}

TEST_F(Tree, ADirectoryThatIsGoneIsNotFound) {
  tree_.File("live", "1\n");
  const Dir slash = *Dir::Open("/");
  const Dir port = *slash.Sub(tree_.path().substr(1));  // As below "/": held open.
  EXPECT_EQ(*port.Text("live"), "1");
  std::filesystem::rename(tree_.path(), tree_.path() + ".old");
  tree_.File("live", "2\n");
  EXPECT_EQ(*port.Text("live"), "1");  // Not the attribute of what took the name.
  std::filesystem::remove_all(tree_.path() + ".old");
  EXPECT_EQ(port.Text("live").status().code(), Code::kNotFound);
  EXPECT_EQ(port.RealPath(".").status().code(), Code::kNotFound);
}

TEST(LiveRoot, LinksMeanWhatTheyMean) {
  const Dir slash = *Dir::Open("/");
  EXPECT_FALSE(slash.captured());
  EXPECT_EQ(slash.path(), "/");
  EXPECT_EQ(slash.Sub("proc")->path(), "/proc");
  EXPECT_TRUE(Dir::Open("/tmp")->captured());
  EXPECT_FALSE(Dir::Open("//")->captured());
  EXPECT_EQ(*slash.LinkName("proc/self"), std::to_string(::getpid()));
  EXPECT_EQ(*slash.RealPath("proc/self"), "proc/" + std::to_string(::getpid()));
  EXPECT_THAT(*slash.Whole("proc/self/status"), HasSubstr("Name:"));
}

TEST(LiveRoot, ReadErrorsAreTheKernels) {
  // Nothing is mapped at address 0, where this file begins.
  EXPECT_EQ(Dir::Open("/")->Text("proc/self/mem").status(),
            Status(Code::kUnavailable, "/proc/self/mem: Input/output error"));
}

}  // namespace
}  // namespace fabric::host
