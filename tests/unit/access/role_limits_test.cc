#include "daemon/access/role_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "base/text.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

v1::Identity Of(const std::string& name, std::vector<v1::Role> roles) {
  v1::Identity identity;
  identity.set_name(name);
  SetRoles(std::move(roles), identity);
  return identity;
}

RoleLimits::Table With(const std::vector<std::string>& changes) {
  auto table = RoleLimits::Parse(changes);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *std::move(table);
}

class RoleLimitsTest : public ::testing::Test {
 protected:
  SteadyTime now_{1h};
  const v1::Identity ada_ = Of("ada", {v1::ROLE_VIEWER});
  const v1::Identity bob_ = Of("bob", {v1::ROLE_VIEWER});
};

TEST_F(RoleLimitsTest, CallsPerSecondAreBoundedForEachIdentity) {
  RoleLimits limits(With({"viewer.per-second=2"}));
  for (int call = 0; call < 10; ++call) EXPECT_TRUE(limits.Begin(ada_, now_).ok());
  EXPECT_EQ(limits.Begin(ada_, now_).status(),
            Status(Code::kResourceExhausted,
                   "ada: expected at most 2 calls per second with the role viewer (setting "
                   "role-limits, viewer.per-second)"));
  EXPECT_TRUE(limits.Begin(bob_, now_).ok());
  EXPECT_EQ(limits.refused(), 1u);
  now_ += 1s;
  EXPECT_TRUE(limits.Begin(ada_, now_).ok());
  EXPECT_TRUE(limits.Begin(ada_, now_).ok());
  EXPECT_FALSE(limits.Begin(ada_, now_).ok());
  EXPECT_FALSE(limits.Begin(ada_, now_ - 10s).ok()) << "a time of another thread";
}

TEST_F(RoleLimitsTest, CallsAtATimeAreBounded) {
  RoleLimits limits(With({"viewer.in-flight=2"}));
  std::optional<Result<RunningCall>> first(limits.Begin(ada_, now_));
  const auto second = limits.Begin(ada_, now_);
  EXPECT_THAT(limits.Begin(ada_, now_).status().message(),
              HasSubstr("expected at most 2 calls at a time with the role viewer"));
  first.reset();
  EXPECT_TRUE(limits.Begin(ada_, now_).ok());
}

TEST_F(RoleLimitsTest, LargeAnswersRefuseTheNextCalls) {
  RoleLimits limits(With({"viewer.bytes-per-second=100"}));
  limits.Begin(ada_, now_)->Answered(500);
  limits.Begin(ada_, now_)->Answered(100);
  EXPECT_THAT(limits.Begin(ada_, now_).status().message(),
              HasSubstr("expected at most 100 bytes of answers per second with the role viewer"));
  now_ += 1s;
  EXPECT_TRUE(limits.Begin(ada_, now_).ok());
}

TEST_F(RoleLimitsTest, TheHighestRoleCountsAndOthersHaveNoLimit) {
  RoleLimits limits(With({"viewer.per-second=1", "operator.in-flight=1"}));
  const v1::Identity both = Of("eve", {v1::ROLE_VIEWER, v1::ROLE_OPERATOR});
  for (int call = 0; call < 100; ++call) EXPECT_TRUE(limits.Begin(both, now_).ok());
  const auto held = limits.Begin(both, now_);
  EXPECT_FALSE(limits.Begin(both, now_).ok());
  for (const v1::Role role : {v1::ROLE_ADMIN, v1::ROLE_METRICS, v1::ROLE_AGENT})
    for (int call = 0; call < 20'000; ++call)
      ASSERT_TRUE(limits.Begin(Of("root", {role}), now_).ok()) << RoleName(role);
}

TEST_F(RoleLimitsTest, ManyIdentitiesTakeBoundedMemory) {
  RoleLimits limits(With({"viewer.per-second=1"}));
  for (std::size_t number = 0; number < RoleLimits::kIdentitiesMax; ++number)
    EXPECT_TRUE(limits.Begin(Of(Format("p{}", number), {v1::ROLE_VIEWER}), now_).ok());
  // The next ones share a place, until the others have been idle.
  for (int call = 0; call < 5; ++call)
    EXPECT_TRUE(limits.Begin(Of(Format("q{}", call), {v1::ROLE_VIEWER}), now_).ok());
  EXPECT_FALSE(limits.Begin(ada_, now_).ok());
  EXPECT_TRUE(limits.Begin(ada_, now_ + 11s).ok());
  EXPECT_TRUE(limits.Begin(bob_, now_ + 11s).ok());
}

TEST_F(RoleLimitsTest, WrongSettingsAreRefusedWithTheEntry) {
  for (const char* const wrong :
       {"", "viewer", "viewer.per-second", "viewer.per-second=", "viewer.per-second=-1",
        "viewer.per-second=many", "viewer.calls=1", "agent.per-second=1", "root.in-flight=1",
        "viewer=1.per-second", "viewer.in-flight=1.5", "viewer.in-flight=99999999999999999999"}) {
    const Status status = RoleLimits::Parse({wrong}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << wrong;
    EXPECT_THAT(status.message(), HasSubstr(Quoted(wrong)));
  }
  EXPECT_EQ(With({"viewer.in-flight=0"})[v1::ROLE_VIEWER].in_flight, 0u);
  EXPECT_EQ(With({"viewer.in-flight=0"})[v1::ROLE_VIEWER].per_second, 200u);
}

}  // namespace
}  // namespace fabric::access
