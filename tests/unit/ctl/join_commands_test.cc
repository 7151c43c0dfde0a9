// The commands join-token create, list and delete, join-request list, approve and deny.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/nodes.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JoinTokenCreate, SendsTheLimitsAndShowsTheSecretOnce) {
  FakeController controller;
  controller.Answer<v1::JoinToken>() = FromText<v1::JoinToken>(
      R"({"name": "rack-12", "token": "secret.hash", "expiresAt": "2026-11-21T05:16:07Z"})");
  const Said said = RunWords(
      "join-token create rack-12 --nodes gpu-12* --uses 16 --expires 4h --replace", controller);
  EXPECT_EQ(said.out,
            "Join token, shown once: secret.hash\nExpires:                2026-11-21T05:16:07Z\n");
  const auto request = controller.LastRequest<v1::CreateJoinTokenRequest>();
  EXPECT_EQ(request.token().name(), "rack-12");
  EXPECT_EQ(request.token().nodes(), "gpu-12*");
  EXPECT_EQ(request.token().uses_max(), 16u);
  EXPECT_TRUE(request.token().replace());
  EXPECT_EQ(request.lifetime_seconds(), 4u * 3600);
}

TEST(JoinTokenCreate, SaysWhenTheTokenDoesNotNameACa) {
  FakeController controller;
  controller.Answer<v1::JoinToken>().set_token("secret");
  EXPECT_THAT(RunWords("join-token create a", controller).out, HasSubstr("set tls-ca"));
  EXPECT_EQ(RunWords("join-token create a --uses 0", controller).status, kExitUsage);
}

TEST(JoinTokenList, ShowsUsesAndPatternsWithoutSecrets) {
  FakeController controller;
  controller.Answer<v1::ListJoinTokensResponse>() = FromText<v1::ListJoinTokensResponse>(
      R"({"tokens": [{"name": "any", "usesMax": 2, "author": "ada"},
                     {"name": "rack", "nodes": "gpu-12*", "usesMax": 16, "uses": [{}]}]})");
  const Said said = RunWords("join-token list", controller);
  EXPECT_THAT(said.out, HasSubstr("any   *"));
  EXPECT_THAT(said.out, HasSubstr("gpu-12*"));
  EXPECT_THAT(said.out, HasSubstr("ada"));
}

TEST(JoinTokenDelete, NamesTheToken) {
  FakeController controller;
  controller.Answer<v1::JoinToken>().set_name("rack-12");
  EXPECT_EQ(RunWords("join-token delete rack-12", controller).out,
            "Join token rack-12 is deleted.\n");
  EXPECT_EQ(controller.LastRequest<v1::DeleteJoinTokenRequest>().name(), "rack-12");
}

TEST(JoinRequestList, ShowsTheKeyInTheWideTable) {
  FakeController controller;
  controller.Answer<v1::ListJoinRequestsResponse>() = FromText<v1::ListJoinRequestsResponse>(
      R"({"requests": [{"id": "5b1c", "node": "n7", "keyFingerprint": "5b1c6a",
                        "address": "10.0.0.7", "state": "JOIN_REQUEST_STATE_PENDING"}]})");
  EXPECT_THAT(RunWords("join-request list", controller).out, Not(HasSubstr("5b1c6a")));
  EXPECT_THAT(RunWords("join-request list -o wide", controller).out, HasSubstr("5b1c6a"));
  EXPECT_EQ(RunWords("join-request list -o name", controller).out, "5b1c\n");
}

TEST(JoinRequestApprove, SendsTheId) {
  FakeController controller;
  controller.Answer<v1::JoinRequest>() = FromText<v1::JoinRequest>(
      R"({"id": "5b1c", "node": "n7", "state": "JOIN_REQUEST_STATE_APPROVED"})");
  EXPECT_THAT(RunWords("join-request approve 5b1c", controller).out,
              HasSubstr("Request 5b1c of node n7: "));
  EXPECT_EQ(controller.LastRequest<v1::ApproveJoinRequestRequest>().id(), "5b1c");
}

TEST(JoinRequestDeny, SendsTheReason) {
  FakeController controller;
  controller.Answer<v1::JoinRequest>().set_id("5b1c");
  RunWords("join-request deny 5b1c --reason OPS-7", controller);
  EXPECT_EQ(controller.LastRequest<v1::DenyJoinRequestRequest>().reason(), "OPS-7");
}

}  // namespace
}  // namespace fabric::ctl
