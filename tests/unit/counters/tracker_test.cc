#include "agents/counters/tracker.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace fabric::counters {
namespace {

constexpr std::uint64_t kTop32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kTop64 = std::numeric_limits<std::uint64_t>::max();
constexpr Register kWide{};
constexpr Register kWraps32{.width_bits = 32};
constexpr Register kStops16{.width_bits = 16, .stops = true};
constexpr Register kWords{.width_bits = 64, .stops = true, .factor = 4};

struct Story {
  std::string what;
  Register reg;
  std::vector<std::uint64_t> raw;  // One reading after the other
  std::uint64_t value;             // In the end
  std::uint32_t resets = 0;
  bool saturated = false;
};

void PrintTo(const Story& story, std::ostream* out) {
  *out << story.what;
}

class Registers : public ::testing::TestWithParam<Story> {};

TEST_P(Registers, AreCounted) {
  const Story& story = GetParam();
  Total total;
  for (const std::uint64_t raw : story.raw) {
    const Reading reading{.raw = raw, .there = true};
    Advance({&story.reg, 1}, {&reading, 1}, {&total, 1});
  }
  EXPECT_EQ(total.value, story.value);
  EXPECT_EQ(total.resets, story.resets);
  EXPECT_EQ(total.saturated, story.saturated);
}

INSTANTIATE_TEST_SUITE_P(
    Stories, Registers,
    ::testing::Values(
        Story{"BeginWithWhatTheyHold", kWide, {7}, 7}, Story{"GoForward", kWide, {7, 9, 9}, 9},
        Story{"CountWordsAsBytes", kWords, {10, 15}, 60},
        Story{"WrapAt32BitsCloseToTheTop", kWraps32, {kTop32 - 10, 5}, kTop32 + 6},
        Story{"WrapTwice", kWraps32, {kTop32, 3, kTop32, 1}, 2 * (kTop32 + 1) + 1},
        Story{"WrapWithALongStepLikeThoseBefore",
              kWraps32,
              {kTop32 - 250'000'000, kTop32 - 50'000'000, 150'000'000},
              kTop32 + 1 + 150'000'000},
        Story{"AreResetWhenTheWayOverTheTopIsLong", kWraps32, {kTop32 - 5'000'000, 5}, 5, 1},
        Story{"AreResetFromTheMiddle", kWraps32, {3'000'000'000, 12}, 12, 1},
        Story{"AreResetWhen64BitsFall", kWide, {kTop64 - 1, 3}, 3, 1},
        Story{"GoOnAfterAReset", kWide, {1000, 10, 30}, 30, 1},
        Story{"StopAtTheirMaximum", kStops16, {65'530, 65'535, 65'535}, 65'535, 0, true},
        Story{"ThatStopDoNotWrap", kStops16, {65'535, 2}, 2, 1, false},
        Story{"WithoutExtendedCountersStopAt32Bits", kWords, {kTop32}, kTop32 * 4, 0, true},
        Story{"ThatHoldMoreThanTheirWidthAreReset", kWraps32, {kTop32 + 9, 5}, 5, 1}),
    [](const auto& story) { return story.param.what; });

struct Pair {
  Register registers[2] = {kWraps32, kWraps32};
  Total totals[2];
  void Read(Reading a, Reading b) {
    const Reading readings[] = {a, b};
    Advance(registers, readings, totals);
  }
};

TEST(Reset, OfOneRegisterIsThatOfAllThatFellWithIt) {
  Pair pair;
  pair.Read({kTop32 - 3, true}, {2'000'000'000, true});
  pair.Read({4, true}, {0, true});
  EXPECT_EQ(pair.totals[0].value, 4u) << "alone it would have wrapped";
  EXPECT_EQ(pair.totals[0].resets, 1u);
  EXPECT_EQ(pair.totals[1].resets, 1u);
}

TEST(Reading, ThatIsNotThereLeavesTheCounterAsItIs) {
  Pair pair;
  pair.Read({5, true}, {0, false});
  EXPECT_FALSE(pair.totals[1].known);
  pair.Read({0, false}, {9, true});
  EXPECT_EQ(pair.totals[0].value, 5u);
  EXPECT_EQ(pair.totals[0].resets, 0u);
  EXPECT_EQ(pair.totals[1].value, 9u);
}

}  // namespace
}  // namespace fabric::counters
