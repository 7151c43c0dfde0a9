// YAML trees: positions, limits, JSON, and scalars.
#include <gtest/gtest.h>

#include "base/text.h"
#include "base/yaml.h"

namespace fabric::yaml {
namespace {

Node Read(std::string_view yaml) {
  auto read = Parse(yaml);
  if (const auto* problem = std::get_if<Problem>(&read)) {
    ADD_FAILURE() << ToString(*problem);
    return {};
  }
  return std::get<Node>(std::move(read));
}

std::string Refused(std::string_view yaml) {
  const auto read = Parse(yaml);
  const auto* problem = std::get_if<Problem>(&read);
  return problem == nullptr ? "" : ToString(*problem);
}

// "LINE:COLUMN" of the X in the value of the key k.
std::string PositionOfX(std::string_view yaml) {
  const Node root = Read(yaml);
  const Node* text = root.Find("k");
  if (text == nullptr) return "no k";
  const Position position = PositionIn(yaml, *text, text->text.find('X'));
  return Format("{}:{}", position.line, position.column);
}

TEST(Positions, OfACharacterInEveryStyleOfText) {
  EXPECT_EQ(PositionOfX("k: abX"), "1:6");
  EXPECT_EQ(PositionOfX("a: 1\nk: 'abX'"), "2:7");
  EXPECT_EQ(PositionOfX("k: 'it''s X'"), "1:11");
  EXPECT_EQ(PositionOfX(R"(k: "a \"b\" X")"), "1:13");
  EXPECT_EQ(PositionOfX("k: |\n  ab\n  cX\n"), "3:4");
  EXPECT_EQ(PositionOfX("k: >-\n  ab\n  cX\n"), "3:4");
  EXPECT_EQ(PositionOfX("k: >-\n  a ==\n    b &&\n\n  cX\n"), "5:4");
  EXPECT_EQ(PositionOfX("k: ab\n  cX\n"), "2:4");
  EXPECT_EQ(PositionOfX("k: 'ab\n  cX'\n"), "2:4");
  EXPECT_EQ(PositionOfX("{k: [1, 2], k: abX}"), "1:5");  // The first of two is a list
}

TEST(Positions, OfTheEndOfAText) {
  const std::string_view yaml = "k: ab\nl: c";
  const Position position = PositionIn(yaml, *Read(yaml).Find("k"), 2);
  EXPECT_EQ(position.line, 1U);
  EXPECT_EQ(position.column, 6U);
}

TEST(Yaml, ThatIsNoneIsRefusedWithItsPlace) {
  EXPECT_EQ(Refused("a: [1"), ":1:1: end of sequence flow not found");
  EXPECT_EQ(Refused("a: \xff"), ":1:1: expected UTF-8, saw other bytes");
  EXPECT_EQ(Refused("a: \xed\xa0\x80"), ":1:1: expected UTF-8, saw other bytes");
  EXPECT_EQ(Refused(std::string(Limits().bytes + 1, ' ')),
            ":1:1: expected at most 1048576 bytes, saw 1048577");
}

TEST(Yaml, WithAnEscapeThatIsNotUtf8IsRefusedWithItsPlace) {
  EXPECT_EQ(Refused("a: 1\nb: \"x\\_y\"\n"),
            ":2:4: expected UTF-8, saw an escape for other bytes, such as \\_");
  EXPECT_EQ(Read("a: \"x\\u00e9\"\n").Find("a")->text, "x\u00e9");
}

TEST(Yaml, ThatGrowsByItsAliasesIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    bomb += Format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) bomb += Format("*a{}{}", i - 1, k < 9 ? ", " : "]\n");
  }
  constexpr std::string_view kTooLarge =
      ":1:1: expected at most 100000 nodes, nested at most 64 levels, saw more";
  EXPECT_EQ(Refused(bomb), kTooLarge);
  EXPECT_EQ(Refused("&a [*a]"), kTooLarge);
  EXPECT_EQ(Refused(std::string(100, '[') + std::string(100, ']')), kTooLarge);
}

TEST(Yaml, OfSeveralDocumentsHasPositionsInTheWholeText) {
  const auto documents = ParseDocuments("a: 1\n---\nb: 2\n---\n[\n---\n");
  ASSERT_EQ(documents.size(), 4U);
  EXPECT_EQ(std::get<Node>(documents[0]).Find("a")->position, (Position{1, 4}));
  EXPECT_EQ(std::get<Node>(documents[1]).Find("b")->position, (Position{3, 4}));
  EXPECT_EQ(std::get<Problem>(documents[2]).position.line, 6U);
  EXPECT_EQ(std::get<Node>(documents[3]).kind, Node::Kind::kNothing);
}

TEST(Scalars, AreReadBack) {
  for (const std::string_view text :
       {"plain", "a b", "", "- x", "x:", "\"\\", "\x01\x7f", "line\nbreak", "[::1]:7", "#"}) {
    const Node read = Read(Scalar(text));
    EXPECT_EQ(read.kind, Node::Kind::kText) << text;
    EXPECT_EQ(read.text, text);
  }
  EXPECT_EQ(Scalar("10.0.0.1:80"), "10.0.0.1:80");
}

TEST(Json, KeepsWhatIsATextAText) {
  EXPECT_EQ(ToJson(Read("{a: 1, b: '1', c: true, d: 'true', e: -1.5e3, f: 0000:17:00.0, g: 007,"
                        " h: [x, null, ~], i: {}, j: 0x10, k: nan, l: '\"\\'}")),
            R"({"a":1,"b":"1","c":true,"d":"true","e":-1500.0,"f":"0000:17:00.0","g":"007",)"
            R"("h":["x",null,null],"i":{},"j":"0x10","k":"nan","l":"\"\\"})");
}

}  // namespace
}  // namespace fabric::yaml
