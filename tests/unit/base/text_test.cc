#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric {
namespace {

using ::testing::ElementsAre;

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(Words, DropsBlanks) {
  EXPECT_THAT(Words("  a\tb \n c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Words(" \n"), ElementsAre());
}

TEST(Trim, TakesBlanksFromBothEnds) {
  EXPECT_EQ(Trim("\t a b \n"), "a b");
  EXPECT_EQ(Trim("  "), "");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(*ParseNumber<int>("-12"), -12);
  EXPECT_EQ(*ParseNumber<unsigned>("0x2f", 16), 0x2fu);
  for (const std::string_view bad : {"", "12 ", "1x", "0x", "4294967296"})
    EXPECT_EQ(ParseNumber<unsigned>(bad).status().code(), Code::kInvalidArgument) << bad;
}

TEST(Quoted, EscapesAndShortens) {
  EXPECT_EQ(Quoted(std::string_view("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(Quoted(std::string(70, 'x')), "'" + std::string(60, 'x') + "...'");
}

}  // namespace
}  // namespace fabric
