#include "base/hash.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

// Fingerprints in the store depend on these values.
TEST(Hash, HasThePublishedValues) {
  EXPECT_EQ(Fnv(""), 0xcbf29ce484222325U);
  EXPECT_EQ(Fnv("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(Fnv("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(Fnv("bar", Fnv("foo")), Fnv("foobar"));
  EXPECT_EQ(SplitMix(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(SplitMix(kGoldenRatio), 0x6e789e6aa1b965f4U);
}

}  // namespace
}  // namespace fabric
