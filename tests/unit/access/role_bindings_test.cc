#include "daemon/access/role_bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RoleBindings, MatchNamesAndPatterns) {
  const auto bindings = RoleBindings::Parse(
      "- {identity: \"spiffe://corp/ops/*\", roles: [operator]}\n"
      "- identity: spiffe://corp/ops/root\n"
      "  roles: [admin, metrics]\n",
      "f");
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  EXPECT_EQ(bindings->size(), 2u);
  EXPECT_THAT(bindings->RolesOf("spiffe://corp/ops/alice"), ElementsAre(v1::ROLE_OPERATOR));
  EXPECT_THAT(bindings->RolesOf("spiffe://corp/ops/root"),
              ElementsAre(v1::ROLE_OPERATOR, v1::ROLE_ADMIN, v1::ROLE_METRICS));
  EXPECT_THAT(bindings->RolesOf("spiffe://corp/ops"), IsEmpty());
  EXPECT_THAT(bindings->RolesOf("xspiffe://corp/ops/alice"), IsEmpty()) << "the whole name matches";
}

TEST(RoleBindings, BadFilesAreRefusedWithThePlace) {
  EXPECT_THAT(RoleBindings::Parse("- {roles: [viewer]}\n", "f").status().message(),
              HasSubstr("f:1:3: expected a value of 'identity', saw none"));
  EXPECT_THAT(RoleBindings::Parse("- {identity: a, roles: [boss]}\n", "f").status().message(),
              HasSubstr("f:1:24: roles: unknown role 'boss'"));
  EXPECT_THAT(RoleBindings::Parse("- {identity: [a], roles: [viewer]}\n", "f").status().message(),
              HasSubstr("identity: expected a text, saw a list"));
}

}  // namespace
}  // namespace fabric::access
