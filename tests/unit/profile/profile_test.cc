#include "daemon/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json.h"

namespace fabric::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Profile ParseProfileText(const std::string& json) {
  v1::Profile profile;
  EXPECT_EQ(FromJson(json, profile), Status()) << json;
  return profile;
}

const v1::Profile kParent = ParseProfileText(R"({
  "name": "parent",
  "expect": {"lossless": true, "pfcPriorities": {"priorities": [3, 4]}, "dataDscp": 26},
  "overrides": [{"where": {"rails": [8]}, "expect": {"unused": true}}]})");

TEST(Profile, InheritsWhatItDoesNotSayItself) {
  const v1::Profile child = ParseProfileText(
      R"({"name": "child", "inherits": "parent",
          "expect": {"pfcPriorities": {"priorities": [5]}}})");
  const auto made = Profile::Make(child, {{kParent}});
  ASSERT_EQ(made.status(), Status());
  const v1::Expectations expect = made->Expect({});
  EXPECT_TRUE(expect.lossless());
  EXPECT_EQ(expect.data_dscp(), 26U);
  EXPECT_THAT(expect.pfc_priorities().priorities(), ElementsAre(5)) << "a list is replaced";
  EXPECT_FALSE(expect.has_unused());
  EXPECT_TRUE(made->Expect(made->Match({.rail = Rail(8)})).unused());
}

TEST(Profile, SaysWhatCannotBeInherited) {
  const v1::Profile orphan = ParseProfileText(R"({"name": "a", "inherits": "b"})");
  EXPECT_THAT(Profile::Make(orphan, {}).status().message(),
              HasSubstr("a inherits unknown profile 'b'"));
  const v1::Profile other = ParseProfileText(R"({"name": "b", "inherits": "a"})");
  EXPECT_THAT(Profile::Make(orphan, {{other, orphan}}).status().message(),
              HasSubstr("inherits from itself"));
}

TEST(Profile, MatchesWhereEveryGivenFieldOfTheSelectorDoes) {
  const v1::Profile profile = ParseProfileText(R"({"name": "p", "overrides": [
      {"where": {"nodes": ["gpu-*"], "rails": [0, 1]}, "expect": {"ecn": true}},
      {"where": {"models": ["ConnectX-?"]}, "expect": {"ecn": false}},
      {"where": {"netdevs": ["storage*"]}, "expect": {"unused": true}}]})");
  const auto made = Profile::Make(profile, {});
  ASSERT_EQ(made.status(), Status());
  EXPECT_THAT(made->Match({.node = "gpu-7", .rail = Rail(1)}), ElementsAre(0));
  EXPECT_THAT(made->Match({.node = "gpu-7", .rail = Rail(2)}), ElementsAre());
  EXPECT_THAT(made->Match({.node = "gpu-7"}), ElementsAre()) << "no rail is no match";
  const Overrides both = made->Match({.node = "gpu-7", .model = "ConnectX-7", .rail = Rail(0)});
  EXPECT_THAT(both, ElementsAre(0, 1));
  EXPECT_FALSE(made->Expect(both).ecn()) << "the later one wins";
}

struct PatternCase {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(Pattern, KnowsStarAndQuestionMark) {
  const PatternCase kCases[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "abc", true},
      {"a*c", "abbbc", true},
      {"a*c", "abbb", false},
      {"?", "a", true},
      {"?", "", false},
      {"a?c", "abc", true},
      {"*a*b", "xxaxxb", true},
      {"*a*b", "xxaxxbx", false},
      {"mlx5_*", "mlx5_10", true},
      {"mlx5", "mlx5_0", false},
      {"**", "a", true},
  };
  for (const PatternCase& each : kCases)
    EXPECT_EQ(MatchesPattern(each.pattern, each.text), each.matches)
        << each.pattern << " " << each.text;
}

}  // namespace
}  // namespace fabric::profile
