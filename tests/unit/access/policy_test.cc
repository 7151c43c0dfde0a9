#include "daemon/access/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/v1/agent.pb.h"
#include "proto/fabric_service.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

using google::protobuf::MethodDescriptor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Identity IdentityWith(std::vector<v1::Role> roles) {
  v1::Identity identity;
  identity.set_name("alice");
  SetRoles(std::move(roles), identity);
  return identity;
}

const MethodDescriptor& Method(const char* name) {
  return *FabricService().FindMethodByName(name);
}

TEST(Policy, EveryMethodOfBothServicesHasTheRoleThatItNeeds) {
  const auto& agents = *v1::AgentMessage::descriptor()->file()->FindServiceByName("AgentLink");
  for (const auto* service : {&FabricService(), &agents, &NodeJoinService()})
    for (int i = 0; i < service->method_count(); ++i)
      EXPECT_EQ(NeedOf(*service->method(i)).any_of.size(), 1u)
          << service->method(i)->full_name() << ": set the option required_role";
  EXPECT_THAT(NeedOf(*agents.FindMethodByName("Connect")).any_of, ElementsAre(v1::ROLE_AGENT));
}

// A method for anyone checks a secret in its request. No identity can have that role.
TEST(Policy, OnlyJoiningIsForAnyone) {
  for (int i = 0; i < FabricService().method_count(); ++i)
    EXPECT_FALSE(IsForAnyone(*FabricService().method(i))) << FabricService().method(i)->name();
  EXPECT_TRUE(IsForAnyone(*NodeJoinService().FindMethodByName("Join")));
  EXPECT_TRUE(IsForAnyone(*NodeJoinService().FindMethodByName("GetAuthority")));
  EXPECT_FALSE(IsForAnyone(*NodeJoinService().FindMethodByName("Renew")));
  EXPECT_FALSE(ParseRole("anyone").ok());
  v1::Identity identity;
  SetRoles({v1::ROLE_ANYONE, v1::ROLE_ADMIN}, identity);
  EXPECT_FALSE(Check(identity, NeedOf(*NodeJoinService().FindMethodByName("Join"))).ok());
}

TEST(Policy, MethodsThatChangeSomethingNeedMoreThanAViewer) {
  for (const char* name : {"AcknowledgeFinding", "CreateSilence", "DeleteSilence", "StartCampaign",
                           "CancelCampaign", "StartCertificate"})
    EXPECT_THAT(NeedOf(Method(name)).any_of, ElementsAre(v1::ROLE_OPERATOR)) << name;
  for (const char* name : {"DeleteNode", "CreateBackup", "ListAuditEntries", "VerifyAuditLog"})
    EXPECT_THAT(NeedOf(Method(name)).any_of, ElementsAre(v1::ROLE_ADMIN)) << name;
  EXPECT_TRUE(IsRecorded(NeedOf(Method("StartCampaign"))));
  EXPECT_TRUE(IsRecorded(NeedOf(Method("DeleteNode"))));
  EXPECT_FALSE(IsRecorded(NeedOf(Method("ListNodes"))));
}

TEST(Policy, RolesOfPeopleAreOrderedAndOthersStandAlone) {
  const v1::Role roles[] = {v1::ROLE_VIEWER, v1::ROLE_OPERATOR, v1::ROLE_ADMIN, v1::ROLE_AGENT,
                            v1::ROLE_METRICS};
  // Rows: held; columns: needed.
  const bool includes[5][5] = {{true, false, false, false, false},
                               {true, true, false, false, false},
                               {true, true, true, false, false},
                               {false, false, false, true, false},
                               {false, false, false, false, true}};
  for (int held = 0; held < 5; ++held)
    for (int needed = 0; needed < 5; ++needed)
      EXPECT_EQ(Includes(roles[held], roles[needed]), includes[held][needed])
          << RoleName(roles[held]) << " for " << RoleName(roles[needed]);
  EXPECT_FALSE(Includes(v1::ROLE_UNSPECIFIED, v1::ROLE_UNSPECIFIED));
  EXPECT_FALSE(Includes(static_cast<v1::Role>(99), v1::ROLE_VIEWER)) << "a role of a newer version";
}

TEST(Policy, RefusalsNameWhoWhatAndWhich) {
  EXPECT_EQ(Check(IdentityWith({v1::ROLE_VIEWER, v1::ROLE_METRICS}), NeedOf(Method("DeleteNode"))),
            Status(Code::kPermissionDenied,
                   "DeleteNode: expected role admin, alice has viewer, metrics"));
  EXPECT_EQ(Check(IdentityWith({}), {"/metrics", {v1::ROLE_METRICS, v1::ROLE_VIEWER}}).message(),
            "/metrics: expected role metrics or viewer, alice has no role");
  EXPECT_TRUE(
      Check(IdentityWith({v1::ROLE_METRICS}), {"/metrics", {v1::ROLE_METRICS, v1::ROLE_VIEWER}})
          .ok());
}

TEST(Policy, AMethodWithoutARoleIsRefusedForEveryone) {
  const auto everything = {v1::ROLE_VIEWER, v1::ROLE_OPERATOR, v1::ROLE_ADMIN, v1::ROLE_AGENT,
                           v1::ROLE_METRICS};
  EXPECT_EQ(Check(IdentityWith(everything), {"NewMethod", {}}).code(), Code::kPermissionDenied);
}

TEST(Policy, RolesHaveNames) {
  EXPECT_EQ(*ParseRole("operator"), v1::ROLE_OPERATOR);
  EXPECT_EQ(ParseRole("opertor").status().message(),
            "unknown role 'opertor'; did you mean 'operator'?");
  EXPECT_EQ(ParseRole("root").status().message(),
            "unknown role 'root': expected viewer, operator, admin, agent or metrics");
  EXPECT_THAT(*ParseRoles({"metrics", "viewer", "viewer"}),
              ElementsAre(v1::ROLE_VIEWER, v1::ROLE_METRICS));
  EXPECT_THAT(*ParseRoles({}), IsEmpty());
  EXPECT_FALSE(ParseRoles({"viewer", ""}).ok());
}

}  // namespace
}  // namespace fabric::access
