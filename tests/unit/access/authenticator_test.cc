#include "daemon/access/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/secret.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthenticatorTest() {
    authenticator_.SetTokens(*TokenList::Parse(
        TokenLine({.name = "ci", .hash = HashOfSecret("good"), .roles = {v1::ROLE_VIEWER}}) +
            TokenLine({.name = "soon",
                       .hash = HashOfSecret("short"),
                       .roles = {v1::ROLE_ADMIN},
                       .expires_at = kNow + 1s}),
        "tokens"));
    authenticator_.SetBindings(
        *RoleBindings::Parse("- {identity: \"spiffe://*\", roles: [admin]}\n"
                             "- {identity: \"*.example.org\", roles: [agent]}\n",
                             "bindings"));
  }

  static Caller Encrypted(std::vector<std::string> uris) {
    Caller caller;
    caller.address = "192.0.2.7:5000";
    caller.encrypted = true;
    caller.certificate = ClientCertificate{
        .common_name = {},
        .uris = std::move(uris),
        .dns_names = {},
        .not_after = std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'060))};
    return caller;
  }
  static Caller Plain(std::string address, std::string authorization = {}) {
    Caller caller;
    caller.address = std::move(address);
    caller.authorization = std::move(authorization);
    return caller;
  }
  std::string Refusal(const Caller& caller, WallTime now = kNow) {
    const auto principal = authenticator_.Identify(caller, now);
    if (principal.ok()) return "identified as " + principal->identity.name();
    EXPECT_EQ(principal.status().code(), Code::kUnauthenticated);
    return principal.status().message();
  }

  Authenticator authenticator_{"corp", AllLoopbackRoles()};
};

TEST_F(AuthenticatorTest, LoopbackWithoutEncryptionHasTheRolesOfTheSetting) {
  for (const char* address : {"127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    const auto principal = authenticator_.Identify(Plain(address), kNow);
    ASSERT_TRUE(principal.ok()) << address << ": " << principal.status().message();
    EXPECT_EQ(principal->identity.name(), "loopback");
    EXPECT_EQ(principal->identity.credential(), v1::CREDENTIAL_NONE);
    EXPECT_THAT(RolesOf(principal->identity),
                ElementsAre(v1::ROLE_ADMIN, v1::ROLE_AGENT, v1::ROLE_METRICS));
    EXPECT_FALSE(principal->nodes.has_value()) << "any node";
  }
  const Authenticator reduced("corp", {});
  EXPECT_THAT(RolesOf(reduced.Identify(Plain("127.0.0.1:1"), kNow)->identity), IsEmpty());
}

TEST_F(AuthenticatorTest, OthersNeedEncryption) {
  for (const char* address :
       {"192.0.2.7:1", "[2001:db8::1]:1", "128.0.0.1:1", "[::ffff:10.0.0.1]:1",
        "127.0.0.1.example.org:1", "localhost:1", "", "0.0.0.0:1"})
    EXPECT_THAT(Refusal(Plain(address)), HasSubstr("expected an encrypted connection (TLS)"))
        << address;
  EXPECT_THAT(Refusal(Plain("192.0.2.7:1", "Bearer good")), HasSubstr("expected an encrypted"));
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer good")), "identified as ci");
}

TEST_F(AuthenticatorTest, ATokenCountsBeforeTheCertificateAndTheLoopback) {
  Caller caller = Encrypted({"spiffe://corp/admin/alice"});
  caller.authorization = "bearer good";
  const auto principal = authenticator_.Identify(caller, kNow);
  ASSERT_TRUE(principal.ok());
  EXPECT_EQ(principal->identity.name(), "ci");
  EXPECT_EQ(principal->identity.credential(), v1::CREDENTIAL_TOKEN);
  EXPECT_THAT(RolesOf(principal->identity), ElementsAre(v1::ROLE_VIEWER));
  EXPECT_TRUE(principal->nodes && principal->nodes->empty()) << "no node";
  for (const char* header : {"Bearer wrong", "Bearer", "Bearer ", "Basic good", "good",
                             "Bearer good x", "Bearer good, Bearer good", "Bearer"}) {
    caller.authorization = header;
    EXPECT_THAT(Refusal(caller), Not(HasSubstr("identified"))) << header;
    EXPECT_THAT(Refusal(Plain("127.0.0.1:1", header)), Not(HasSubstr("identified"))) << header;
    EXPECT_THAT(Refusal(caller), Not(HasSubstr("wrong"))) << "a secret is never in a message";
  }
  caller.authorization = "Bearer " + std::string(10'000, 'x');
  EXPECT_THAT(Refusal(caller), HasSubstr("at most 8192 bytes"));
}

// Signed tokens are tested in oidc_test.cc.
TEST_F(AuthenticatorTest, ASignedTokenNeedsAnIssuer) {
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer a.b.c")), "the bearer token is not known");
  authenticator_.SetOidc({.issuer = "https://login.example.org", .audience = "fabricd"});
  EXPECT_THAT(Refusal(Plain("127.0.0.1:1", "Bearer a.b.c")), HasSubstr("OIDC token: "));
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer good")), "identified as ci");
}

TEST_F(AuthenticatorTest, TokensExpire) {
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer short")), "identified as soon");
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer short"), kNow + 1s),
            "the bearer token soon expired at 2027-01-15T08:00:01Z");
}

TEST_F(AuthenticatorTest, TokensThatLeaveTheFileAreRefused) {
  authenticator_.SetTokens({});
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer good")), "the bearer token is not known");
}

TEST_F(AuthenticatorTest, ACertificateNamesThePersonAndItsRoles) {
  const auto principal = authenticator_.Identify(Encrypted({"spiffe://corp/viewer/alice"}), kNow);
  ASSERT_TRUE(principal.ok()) << principal.status().message();
  EXPECT_EQ(principal->identity.name(), "spiffe://corp/viewer/alice");
  EXPECT_EQ(principal->identity.credential(), v1::CREDENTIAL_CERTIFICATE);
  EXPECT_EQ(principal->identity.expires_at().seconds(), 1'800'000'060);
  EXPECT_THAT(RolesOf(principal->identity), ElementsAre(v1::ROLE_VIEWER, v1::ROLE_ADMIN))
      << "of its path and of its binding";
}

TEST_F(AuthenticatorTest, ANodeIsAnAgentAndNothingElse) {
  const auto node = authenticator_.Identify(Encrypted({"spiffe://corp/node/n1"}), kNow);
  ASSERT_TRUE(node.ok());
  EXPECT_THAT(RolesOf(node->identity), ElementsAre(v1::ROLE_AGENT)) << "bindings do not apply";
  EXPECT_THAT(*node->nodes, ElementsAre("n1"));
  Caller dns = Encrypted({});
  dns.certificate->dns_names = {"n2.example.org"};
  const auto bound = authenticator_.Identify(dns, kNow);
  EXPECT_THAT(RolesOf(bound->identity), ElementsAre(v1::ROLE_AGENT));
  EXPECT_THAT(*bound->nodes, ElementsAre("n2.example.org", "n2"));
}

TEST_F(AuthenticatorTest, WithPlainRolesATokenStillNeedsEncryption) {
  authenticator_.SetPlainRoles({v1::ROLE_VIEWER});
  const auto principal = authenticator_.Identify(Plain("192.0.2.7:1"), kNow);
  ASSERT_TRUE(principal.ok()) << principal.status().message();
  EXPECT_EQ(principal->identity.name(), "unencrypted");
  EXPECT_THAT(RolesOf(principal->identity), ElementsAre(v1::ROLE_VIEWER));
  EXPECT_EQ(Refusal(Plain("192.0.2.7:1", "Bearer good")),
            "expected a bearer token over an encrypted connection (TLS), saw one without");
  EXPECT_EQ(Refusal(Plain("127.0.0.1:1", "Bearer good")), "identified as ci");
}

TEST_F(AuthenticatorTest, CertificatesThatDoNotCount) {
  EXPECT_THAT(Refusal(Encrypted({"spiffe://corp/viewer/alice"}), kNow + 60s),
              HasSubstr("expired at 2027-01-15T08:01:00Z"));
  Caller none = Encrypted({});
  none.certificate.reset();
  EXPECT_EQ(Refusal(none), "expected a client certificate or a bearer token, saw neither");
  none.address = "127.0.0.1:1";
  EXPECT_EQ(Refusal(none), "expected a client certificate or a bearer token, saw neither");
  EXPECT_THAT(Refusal(Encrypted({})), HasSubstr("saw none"));
  // A front that does not encrypt has no certificate to show.
  Caller plain = Encrypted({"spiffe://corp/admin/alice"});
  plain.encrypted = false;
  EXPECT_THAT(Refusal(plain), HasSubstr("expected an encrypted connection"));
}

TEST(TrustDomain, IsADomain) {
  EXPECT_TRUE(CheckTrustDomain("example.org").ok());
  for (const std::string& domain : {std::string(), std::string("Example"), std::string("a/b"),
                                    std::string("a b"), std::string(300, 'a')})
    EXPECT_FALSE(CheckTrustDomain(domain).ok()) << domain;
}

}  // namespace
}  // namespace fabric::access
