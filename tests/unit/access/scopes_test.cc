#include "daemon/access/scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/access/role_bindings.h"
#include "proto/fabric_service.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

using ::testing::HasSubstr;

Need NeedOfMethod(const std::string& name) {
  return NeedOf(*FabricService().FindMethodByName(name));
}

v1::Identity IdentityOf(const std::string& yaml) {
  const auto bindings = RoleBindings::Parse(yaml, "bindings");
  EXPECT_TRUE(bindings.ok()) << bindings.status().message();
  v1::Identity identity;
  identity.set_name("alice");
  SetRoles(bindings->RolesOf("alice"), identity);
  bindings->AddScoped("alice", identity);
  return identity;
}

TEST(Scopes, AnOperatorOfAPartChangesThatPartOnly) {
  const v1::Identity alice = IdentityOf(
      "- {identity: alice, roles: [operator], nodes: \"gpu-1*\", rails: [0, 1]}\n"
      "- {identity: alice, roles: [operator], nodes: \"gpu-9\"}\n"
      "- {identity: bob, roles: [admin]}\n");
  EXPECT_TRUE(alice.roles().empty());
  const Need start = NeedOfMethod("StartCampaign");
  ASSERT_TRUE(HasScoped(alice, start));
  struct Case {
    std::vector<Part> parts;
    bool permitted;
  };
  const Case cases[] = {{{{"gpu-1", {0}}}, true},
                        {{{"gpu-12", {0, 1}}}, true},
                        {{{"gpu-1", {2}}}, false},
                        {{{"gpu-1", {}}}, false},  // All rails
                        {{{"gpu-9", {}}}, true},
                        {{{"gpu-9", {7}}, {"gpu-1", {1}}}, true},
                        {{{"gpu-9", {}}, {"gpu-2", {0}}}, false},
                        {{{"", {0}}}, false},  // All nodes
                        {{{"", {}}}, false}};
  for (const Case& each : cases)
    EXPECT_EQ(CheckScopes(alice, start, each.parts).ok(), each.permitted)
        << each.parts.front().node;
  const std::vector<Part> other = {{"gpu-2", {3}}};
  EXPECT_EQ(CheckScopes(alice, start, other).message(),
            "StartCampaign: alice has role operator for nodes 'gpu-1*', rails 0,1; operator for "
            "nodes 'gpu-9'; the request is about node 'gpu-2', rails 3");
}

TEST(Scopes, ARoleForAPartReadsEverythingAndIsNoAdmin) {
  const v1::Identity alice = IdentityOf("- {identity: alice, roles: [operator], rails: [0]}\n");
  const Need list = NeedOfMethod("ListNodes");
  EXPECT_TRUE(HasScoped(alice, list));
  EXPECT_TRUE(CheckScopes(alice, list, std::vector<Part>{Part()}).ok());
  EXPECT_FALSE(HasScoped(alice, NeedOfMethod("DeleteNode")));
  EXPECT_FALSE(HasScoped(alice, Need{.what = "x", .any_of = {}}));
}

TEST(Scopes, BindingsThatCannotBeScopedAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"- {identity: a, roles: [admin], nodes: x}", "expected operator with nodes or rails"},
      {"- {identity: a, roles: [agent], rails: [0]}", "expected operator with nodes or rails"},
      {"- {identity: a, roles: [operator], rails: [x]}", "expected a list of numbers"},
      {"- {identity: a, roles: [operator], rails: []}", "expected a list of numbers"},
      {"- {identity: a, roles: [operator], nodes: []}", "expected a text"},
      {"- {identity: a, roles: [operator], labels: x}", "unknown key 'labels'"}};
  for (const auto& [yaml, expected] : cases)
    EXPECT_THAT(RoleBindings::Parse(yaml, "f").status().message(), HasSubstr(expected)) << yaml;
}

}  // namespace
}  // namespace fabric::access
