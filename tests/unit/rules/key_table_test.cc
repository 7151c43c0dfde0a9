#include "daemon/rules/engine/key_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace fabric::rules {
namespace {

// Hashes of few values collide: what is removed must not hide what stands behind it.
TEST(KeyTable, HasWhatAMapWouldHave) {
  std::mt19937 random(7);
  KeyTable table;
  std::map<std::uint64_t, Ref> expected;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const std::uint64_t hash = random() % 64 + (random() % 4 << 10);
    Ref* const found = table.Find(hash);
    ASSERT_EQ(found != nullptr, expected.contains(hash)) << step;
    if (found == nullptr) {
      table.Add(hash, {.node = step, .port = 1});
      expected[hash] = {.node = step, .port = 1};
    } else {
      ASSERT_EQ(*found, expected[hash]) << step;
      table.Remove(hash);
      expected.erase(hash);
    }
    ASSERT_EQ(table.size(), expected.size());
  }
  for (const auto& [hash, ref] : expected) EXPECT_EQ(*table.Find(hash), ref);
}

}  // namespace
}  // namespace fabric::rules
