// YAML with places.
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/custom/document.h"

namespace fabric::custom {
namespace {

Part Read(std::string_view yaml) {
  auto read = ReadYaml(yaml);
  if (const auto* problem = std::get_if<Problem>(&read)) {
    ADD_FAILURE() << ToString(*problem);
    return {};
  }
  return std::get<Part>(std::move(read));
}

std::string Refused(std::string_view yaml) {
  const auto read = ReadYaml(yaml);
  const auto* problem = std::get_if<Problem>(&read);
  return problem == nullptr ? "" : ToString(*problem);
}

// "LINE:COLUMN" of the X in the value of the key k.
std::string PlaceOfX(std::string_view yaml) {
  const Part root = Read(yaml);
  const Part* text = root.Find("k");
  if (text == nullptr) return "no k";
  const Place place = PlaceIn(yaml, *text, text->text.find('X'));
  return Format("{}:{}", place.line, place.column);
}

TEST(Places, OfACharacterInEveryStyleOfText) {
  EXPECT_EQ(PlaceOfX("k: abX"), "1:6");
  EXPECT_EQ(PlaceOfX("a: 1\nk: 'abX'"), "2:7");
  EXPECT_EQ(PlaceOfX("k: 'it''s X'"), "1:11");
  EXPECT_EQ(PlaceOfX(R"(k: "a \"b\" X")"), "1:13");
  EXPECT_EQ(PlaceOfX("k: |\n  ab\n  cX\n"), "3:4");
  EXPECT_EQ(PlaceOfX("k: >-\n  ab\n  cX\n"), "3:4");
  EXPECT_EQ(PlaceOfX("k: >-\n  a ==\n    b &&\n\n  cX\n"), "5:4");
  EXPECT_EQ(PlaceOfX("k: ab\n  cX\n"), "2:4");
  EXPECT_EQ(PlaceOfX("k: 'ab\n  cX'\n"), "2:4");
  EXPECT_EQ(PlaceOfX("{k: [1, 2], k: abX}"), "1:5");  // The first of two is a list
}

TEST(Places, OfTheEndOfAText) {
  const std::string_view yaml = "k: ab\nl: c";
  const Place place = PlaceIn(yaml, *Read(yaml).Find("k"), 2);
  EXPECT_EQ(place.line, 1U);
  EXPECT_EQ(place.column, 6U);
}

TEST(Yaml, ThatIsNoneIsRefusedWithItsPlace) {
  EXPECT_EQ(Refused("a: [1"), ":1:1: end of sequence flow not found");
  EXPECT_EQ(Refused("a: \xff"), ":1:1: not UTF-8");
  EXPECT_EQ(Refused("a: \xed\xa0\x80"), ":1:1: not UTF-8");
  EXPECT_EQ(Refused(std::string(kFileBytesMax + 1, ' ')), ":1:1: more than 1048576 bytes");
}

TEST(Yaml, ThatGrowsByItsAliasesIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    bomb += Format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) bomb += Format("*a{}{}", i - 1, k < 9 ? ", " : "]\n");
  }
  constexpr std::string_view kTooLarge =
      ":1:1: more than 100000 parts, or nested deeper than 64 levels";
  EXPECT_EQ(Refused(bomb), kTooLarge);
  EXPECT_EQ(Refused("&a [*a]"), kTooLarge);
  EXPECT_EQ(Refused(std::string(100, '[') + std::string(100, ']')), kTooLarge);
}

TEST(Json, KeepsWhatIsATextAText) {
  EXPECT_EQ(ToJson(Read("{a: 1, b: '1', c: true, d: 'true', e: -1.5e3, f: 0000:17:00.0, g: 007,"
                        " h: [x, null, ~], i: {}, j: 0x10, k: nan, l: '\"\\'}")),
            R"({"a":1,"b":"1","c":true,"d":"true","e":-1.5e3,"f":"0000:17:00.0","g":"007",)"
            R"("h":["x",null,null],"i":{},"j":"0x10","k":"nan","l":"\"\\"})");
}

}  // namespace
}  // namespace fabric::custom
