#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace fabric {
namespace {

static_assert(!std::is_convertible_v<Guid, std::uint64_t>);
static_assert(!std::is_convertible_v<std::uint64_t, Guid>);
static_assert(!std::is_convertible_v<Guid, Rail>);

TEST(Guid, RoundTrips) {
  EXPECT_EQ(ToString(*ParseGuid("0c42:a103:0065:1f2e")), "0c42:a103:0065:1f2e");
  EXPECT_EQ(ParseGuid("0c42:a103:0065:1f2e")->value(), 0x0c42a10300651f2eu);
}

TEST(Guid, RefusesWhatIsNone) {
  for (const std::string_view bad :
       {"", "0c42a10300651f2e", "0c42:a103:0065", "0c42:a103:0065:1f2", "0c42:a103:0065:1f2g"})
    EXPECT_FALSE(ParseGuid(bad).ok()) << bad;
}

TEST(PciAddress, RoundTripsAndOrders) {
  for (const std::string_view good : {"0000:17:00.0", "10000:e1:1f.7"})
    EXPECT_EQ(ToString(*ParsePciAddress(good)), good);
  EXPECT_LT(*ParsePciAddress("0000:17:00.1"), *ParsePciAddress("0000:9c:00.0"));
}

TEST(PciAddress, RefusesWhatIsNone) {
  for (const std::string_view bad : {"", "17:00.0", "0000:17:20.0", "0000:17:00.8", "0000:17:00"})
    EXPECT_FALSE(ParsePciAddress(bad).ok()) << bad;
}

}  // namespace
}  // namespace fabric
