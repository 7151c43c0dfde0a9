#include "daemon/explain/wc_status.h"

#include <gtest/gtest.h>

#include <set>

namespace fabric::explain {
namespace {

TEST(WcStatus, NumbersAreThoseOfVerbsWithoutGaps) {
  ASSERT_EQ(AllWcStatuses().size(), 24U);
  for (std::uint32_t number = 0; number < 24; ++number) {
    ASSERT_NE(WcStatusOf(number), nullptr);
    EXPECT_EQ(WcStatusOf(number)->number, number);
    EXPECT_FALSE(WcStatusOf(number)->meaning.empty());
  }
  EXPECT_EQ(WcStatusOf(24), nullptr);
  EXPECT_EQ(WcStatusOf(4)->name, "IBV_WC_LOC_PROT_ERR");
  EXPECT_EQ(WcStatusOf(5)->name, "IBV_WC_WR_FLUSH_ERR");
  EXPECT_EQ(WcStatusOf(9)->name, "IBV_WC_REM_INV_REQ_ERR");
  EXPECT_EQ(WcStatusOf(10)->name, "IBV_WC_REM_ACCESS_ERR");
  EXPECT_EQ(WcStatusOf(11)->name, "IBV_WC_REM_OP_ERR");
  EXPECT_EQ(WcStatusOf(12)->name, "IBV_WC_RETRY_EXC_ERR");
  EXPECT_EQ(WcStatusOf(13)->name, "IBV_WC_RNR_RETRY_EXC_ERR");
  EXPECT_EQ(WcStatusOf(21)->name, "IBV_WC_GENERAL_ERR");
}

TEST(WcStatus, IsFoundByNameByTextAndByTheSyndromeOfMlx5) {
  EXPECT_EQ(WcStatusNamed("IBV_WC_RETRY_EXC_ERR")->number, 12U);
  EXPECT_EQ(WcStatusNamed("Transport retry counter exceeded")->number, 12U);
  EXPECT_EQ(WcStatusNamed("work request flushed error")->number, 5U);
  EXPECT_EQ(WcStatusNamed("IBV_WC_NEVER"), nullptr);
  EXPECT_EQ(WcStatusOfMlx5(0x15)->number, 12U);
  EXPECT_EQ(WcStatusOfMlx5(0x16)->number, 13U);
  EXPECT_EQ(WcStatusOfMlx5(0x05)->number, 5U);
  EXPECT_EQ(WcStatusOfMlx5(0x04)->number, 4U);
  EXPECT_EQ(WcStatusOfMlx5(0x77), nullptr);
}

TEST(WcStatus, OnlyAFlushIsAConsequenceAmongErrors) {
  for (const WcStatus& status : AllWcStatuses()) {
    EXPECT_EQ(status.consequence && status.name.ends_with("_ERR"), status.number == 5);
    EXPECT_NE(status.causes[0] == Cause::kNone, status.number != 0) << status.name;
  }
}

TEST(VendorSyndrome, IsSaidWhereItIsKnown) {
  EXPECT_EQ(VendorSyndrome(0x81), "mlx5: no acknowledgement at all");
  EXPECT_EQ(VendorSyndrome(0x32), "");
}

TEST(Causes, HaveIdsOfTheirOwnAndSomethingToCheck) {
  std::set<std::string_view> ids;
  for (const CauseInfo& cause : AllCauses()) {
    EXPECT_TRUE(ids.insert(cause.id).second) << cause.id;
    EXPECT_FALSE(cause.what.empty()) << cause.id;
    EXPECT_FALSE(cause.check.empty()) << cause.id;
    EXPECT_FALSE(cause.what.ends_with('.')) << cause.id;
  }
}

}  // namespace
}  // namespace fabric::explain
