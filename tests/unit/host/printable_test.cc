#include "agents/host/printable.h"

#include <gtest/gtest.h>

namespace fabric::host {
namespace {

TEST(IsText, TakesWhatPeopleWrite) {
  for (const std::string_view good :
       {"", "4: ACTIVE\n", "a\tb\r\n", "node042 mlx5_0", "K\xc3\xb6ln", "\xe2\x82\xac",
        "\xf0\x9f\x90\xa7", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(IsText(good)) << good;
}

TEST(IsText, RefusesControlCharactersAndBrokenUtf8) {
  for (const std::string_view bad :
       {std::string_view("a\0b", 3), std::string_view("\x1b[31m"), std::string_view("\x7f"),
        std::string_view("\xff"), std::string_view("K\xf6ln"), std::string_view("\xc3"),
        std::string_view("\xc0\x80"), std::string_view("\xe2\x82"),
        std::string_view("\xe0\x80\x80"), std::string_view("\xed\xa0\x80"),
        std::string_view("\xf0\x80\x80\x80"), std::string_view("\xf4\x90\x80\x80"),
        std::string_view("\xf5\x80\x80\x80"), std::string_view("\x80")})
    EXPECT_FALSE(IsText(bad)) << bad;
}

TEST(ParseAttribute, DropsTrailingBlanksOnly) {
  EXPECT_EQ(*ParseAttribute("28.41.1000\n"), "28.41.1000");
  EXPECT_EQ(*ParseAttribute(" a b \t\r\n\n"), " a b");
  EXPECT_EQ(*ParseAttribute("\n"), "");
  EXPECT_EQ(ParseAttribute("\x01").status(), Status(Code::kDataLoss, "expected text, saw '\\x01'"));
}

}  // namespace
}  // namespace fabric::host
