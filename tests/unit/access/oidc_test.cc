#include "daemon/access/oidc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>

#include "base/jws.h"
#include "base/text.h"
#include "daemon/access/authenticator.h"
#include "proto/roles.h"
#include "tests/testing/oidc_issuer.h"

namespace fabric::access {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IssuerKey;
using testing::SetOf;
using testing::TokenOf;

constexpr WallTime kOidcNow{std::chrono::seconds(1'800'000'000)};

constexpr const char* kGoodClaims =
    R"({"iss":"https://login.example.org","aud":["other","fabricd"],"sub":"alice","exp":1800000100,
        "nbf":1799999990,"groups":["ops","gpu"]})";

class OidcTest : public ::testing::Test {
 protected:
  OidcTest() {
    auto keys = KeySet::Parse(SetOf({rsa_.Jwk("r1"), ec_.Jwk("e1")}), "jwks");
    EXPECT_TRUE(keys.ok()) << keys.status().message();
    issuer_ = {.issuer = "https://login.example.org", .audience = "fabricd"};
    if (keys.ok()) issuer_.keys = *std::move(keys);
  }
  std::string Refusal(const std::string& token, WallTime now = kOidcNow) {
    const auto identity = ReadOidcToken(issuer_, token, now);
    if (identity.ok()) return "identified as " + identity->name;
    EXPECT_EQ(identity.status().code(), Code::kUnauthenticated);
    return identity.status().message();
  }
  std::string Claims(const std::string& claims) {
    return Refusal(TokenOf(ec_, R"({"alg":"ES256","kid":"e1"})", claims));
  }

  static const IssuerKey rsa_, ec_;
  OidcIssuer issuer_;
};
const IssuerKey OidcTest::rsa_ = IssuerKey::Rsa();
const IssuerKey OidcTest::ec_ = IssuerKey::Ec();

TEST_F(OidcTest, BothAlgorithmsAreVerified) {
  for (const auto& [key, header] :
       {std::pair(&rsa_, R"({"alg":"RS256","kid":"r1","typ":"JWT"})"),
        std::pair(&ec_, R"({"alg":"ES256","kid":"e1","typ":"at+jwt"})")}) {
    const auto identity = ReadOidcToken(issuer_, TokenOf(*key, header, kGoodClaims), kOidcNow);
    ASSERT_TRUE(identity.ok()) << identity.status().message();
    EXPECT_EQ(identity->name, "oidc:alice");
    EXPECT_THAT(identity->groups, ElementsAre("oidc-group:ops", "oidc-group:gpu"));
    EXPECT_EQ(identity->expires_at, WallTime(std::chrono::seconds(1'800'000'100)));
  }
}

TEST_F(OidcTest, OtherAlgorithmsAndKeysAreRefused) {
  for (const char* algorithm : {"none", "None", "HS256", "RS384", "ES384", "EdDSA", "PS256", ""})
    EXPECT_THAT(
        Refusal(TokenOf(rsa_, Format(R"({{"alg":"{}","kid":"r1"}})", algorithm), kGoodClaims)),
        HasSubstr("alg: expected RS256 or ES256"))
        << algorithm;
  EXPECT_THAT(Refusal(TokenOf(rsa_, R"({"alg":"ES256","kid":"r1"})", kGoodClaims)),
              HasSubstr("no key 'r1' for ES256"))
      << "the key decides about the algorithm";
  EXPECT_THAT(Refusal(TokenOf(rsa_, R"({"alg":"RS256","kid":"r2"})", kGoodClaims)),
              HasSubstr("no key 'r2' for RS256"));
  EXPECT_THAT(Refusal(TokenOf(rsa_, R"({"alg":"RS256"})", kGoodClaims)), HasSubstr("no key ''"));
  EXPECT_THAT(Refusal(TokenOf(IssuerKey::Rsa(), R"({"alg":"RS256","kid":"r1"})", kGoodClaims)),
              HasSubstr("the signature is not valid"));
  EXPECT_THAT(Refusal(TokenOf(IssuerKey::Ec(), R"({"alg":"ES256","kid":"e1"})", kGoodClaims)),
              HasSubstr("the signature is not valid"));
  EXPECT_THAT(Refusal(TokenOf(rsa_, R"({"alg":"RS256","kid":"r1","crit":["x"]})", kGoodClaims)),
              HasSubstr("crit"));
  EXPECT_THAT(Refusal(TokenOf(rsa_, "RS256", kGoodClaims)), HasSubstr("expected a header in JSON"));
}

TEST_F(OidcTest, AChangedTokenIsRefused) {
  for (const auto& [key, header] : {std::pair(&rsa_, R"({"alg":"RS256","kid":"r1"})"),
                                    std::pair(&ec_, R"({"alg":"ES256","kid":"e1"})")}) {
    const std::string token = TokenOf(*key, header, kGoodClaims);
    ASSERT_EQ(Refusal(token), "identified as oidc:alice");
    const std::size_t payload = token.find('.') + 1;
    const std::size_t signature = token.rfind('.') + 1;
    for (const std::size_t at : {payload, payload + 20, signature - 2, signature, signature + 40}) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      EXPECT_THAT(Refusal(changed), HasSubstr("OIDC token")) << at;
    }
    EXPECT_THAT(Refusal(token.substr(0, signature)), HasSubstr("signature")) << "no signature";
    EXPECT_THAT(Refusal(token.substr(0, signature - 1)), HasSubstr("three parts"));
    EXPECT_THAT(Refusal(token + "."), HasSubstr("three parts"));
  }
  EXPECT_THAT(Refusal(std::string(9'000, 'a')), HasSubstr("at most 8192 bytes"));
}

TEST_F(OidcTest, ClaimsDecide) {
  EXPECT_EQ(Claims(kGoodClaims), "identified as oidc:alice");
  EXPECT_EQ(
      Claims(R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1800000001})"),
      "identified as oidc:a");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"aud":"fabricd","sub":"a","exp":1800000001})",
       "iss: expected https://login.example.org"},
      {R"({"iss":"https://evil.example.org","aud":"fabricd","sub":"a","exp":1800000001})",
       "saw 'https://evil.example.org'"},
      {R"({"iss":["https://login.example.org"],"aud":"fabricd","sub":"a","exp":1800000001})",
       "iss:"},
      {R"({"iss":"https://login.example.org","sub":"a","exp":1800000001})",
       "aud: expected fabricd"},
      {R"({"iss":"https://login.example.org","aud":"x","sub":"a","exp":1800000001})", "saw 'x'"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a"})", "exp: expected a time"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":"1800000001"})",
       "exp: expected a time"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1e300})",
       "exp: expected a time"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1799999940})",
       "exp: it expired at 2027-01-15T07:59:00Z"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1800000001,
           "nbf":1800000061})",
       "nbf: it is valid from"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1800000001,
           "iat":1800000061})",
       "iat: it is valid from"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1800000001,
           "nbf":"now"})",
       "nbf: expected a time"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","exp":1800000001})",
       "sub: expected a name"},
      {R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a\nb","exp":1800000001})",
       "sub: expected a name"},
      {R"([])", "expected claims in JSON"},
      {"\xff", "expected claims in JSON"},
  };
  for (const auto& [claims, message] : cases)
    EXPECT_THAT(Claims(claims), HasSubstr(message)) << claims;
  // Within the clock skew
  EXPECT_EQ(Claims(R"({"iss":"https://login.example.org","aud":"fabricd","sub":"a","exp":1799999941,
                 "nbf":1800000060})"),
            "identified as oidc:a");
}

TEST_F(OidcTest, RolesAreThoseOfTheBindingsOfNameAndGroups) {
  Authenticator authenticator("corp", AllLoopbackRoles());
  authenticator.SetOidc(issuer_);
  Caller caller;
  caller.address = "127.0.0.1:1";
  caller.authorization = "Bearer " + TokenOf(ec_, R"({"alg":"ES256","kid":"e1"})", kGoodClaims);
  const auto none = authenticator.Identify(caller, kOidcNow);
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_THAT(RolesOf(none->identity), ::testing::IsEmpty());
  authenticator.SetBindings(
      *RoleBindings::Parse("- {identity: \"oidc-group:ops\", roles: [operator]}\n"
                           "- {identity: \"oidc:alice\", roles: [metrics]}\n"
                           "- {identity: \"oidc-group:other\", roles: [admin]}\n"
                           "- {identity: \"*\", roles: [agent]}\n",
                           "bindings"));
  const auto alice = authenticator.Identify(caller, kOidcNow);
  ASSERT_TRUE(alice.ok());
  EXPECT_EQ(alice->identity.name(), "oidc:alice");
  EXPECT_EQ(alice->identity.credential(), v1::CREDENTIAL_OIDC);
  EXPECT_EQ(alice->identity.expires_at().seconds(), 1'800'000'100);
  EXPECT_THAT(RolesOf(alice->identity), ElementsAre(v1::ROLE_OPERATOR, v1::ROLE_METRICS))
      << "never an agent";
  EXPECT_TRUE(alice->nodes && alice->nodes->empty());
  // A rotation of keys: the old key is not known any more.
  OidcIssuer rotated = issuer_;
  rotated.keys = *KeySet::Parse(SetOf({IssuerKey::Ec().Jwk("e2")}), "jwks");
  authenticator.SetOidc(rotated);
  EXPECT_EQ(authenticator.Identify(caller, kOidcNow).status().code(), Code::kUnauthenticated);
}

TEST(KeySet, BadSetsAreRefusedWithTheKey) {
  const IssuerKey ec = IssuerKey::Ec();
  const std::string good = ec.Jwk("k");
  const std::pair<std::string, const char*> cases[] = {
      {"", "f: expected {\"keys\": [...]}"},
      {"[]", "f: expected {\"keys\": [...]}"},
      {R"({"keys":{}})", "f: expected {\"keys\": [...]}"},
      {SetOf({}), "expected a key for RS256 or ES256, saw none"},
      {SetOf({R"({"kty":"OKP","crv":"Ed25519","x":"AA"})"}), "saw none"},
      {SetOf({good, good}), "key 2: expected each key id once, saw 'k' twice"},
      {SetOf({R"({"kty":"oct","k":"AA"})"}), "key 1: expected public keys, saw a secret one"},
      {SetOf({R"({"kty":"EC","crv":"P-256","d":"AA"})"}), "saw a secret one"},
      {SetOf({"7"}), "key 1: expected a key, saw another value"},
      {SetOf({R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"}), "coordinates of 32 bytes"},
      {SetOf({R"({"kty":"EC","crv":"P-256","x":")" + ToBase64Url(std::string(32, 'x')) +
              R"(","y":")" + ToBase64Url(std::string(32, 'y')) + R"("})"}),
       "values that are not one"},
      {SetOf({R"({"kty":"RSA","n":"!","e":"AQAB"})"}), "n: expected base64url"},
      {SetOf({R"({"kty":"RSA","n":"AQAB"})"}), "expected a value of 'e'"},
      {SetOf({IssuerKey::Rsa(1024).Jwk("k")}), "at least 2048 bits, saw 1024"},
  };
  for (const auto& [json, message] : cases) {
    const auto keys = KeySet::Parse(json, "f");
    ASSERT_FALSE(keys.ok()) << json;
    EXPECT_THAT(keys.status().message(), HasSubstr(message)) << json;
  }
}

TEST(KeySet, SkipsKeysForOtherUses) {
  const IssuerKey ec = IssuerKey::Ec();
  std::string encryption = IssuerKey::Rsa().Jwk("enc");
  encryption.replace(encryption.find("\"sig\""), 5, "\"enc\"");
  const auto keys = KeySet::Parse(SetOf({encryption, ec.Jwk("k")}), "f");
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_EQ(keys->size(), 1u);
  EXPECT_TRUE(keys->Open(TokenOf(ec, R"({"alg":"ES256"})", "{}")).ok())
      << "the only key needs no id in the token";
}

}  // namespace
}  // namespace fabric::access
