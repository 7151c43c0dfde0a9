#include "base/utf8.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(IsUtf8, KnowsOverlongFormsAndSurrogates) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain"));
  EXPECT_TRUE(IsUtf8("\xf0\x9f\x98\x80"));
  for (const char* bad : {"\x80", "\xc1\x81", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(IsUtf8(bad));
}

TEST(FirstRune, DecodesOneCharacter) {
  const Rune euro = FirstRune("\xe2\x82\xac!");
  EXPECT_EQ(euro.code, 0x20acU);
  EXPECT_EQ(euro.bytes, 3U);
  EXPECT_TRUE(euro.valid);
  const Rune bad = FirstRune("\xe2\x82");
  EXPECT_EQ(bad.bytes, 1U);
  EXPECT_FALSE(bad.valid);
}

TEST(Utf8Prefix, EndsBetweenCharacters) {
  EXPECT_EQ(Utf8Prefix("abc", 5), "abc");
  EXPECT_EQ(Utf8Prefix("abc", 2), "ab");
  EXPECT_EQ(Utf8Prefix("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(Utf8Prefix("a\xe2\x82\xac", 4), "a\xe2\x82\xac");
}

}  // namespace
}  // namespace fabric
