#include "daemon/join/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/secret.h"
#include "proto/timestamps.h"
#include "tests/testing/faulty_disk.h"
#include "tests/testing/temp_tree.h"

namespace fabric::join {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const WallTime kRegistryNow = WallTime(std::chrono::hours(500'000));

v1::CreateJoinTokenRequest TokenRequest(const std::string& name, const std::string& nodes = {},
                                        std::uint32_t uses = 1, bool replace = false) {
  v1::CreateJoinTokenRequest request;
  request.mutable_token()->set_name(name);
  request.mutable_token()->set_nodes(nodes);
  request.mutable_token()->set_uses_max(uses);
  request.mutable_token()->set_replace(replace);
  request.mutable_token()->set_author("alice");
  return request;
}

Applicant Node(const std::string& name, const std::string& key = "k",
               const std::string& address = "192.0.2.7:1") {
  return {.node = name, .key_fingerprint = HashOfSecret(name + key), .address = address};
}

v1::NodeCertificate CertificateOf(const Applicant& node, WallTime expires_at) {
  v1::NodeCertificate certificate;
  certificate.set_node(node.node);
  certificate.set_key_fingerprint(node.key_fingerprint);
  *certificate.mutable_expires_at() = ToProto(expires_at);
  return certificate;
}

class JoinRegistry : public ::testing::Test {
 protected:
  JoinRegistry() { Reopen(); }
  void Reopen() {
    registry_.reset();
    auto opened = Registry::Open(path_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    registry_ = *std::move(opened);
  }
  Result<v1::JoinToken> Create(const v1::CreateJoinTokenRequest& request) {
    return registry_->CreateToken(request, HashOfSecret(request.token().name()), kRegistryNow);
  }
  std::string UseError(const std::string& secret, const Applicant& node,
                       WallTime now = kRegistryNow) {
    const auto used = registry_->UseToken(secret, node, now);
    return used.ok() ? "" : used.status().message();
  }

  testing::TempTree tree_;
  const std::string path_ = tree_.path() + "/state.db.join";
  std::unique_ptr<Registry> registry_;
};

TEST_F(JoinRegistry, ATokenJoinsItsNodesAsOftenAsItSays) {
  const auto token = Create(TokenRequest("rack", "gpu-*", 2));
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_EQ(token->token(), "") << "the secret is not here";
  EXPECT_EQ(FromProto(token->expires_at()), kRegistryNow + 1h);
  EXPECT_EQ(*registry_->UseToken("rack", Node("gpu-1"), kRegistryNow), "rack");
  EXPECT_EQ(UseError("rack", Node("cpu-1")),
            "join token rack: expected a node that matches 'gpu-*', saw 'cpu-1'");
  EXPECT_EQ(UseError("rack", Node("gpu-1")), "") << "the answer was lost: same node, same key";
  EXPECT_EQ(UseError("rack", Node("gpu-2")), "");
  Reopen();
  EXPECT_THAT(UseError("rack", Node("gpu-3")),
              HasSubstr("join token rack: no use is left of 2, the last one was by gpu-2 at "));
  EXPECT_THAT(UseError("rack", Node("gpu-1", "another key")), HasSubstr("no use is left of 2"));
  EXPECT_EQ(registry_->Tokens("", 9).front().uses_size(), 2);
}

TEST_F(JoinRegistry, UnknownExpiredAndDeletedTokensJoinNothing) {
  ASSERT_TRUE(Create(TokenRequest("a")).ok());
  EXPECT_EQ(UseError("guess", Node("n1")), "the join token is not known");
  EXPECT_EQ(registry_->UseToken("guess", Node("n1"), kRegistryNow).status().code(),
            Code::kUnauthenticated);
  EXPECT_EQ(UseError("a", Node("n1"), kRegistryNow + 1h - 1s), "");
  ASSERT_TRUE(Create(TokenRequest("b")).ok());
  EXPECT_THAT(UseError("b", Node("n2"), kRegistryNow + 1h),
              HasSubstr("join token b: it expired at "));
  EXPECT_THAT(UseError("a", Node("n1"), kRegistryNow + 1h), HasSubstr("it expired at "))
      << "a repetition ends with the token";
  ASSERT_TRUE(registry_->DeleteToken("b").ok());
  Reopen();
  EXPECT_EQ(UseError("b", Node("n2")), "the join token is not known");
  EXPECT_THAT(registry_->DeleteToken("b").status().message(), HasSubstr("unknown join token 'b'"));
}

TEST_F(JoinRegistry, ATokenCannotTakeTheNameOfANodeThatHasACertificate) {
  const Applicant known = Node("n1");
  ASSERT_TRUE(registry_->Record(CertificateOf(known, kRegistryNow + 30min), kRegistryNow).ok());
  ASSERT_TRUE(Create(TokenRequest("t", "", 5)).ok());
  ASSERT_TRUE(Create(TokenRequest("again", "", 5, true)).ok());
  Reopen();
  EXPECT_THAT(UseError("t", Node("n1", "thief")), HasSubstr("node n1 has a certificate until "));
  EXPECT_EQ(UseError("t", known), "") << "with the same key";
  EXPECT_EQ(UseError("again", Node("n1", "new disk")), "");
  EXPECT_EQ(UseError("t", Node("n1", "later"), kRegistryNow + 31min), "") << "it is expired";
}

TEST_F(JoinRegistry, WrongTokensAreRefusedWithTheField) {
  v1::CreateJoinTokenRequest long_life = TokenRequest("x");
  long_life.set_lifetime_seconds(Registry::kLifetimeSecondsMax + 1);
  const std::pair<v1::CreateJoinTokenRequest, std::string> cases[] = {
      {TokenRequest(""), "name: expected 1 to 64 letters"},
      {TokenRequest("a b"), "name: expected 1 to 64 letters"},
      {TokenRequest("x", std::string(129, '*')), "nodes: expected a pattern of at most 128 bytes"},
      {TokenRequest("x", "", 10'001), "uses_max: expected at most 10000, saw 10001"},
      {long_life, "lifetime_seconds: expected at most 2592000 (30 days), saw 2592001"}};
  for (const auto& [request, expected] : cases)
    EXPECT_THAT(Create(request).status().message(), HasSubstr(expected));
  ASSERT_TRUE(Create(TokenRequest("x")).ok());
  EXPECT_EQ(Create(TokenRequest("x")).status().code(), Code::kAlreadyExists);
}

TEST_F(JoinRegistry, TokensAreBoundedAndOldOnesAreDropped) {
  for (std::size_t n = 0; n < Registry::kTokensMax; ++n)
    ASSERT_TRUE(Create(TokenRequest(std::to_string(n))).ok());
  EXPECT_EQ(Create(TokenRequest("more")).status().code(), Code::kResourceExhausted);
  const WallTime later = kRegistryNow + 1h + Registry::kTokenKept;
  EXPECT_TRUE(registry_->CreateToken(TokenRequest("more"), HashOfSecret("more"), later).ok());
  EXPECT_EQ(registry_->Tokens("", 9).size(), 1u);
}

TEST_F(JoinRegistry, ARequestWaitsUntilItIsDecided) {
  const auto asked = registry_->Ask(Node("n1"), kRegistryNow);
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->state(), v1::JOIN_REQUEST_STATE_PENDING);
  EXPECT_EQ(asked->id(), Node("n1").key_fingerprint.substr(0, 16));
  v1::ApproveJoinRequestRequest approve;
  approve.set_id(asked->id());
  approve.set_author("alice");
  EXPECT_EQ(registry_->Approve(approve, kRegistryNow)->state(), v1::JOIN_REQUEST_STATE_APPROVED);
  Reopen();
  EXPECT_EQ(registry_->Ask(Node("n1"), kRegistryNow)->state(), v1::JOIN_REQUEST_STATE_APPROVED);
  EXPECT_EQ(registry_->Approve(approve, kRegistryNow).status().message(),
            "request " + asked->id() + ": expected one that waits, saw one that alice approved");

  const auto other = registry_->Ask(Node("n2"), kRegistryNow);
  v1::DenyJoinRequestRequest deny;
  deny.set_id(other->id());
  deny.set_author("bob");
  deny.set_reason("unknown machine");
  ASSERT_TRUE(registry_->Deny(deny, kRegistryNow).ok());
  EXPECT_EQ(registry_->Ask(Node("n2"), kRegistryNow).status().message(),
            "request " + other->id() + " was denied by bob: unknown machine");
  EXPECT_EQ(registry_->Ask(Node("n2"), kRegistryNow + 24h)->state(),
            v1::JOIN_REQUEST_STATE_PENDING);
  deny.set_id("nothing");
  EXPECT_EQ(registry_->Deny(deny, kRegistryNow).status().code(), Code::kNotFound);
}

TEST_F(JoinRegistry, AKeyAsksForOneNode) {
  const Applicant first = Node("n1");
  ASSERT_TRUE(registry_->Ask(first, kRegistryNow).ok());
  Applicant renamed = first;
  renamed.node = "n2";
  EXPECT_THAT(registry_->Ask(renamed, kRegistryNow).status().message(),
              HasSubstr("expected the node n1, saw 'n2'"));
}

TEST_F(JoinRegistry, AnApprovalDoesNotReplaceACertificateByAccident) {
  ASSERT_TRUE(registry_->Record(CertificateOf(Node("n1"), kRegistryNow + 1h), kRegistryNow).ok());
  const auto asked = registry_->Ask(Node("n1", "new"), kRegistryNow);
  v1::ApproveJoinRequestRequest approve;
  approve.set_id(asked->id());
  EXPECT_EQ(registry_->Approve(approve, kRegistryNow).status().code(), Code::kFailedPrecondition);
  approve.set_replace(true);
  EXPECT_TRUE(registry_->Approve(approve, kRegistryNow).ok());
}

TEST_F(JoinRegistry, OneAddressCannotFillTheRequests) {
  for (std::size_t n = 0; n < Registry::kRequestsOfHostMax; ++n)
    ASSERT_TRUE(registry_->Ask(Node("n" + std::to_string(n)), kRegistryNow).ok());
  EXPECT_EQ(registry_->Ask(Node("more"), kRegistryNow).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(registry_->Ask(Node("more", "k", "192.0.2.8:1"), kRegistryNow).ok());
  EXPECT_TRUE(registry_->Ask(Node("more", "k2"), kRegistryNow + 24h).ok())
      << "old ones are dropped";
}

TEST_F(JoinRegistry, NamesThatACertificateCannotHaveAreRefused) {
  for (const char* name : {"n1", "gpu-7.example.org", "A_b", "0"})
    EXPECT_TRUE(CheckNodeName(name).ok()) << name;
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("../x"), std::string("-a"),
        std::string("a b"), std::string("a\n"), std::string("a@b"), std::string(129, 'a'),
        std::string("a\0b", 3)})
    EXPECT_FALSE(CheckNodeName(name).ok()) << name;
}

// A use that is not on the disk does not count and does not join.
TEST(JoinRegistryDisk, WhatTheDiskRefusesHasNotHappened) {
  testing::TempTree tree;
  testing::FaultyDisk disk;
  const auto registry = *Registry::Open(tree.path() + "/j");
  ASSERT_TRUE(registry->CreateToken(TokenRequest("t"), HashOfSecret("t"), kRegistryNow).ok());
  disk.full = true;
  const auto refused = registry->UseToken("t", Node("n1"), kRegistryNow);
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("cannot write to the file of join tokens: "));
  EXPECT_EQ(registry->Ask(Node("n3"), kRegistryNow).status().code(), Code::kUnavailable);
  EXPECT_TRUE(registry->Requests("", 9).empty());
  disk.full = false;
  EXPECT_TRUE(registry->UseToken("t", Node("n2"), kRegistryNow).ok())
      << "the only use is still there";
}

TEST(JoinRegistryDisk, UsesSurviveAPowerFailure) {
  testing::TempTree tree;
  std::mt19937 random(7);
  testing::FaultyDisk disk;
  {
    const auto registry = *Registry::Open(tree.path() + "/j");
    ASSERT_TRUE(registry->CreateToken(TokenRequest("t"), HashOfSecret("t"), kRegistryNow).ok());
    ASSERT_TRUE(registry->UseToken("t", Node("n1"), kRegistryNow).ok());
    disk.CutPower();
  }
  disk.PowerOn(random);
  const auto registry = Registry::Open(tree.path() + "/j");
  ASSERT_TRUE(registry.ok()) << registry.status().message();
  EXPECT_EQ((*registry)->UseToken("t", Node("n2"), kRegistryNow).status().code(),
            Code::kPermissionDenied);
}

}  // namespace
}  // namespace fabric::join
