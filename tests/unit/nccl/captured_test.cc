// What the captured machines call for.
#include <gmock/gmock.h>

#include "agents/inspect/inspector.h"
#include "nccl/advice.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/golden.h"
#include "tests/testing/tree_archive.h"

namespace fabric::nccl {
namespace {

using testing::MatchesGolden;

class CapturedMachine : public ::testing::TestWithParam<const char*> {};

TEST_P(CapturedMachine, CallsFor) {
  const testing::Fixture tree(GetParam());
  testing::FakeHost fake(tree.path());
  const v1::NcclAdvice advice = Advise(inspect::Inspect(fake.host(), {.node_name = "", .now = {}}));
  const std::string name = std::string("nccl/") + GetParam();
  EXPECT_TRUE(MatchesGolden(name + "_env", EnvText(advice)));
  EXPECT_TRUE(MatchesGolden(name + "_table", TableText(advice)));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CapturedMachine,
                         ::testing::Values("h100_infiniband", "roce_connectx6dx", "thor2_bnxt",
                                           "rxe_guest", "nothing", "broken"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace fabric::nccl
