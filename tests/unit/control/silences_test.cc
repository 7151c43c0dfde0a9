#include "daemon/control/findings/silences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Silence Silence(const std::string& finding, const std::string& rule, const std::string& node) {
  v1::Silence silence;
  silence.set_finding(finding);
  silence.set_rule(rule);
  silence.set_node(node);
  silence.set_author("ada");
  silence.set_reason("cable is being replaced");
  return silence;
}

v1::Finding Finding(const std::string& id, const std::string& rule, const std::string& node) {
  v1::Finding finding;
  finding.set_id(id);
  finding.set_rule(rule);
  finding.mutable_subject()->set_node(node);
  return finding;
}

class SilencesTest : public ::testing::Test {
 protected:
  SilencesTest() { now_.wall = WallTime(1'800'000'000s); }

  std::string Add(const v1::Silence& silence, std::uint32_t seconds = 60) {
    const auto added = silences_.Add(silence, seconds, now_);
    EXPECT_TRUE(added.ok()) << added.status().message();
    return added.ok() ? added->id() : "";
  }
  std::string MatchOf(const v1::Finding& finding) const {
    const v1::Silence* const match = silences_.Match(finding);
    return match == nullptr ? "" : match->id();
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const v1::Silence& silence : silences_.all()) ids.push_back(silence.id());
    return ids;
  }

  Silences silences_;
  Moment now_;
};

TEST_F(SilencesTest, AreCompleted) {
  const auto silence = silences_.Add(Silence("", "port_active", ""), 7200, now_);
  ASSERT_TRUE(silence.ok());
  EXPECT_EQ(silence->id(), "s1");
  EXPECT_EQ(FromProto(silence->created_at()), now_.wall);
  EXPECT_EQ(FromProto(silence->until()), now_.wall + 2h);
}

TEST_F(SilencesTest, AllThatIsGivenMustMatch) {
  struct Case {
    v1::Silence silence;
    bool matches;
  };
  const v1::Finding finding = Finding("f1", "port_active", "n1");
  for (const Case& test : {
           Case{Silence("f1", "", ""), true},
           Case{Silence("f2", "", ""), false},
           Case{Silence("", "port_active", ""), true},
           Case{Silence("", "", "n1"), true},
           Case{Silence("", "", "n10"), false},
           Case{Silence("", "port_active", "n1"), true},
           Case{Silence("", "port_active", "n2"), false},
           Case{Silence("f1", "mtu_equal_on_rail", ""), false},
       }) {
    silences_ = {};
    Add(test.silence);
    EXPECT_EQ(MatchOf(finding) == "s1", test.matches) << test.silence.ShortDebugString();
  }
  silences_ = {};
  Add(Silence("", "", "n1"));
  EXPECT_EQ(MatchOf(Finding("f1", "duplicate_gid", "")), "") << "of a rail, which has no node";
}

TEST_F(SilencesTest, TheOneThatHoldsLongestIsNamed) {
  Add(Silence("", "port_active", ""), 60);
  Add(Silence("", "", "n1"), 120);
  Add(Silence("f1", "", ""), 90);
  EXPECT_EQ(MatchOf(Finding("f1", "port_active", "n1")), "s2");
  EXPECT_THAT(Ids(), ElementsAre("s1", "s3", "s2")) << "the first to end comes first";
}

TEST_F(SilencesTest, EndByThemselves) {
  Add(Silence("", "port_active", ""), 60);
  Add(Silence("", "", "n1"), 120);
  now_.wall += 59s;
  EXPECT_THAT(silences_.Expire(now_), IsEmpty());
  now_.wall += 1s;
  EXPECT_EQ(silences_.Expire(now_).size(), 1u);
  EXPECT_THAT(Ids(), ElementsAre("s2"));
}

TEST_F(SilencesTest, AreFoundByIdOrByAPrefix) {
  for (int i = 0; i < 12; ++i) Add(Silence("", "port_active", ""));
  const auto found = silences_.Get("s1");
  ASSERT_TRUE(found.ok()) << "the whole id, though others begin with it";
  silences_.Remove(found->id());
  EXPECT_EQ(silences_.all().size(), 11u);
  EXPECT_TRUE(silences_.Get("s9").ok());
  EXPECT_EQ(silences_.Get("s1").status(),
            Status(Code::kInvalidArgument, "id: the prefix 's1' matches 3 silences"));
  EXPECT_EQ(silences_.Get("s99").status().code(), Code::kNotFound);
  EXPECT_EQ(silences_.Get("x2").status(),
            Status(Code::kNotFound, "unknown silence 'x2'; did you mean 's2'?"));
  EXPECT_EQ(silences_.Get("").status().code(), Code::kNotFound);
}

TEST_F(SilencesTest, SayWhatIsWrongWithTheRequest) {
  struct Case {
    v1::Silence silence;
    std::uint32_t seconds;
    const char* message;
  };
  v1::Silence anonymous = Silence("", "port_active", "");
  anonymous.set_author(" ");
  v1::Silence silent = Silence("", "port_active", "");
  silent.clear_reason();
  v1::Silence long_winded = Silence("", "port_active", "");
  long_winded.set_reason(std::string(1001, 'x'));
  v1::Silence long_name = Silence("", "port_active", "");
  long_name.set_author(std::string(256, 'a'));  // The longest name of an identity
  const auto longest = silences_.Add(long_name, 60, now_);
  ASSERT_TRUE(longest.ok()) << longest.status().message();
  silences_.Remove(longest->id());
  long_name.set_author(std::string(257, 'a'));
  for (const Case& test : {
           Case{long_name, 60, "author: expected at most 256 bytes, saw 257"},
           Case{Silence("", "", ""), 60, "expected a finding, a rule or a node, saw none"},
           Case{anonymous, 60, "author: expected a name, saw ' '"},
           Case{silent, 60, "reason: expected some words, saw ''"},
           Case{long_winded, 60, "reason: expected at most 1000 bytes, saw 1001"},
           Case{Silence("", "port_active", ""), 0,
                "duration_seconds: expected 1 to 2592000 (30 days), saw 0"},
           Case{Silence("", "port_active", ""), 2592001, "saw 2592001"},
       }) {
    const auto added = silences_.Add(test.silence, test.seconds, now_);
    ASSERT_FALSE(added.ok()) << test.message;
    EXPECT_EQ(added.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(added.status().message(), HasSubstr(test.message));
  }
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(SilencesTest, AreBounded) {
  for (std::size_t i = 0; i < kSilencesMax; ++i) Add(Silence("", "port_active", ""));
  EXPECT_EQ(silences_.Add(Silence("", "port_active", ""), 60, now_).status().code(),
            Code::kResourceExhausted);
}

TEST_F(SilencesTest, AreRestoredAndIdsAreNotGivenAgain) {
  v1::Silence holds = Silence("", "port_active", "");
  holds.set_id("s2");
  *holds.mutable_until() = ToProto(now_.wall + 1h);
  v1::Silence over = holds;
  over.set_id("s7");
  *over.mutable_until() = ToProto(now_.wall);
  v1::Silence odd = holds;
  odd.set_id("x");
  silences_.Restore({holds, over, odd}, now_);
  EXPECT_THAT(Ids(), ElementsAre("s2"));
  EXPECT_EQ(Add(Silence("", "", "n1")), "s8");
}

}  // namespace
}  // namespace fabric::control
