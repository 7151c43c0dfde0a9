#include "base/priority_mask.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabric {
namespace {

TEST(PriorityMask, ListsThePrioritiesAsText) {
  EXPECT_EQ(ToText(PriorityMask()), "none");
  EXPECT_EQ(ToText(PriorityMask(0x08)), "3");
  EXPECT_EQ(ToText(PriorityMask(0x18)), "3,4");
  EXPECT_EQ(ToText(PriorityMask(0xff)), "0,1,2,3,4,5,6,7");
}

TEST(PriorityMask, IgnoresWhatIsNotAPriority) {
  EXPECT_EQ(PriorityMask(0xffffff08), PriorityMask(8));
  EXPECT_EQ(PriorityMask::FromList(std::vector<std::uint32_t>{3, 8, 4'000'000'000U}),
            PriorityMask(8));
  EXPECT_FALSE(PriorityMask(0xff).Has(8));
  EXPECT_FALSE(PriorityMask(0xff).Has(4'000'000'000U));
}

TEST(PriorityMask, IsASet) {
  const auto mask = PriorityMask::FromList(std::vector<std::uint32_t>{4, 3, 3});
  EXPECT_EQ(mask.bits(), 0x18);
  EXPECT_TRUE(mask.Has(3));
  EXPECT_FALSE(mask.Has(5));
  EXPECT_EQ(mask.count(), 2);
  EXPECT_EQ(mask.lowest(), 3U);
  EXPECT_EQ(PriorityMask().lowest(), PriorityMask::kPriorities);
  EXPECT_EQ(mask.Without(PriorityMask(0x10)), PriorityMask(8));
  EXPECT_TRUE(PriorityMask().empty());
}

}  // namespace
}  // namespace fabric
