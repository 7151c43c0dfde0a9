#include "daemon/access/scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

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

Labels LabelsOf(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  Labels labels;
  for (const auto& [key, value] : pairs) labels[key] = value;
  return labels;
}

Part Labelled(const std::string& node, const Labels& labels,
              std::vector<std::uint32_t> rails = {}) {
  return {.node = node, .rails = std::move(rails), .labels = labels};
}

TEST(Scopes, LabelsCoverNodesThatHaveThem) {
  const Need start = NeedOfMethod("StartCampaign");
  const Labels h100 = LabelsOf({{"pool", "h100"}});
  const Labels h200 = LabelsOf({{"pool", "h200"}});
  const Labels both = LabelsOf({{"pool", "h100"}, {"rack", "r12"}});
  const Labels none;
  struct Case {
    const char* scope;
    std::vector<Part> parts;
    bool permitted;
  };
  const Case cases[] = {
      {"labels: pool=h100", {Labelled("n1", h100)}, true},
      {"labels: pool=h100", {Labelled("n1", both)}, true},
      {"labels: pool=h100", {Labelled("n1", h200)}, false},
      {"labels: pool=h100", {Labelled("n1", none)}, false},
      {"labels: pool=h100", {Labelled("", none)}, false},  // All nodes
      {"labels: pool=h100", {Labelled("", h100)}, false},  // Of no node
      {"labels: pool=h100", {Labelled("n1", h100), Labelled("n2", both)}, true},
      {"labels: pool=h100", {Labelled("n1", h100), Labelled("n2", none)}, false},
      {"labels: pool", {Labelled("n1", h200)}, true},
      {"labels: \"pool!=h200\"", {Labelled("n1", h100)}, true},
      {"labels: \"pool!=h200\"", {Labelled("n1", h200)}, false},
      {"labels: \"pool!=h200\"", {Labelled("n1", none)}, false},  // No selector covers such a node.
      {"labels: \"!spare\"", {Labelled("n1", none)}, false},
      {"labels: \"!spare\"", {Labelled("n1", h100)}, true},
      {"labels: \"!spare\"", {Labelled("", none)}, false},
      {"labels: \"pool=h100,rack=r12\"", {Labelled("n1", both)}, true},
      {"labels: \"pool=h100,rack=r12\"", {Labelled("n1", h100)}, false},
      {"nodes: \"gpu-*\", labels: pool=h100", {Labelled("gpu-1", h100)}, true},
      {"nodes: \"gpu-*\", labels: pool=h100", {Labelled("n1", h100)}, false},
      {"nodes: \"gpu-*\", labels: pool=h100", {Labelled("gpu-1", h200)}, false},
      {"rails: [0], labels: pool=h100", {Labelled("n1", h100, {0})}, true},
      {"rails: [0], labels: pool=h100", {Labelled("n1", h100, {0, 1})}, false},
      {"rails: [0], labels: pool=h100", {Labelled("n1", h200, {0})}, false}};
  for (const Case& each : cases) {
    const v1::Identity alice =
        IdentityOf(std::string("- {identity: alice, roles: [operator], ") + each.scope + "}\n");
    EXPECT_TRUE(alice.roles().empty()) << "a scoped role does not apply to all nodes";
    ASSERT_TRUE(HasScoped(alice, start)) << each.scope;
    EXPECT_EQ(CheckScopes(alice, start, each.parts).ok(), each.permitted)
        << each.scope << " " << each.parts.front().node;
  }
}

TEST(Scopes, ARefusalNamesTheLabels) {
  const v1::Identity alice =
      IdentityOf("- {identity: alice, roles: [operator], nodes: \"gpu-*\", labels: pool=h100}\n");
  const std::vector<Part> parts = {Labelled("gpu-7", LabelsOf({{"pool", "h200"}}))};
  EXPECT_EQ(CheckScopes(alice, NeedOfMethod("StartCampaign"), parts).message(),
            "StartCampaign: alice has role operator for nodes 'gpu-*', labels 'pool=h100'; the "
            "request is about node 'gpu-7' with 'pool=h200', all rails");
}

// Else an operator could enlarge the own scope.
TEST(Scopes, LabelsAreChangedWithARoleForEverythingOnly) {
  const Need change = NeedOfMethod("SetNodeLabels");
  for (const char* scope : {"labels: pool=h100", "nodes: \"*\"", "rails: [0]"}) {
    const v1::Identity alice =
        IdentityOf(std::string("- {identity: alice, roles: [operator], ") + scope + "}\n");
    EXPECT_FALSE(Check(alice, change).ok());
    EXPECT_FALSE(CheckScopes(alice, change, std::vector<Part>{Part()}).ok()) << scope;
  }
  EXPECT_TRUE(Check(IdentityOf("- {identity: alice, roles: [operator]}\n"), change).ok());
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
      {"- {identity: a, roles: [admin], nodes: x}",
       "expected operator with nodes, rails or labels"},
      {"- {identity: a, roles: [agent], rails: [0]}",
       "expected operator with nodes, rails or labels"},
      {"- {identity: a, roles: [operator], rails: [x]}", "expected a list of numbers"},
      {"- {identity: a, roles: [operator], rails: []}", "expected a list of numbers"},
      {"- {identity: a, roles: [operator], nodes: []}", "expected a text"},
      {"- {identity: a, roles: [viewer], labels: pool=a}",
       "f:1:24: roles: expected operator with nodes, rails or labels, saw viewer"},
      {"- {identity: a, roles: [operator], labels: []}", "expected a text"},
      {"- {identity: a, roles: [operator], labels: \"\"}", "labels: expected a text"},
      {"- {identity: a, roles: [operator], labels: \"pool=a,\"}",
       "f:1:44: labels: selector of labels: expected terms such as pool=h100,rack!=r12"},
      {"- {identity: a, roles: [operator], labels: \"pool=a b\"}", "value of the label 'pool'"},
      {"- {identity: a, roles: [operator], label: x}", "unknown key 'label'"}};
  for (const auto& [yaml, expected] : cases)
    EXPECT_THAT(RoleBindings::Parse(yaml, "f").status().message(), HasSubstr(expected)) << yaml;
}

}  // namespace
}  // namespace fabric::access
