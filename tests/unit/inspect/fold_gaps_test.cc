#include "agents/inspect/fold_gaps.h"

#include <gmock/gmock.h>

#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class FoldingGaps : public ::testing::Test {
 protected:
  void Add(const std::string& subject, const std::string& path, Code code, std::string reason) {
    AddGap(snapshot_, "some", subject, path, Status(code, std::move(reason)));
  }
  std::vector<std::string> Folded() {
    FoldGaps(node_.fake.host(), snapshot_);
    return GapsOf(snapshot_, "some");
  }

  SmallNode node_;
  v1::NodeSnapshot snapshot_;
};

TEST_F(FoldingGaps, TheSameOfSeveralDevicesIsOne) {
  for (const std::string name : {"mlx5_2", "mlx5_0", "mlx5_1"})
    Add(name + "/1", "sys/class/infiniband/" + name + "/ports/1/pkeys", Code::kNotFound, "gone");
  Add("mlx5_3/1", "sys/class/infiniband/mlx5_3/ports/1/pkeys", Code::kDataLoss, "torn");
  EXPECT_THAT(Folded(),
              ElementsAre(" sys/class/infiniband/*/ports/*/pkeys: NOT_FOUND gone (mlx5_0/1 "
                          "mlx5_1/1 mlx5_2/1)",
                          "mlx5_3/1 sys/class/infiniband/mlx5_3/ports/1/pkeys: DATA_LOSS torn"));
}

TEST_F(FoldingGaps, TwoStayTwo) {
  Add("eth0", "netlink dcb eth0", Code::kUnimplemented, "none");
  Add("eth1", "netlink dcb eth1", Code::kUnimplemented, "none");
  EXPECT_THAT(Folded(), SizeIs(2));
  Add("eth10", "netlink dcb eth10", Code::kUnimplemented, "none");
  EXPECT_THAT(Folded(), ElementsAre(" netlink dcb *: UNIMPLEMENTED none (eth0 eth1 eth10)"));
}

TEST_F(FoldingGaps, AFolderThatWasNotCapturedIsOne) {
  node_.Remove("proc");
  Add("", "proc/cmdline", Code::kNotFound, "No such file or directory");
  Add("", "proc/version", Code::kNotFound, "No such file or directory");
  Add("", "proc/sys/net/ipv4", Code::kNotFound, "no such directory");
  Add("", "etc/os-release", Code::kNotFound, "No such file or directory");
  EXPECT_THAT(Folded(), ElementsAre(" proc: NOT_FOUND not in the captured tree; missing: cmdline "
                                    "sys/net/ipv4 version",
                                    " etc/os-release: NOT_FOUND No such file or directory"));
}

TEST_F(FoldingGaps, AFolderThatIsClosedIsOne) {
  for (const std::string name : {"fw_ver", "node_guid", "node_desc"})
    Add("mlx5_0", "sys/class/infiniband/mlx5_0/" + name, Code::kPermissionDenied, "denied");
  EXPECT_THAT(Folded(), ElementsAre("mlx5_0 sys/class/infiniband/mlx5_0: PERMISSION_DENIED denied "
                                    "(fw_ver node_guid node_desc)"));
}

TEST_F(FoldingGaps, SlotsOfATableAreOne) {
  for (const std::string slot : {"0", "1", "2"})
    Add("mlx5_0/1", "ports/1/gids/" + slot, Code::kInternal, "Input/output error");
  EXPECT_THAT(Folded(),
              ElementsAre("mlx5_0/1 ports/1/gids/*: INTERNAL Input/output error (0 1 2)"));
}

TEST_F(FoldingGaps, CallsThatHangAreKeptApart) {
  for (const std::string name : {"eth0", "eth1", "eth2"})
    Add(name, "sys/class/net/" + name + "/speed", Code::kDeadlineExceeded, "no answer");
  EXPECT_THAT(Folded(), SizeIs(3));
}

}  // namespace
}  // namespace fabric::inspect
