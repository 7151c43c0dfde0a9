#include "base/jws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// RFC 8037, appendix A: the key, its thumbprint and a signature with it.
constexpr const char* kRfcPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kRsaPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAL3BPGOx3Bdti1Y6Yy6hxZJnTxe+mUsL\n"
    "4Nw5YQ1fcAHXj2yzVZ3vCkyHkqXbvJr8YlqFm0GmBmpFsTSYeEKvgSUCAwEAAQ==\n"
    "-----END PUBLIC KEY-----\n";

SigningKey RfcKey() {
  return *SigningKey::FromPem(kRfcPrivate, "rfc.pem");
}

TEST(Base64Url, GoesBothWays) {
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"\xff\xfe", "__4"}}) {
    EXPECT_EQ(ToBase64Url(bytes), text);
    EXPECT_EQ(*FromBase64Url(text), bytes);
  }
  for (const char* wrong : {"Z", "Zg==", "Zh", "Zm9v Zm9v", "Zm+v", "Zm8\n"})
    EXPECT_EQ(FromBase64Url(wrong).status().code(), Code::kInvalidArgument) << wrong;
}

TEST(Ed25519, IsThatOfTheRfc) {
  const SigningKey key = RfcKey();
  EXPECT_EQ(ToBase64Url(key.Public().raw()), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
  EXPECT_EQ(KeyId(key.Public()), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  const std::string text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  EXPECT_EQ(ToBase64Url(key.Sign(text)),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_"
            "MuM0KAg");
  EXPECT_EQ(key.ToPem(), kRfcPrivate);
}

TEST(Ed25519, KeysAreReadBackFromPem) {
  const SigningKey key = *SigningKey::Generate();
  EXPECT_EQ(SigningKey::FromPem(key.ToPem(), "k")->Public(), key.Public());
  EXPECT_EQ(*PublicKey::FromPem(key.Public().ToPem(), "k"), key.Public());
  EXPECT_NE(SigningKey::Generate()->Public(), key.Public());
}

TEST(Ed25519, SaysWhatAFileIsInsteadOfAKey) {
  const std::string secret = "MC4CAQAwBQYDK2Vw";
  const std::string cut = Format("-----BEGIN PRIVATE KEY-----\n{}\n", secret);
  for (const auto& [pem, seen] : std::vector<std::pair<std::string, std::string>>{
           {"",
            "k.pem: expected an Ed25519 private key in PEM without passphrase (openssl genpkey "
            "-algorithm ed25519), saw an empty file"},
           {"hello", "saw text that is not PEM"},
           {cut, "saw a private key"},
           {RfcKey().Public().ToPem(), "saw a public key"},
           {"-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "saw an encrypted private key"}}) {
    const Status status = SigningKey::FromPem(pem, "k.pem").status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(seen));
    EXPECT_THAT(status.message(), Not(HasSubstr(secret)));
  }
  EXPECT_THAT(PublicKey::FromPem(kRfcPrivate, "k.pem").status().message(),
              HasSubstr("expected an Ed25519 public key in PEM (openssl pkey -in KEY.pem -pubout), "
                        "saw a private key"));
  EXPECT_THAT(PublicKey::FromPem(kRsaPublic, "k.pem").status().message(),
              HasSubstr("saw a key of type RSA"));
  EXPECT_EQ(PublicKey::FromRaw("short").status().code(), Code::kInvalidArgument);
}

TEST(Jws, IsOpenedWithItsKeyAlone) {
  const SigningKey key = RfcKey();
  const Signed text = SignJws(key, "x+json", R"({"a":1})");
  EXPECT_EQ(*OpenJws(key.Public(), "x+json", text), R"({"a":1})");
  EXPECT_THAT(*FromBase64Url(text.header),
              HasSubstr(R"({"alg":"EdDSA","typ":"x+json","kid":"kPrK_)"));
  const Status other = OpenJws(SigningKey::Generate()->Public(), "x+json", text).status();
  EXPECT_EQ(other.code(), Code::kPermissionDenied);
  EXPECT_THAT(other.message(), HasSubstr("the text was not signed with the key"));
}

TEST(Jws, OfASetOfKeysTheHeaderNamesOne) {
  const SigningKey old_key = RfcKey();
  const auto new_key = SigningKey::Generate();
  const auto keys =
      PublicKeysFromPem(new_key->Public().ToPem() + old_key.Public().ToPem(), "keys.pem");
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  ASSERT_EQ(keys->size(), 2u);
  for (const SigningKey* const key : {&old_key, &*new_key})
    EXPECT_EQ(*OpenJws(*keys, "t", SignJws(*key, "t", "1")), "1");
  const Status other = OpenJws(*keys, "t", SignJws(*SigningKey::Generate(), "t", "1")).status();
  EXPECT_EQ(other.code(), Code::kPermissionDenied);
  EXPECT_THAT(other.message(), HasSubstr(" or " + KeyId(old_key.Public())));
  // Signed with one key, named as another one.
  Signed confused = SignJws(old_key, "t", "1");
  const Signed named = SignJws(*new_key, "t", "1");
  confused.header = named.header;
  EXPECT_EQ(OpenJws(*keys, "t", confused).status().message(),
            "the signature is invalid: the text was changed after it was signed");
  const auto private_keys = SigningKeysFromPem(new_key->ToPem() + "\n" + old_key.ToPem(), "k");
  ASSERT_TRUE(private_keys.ok()) << private_keys.status().message();
  EXPECT_EQ(private_keys->front().Public(), new_key->Public());
  EXPECT_FALSE(PublicKeysFromPem("", "k").ok());
  EXPECT_FALSE(PublicKeysFromPem(old_key.Public().ToPem() + old_key.ToPem(), "k").ok());
  std::string many;
  for (int n = 0; n < 17; ++n) many += old_key.Public().ToPem();
  EXPECT_THAT(PublicKeysFromPem(many, "k").status().message(), HasSubstr("at most 16 keys"));
}

TEST(Jws, OpensOnlyTheExpectedType) {
  const SigningKey key = RfcKey();
  const Status other =
      OpenJws(key.Public(), "y+json", SignJws(key, "x+json", R"({"a":1})")).status();
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.message(), "protected: expected the type y+json, saw another");
}

TEST(Jws, NoticesWhatWasChanged) {
  const SigningKey key = RfcKey();
  const Signed good = SignJws(key, "x+json", R"({"verdict":"FAIL"})");
  Signed changed = good;
  changed.payload = ToBase64Url(R"({"verdict":"PASS"})");
  const Status status = OpenJws(key.Public(), "x+json", changed).status();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("changed after it was signed"));
  for (const std::string& header :
       {std::string(R"({"alg":"none"})"),
        std::string(R"({"alg":"EdDSA","typ":"x+json","crit":["b64"]})"),
        std::string(R"({"alg":1})"), std::string(R"(["EdDSA"])"), std::string(R"({"alg":"EdDSA")"),
        std::string(R"({"cr\u0069t":[],"alg":"EdDSA","typ":"x+json"})")}) {
    changed = good;
    changed.header = ToBase64Url(header);
    EXPECT_EQ(OpenJws(key.Public(), "x+json", changed).status().code(), Code::kInvalidArgument)
        << header;
  }
  changed = good;
  changed.signature = "*";
  EXPECT_THAT(OpenJws(key.Public(), "x+json", changed).status().message(),
              HasSubstr("signature: expected"));
  changed.signature.clear();
  EXPECT_EQ(OpenJws(key.Public(), "x+json", changed).status().code(), Code::kPermissionDenied);
}

// By another program, which knows nothing of ours.
TEST(Jws, IsVerifiedByTheOpensslCommand) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl command";
  const SigningKey key = *SigningKey::Generate();
  const Signed text = SignJws(key, "x+json", R"({"verdict":"PASS"})");
  testing::TempTree files;
  files.File("key.pem", key.Public().ToPem())
      .File("signature", *FromBase64Url(text.signature))
      .File("text", Format("{}.{}", text.header, text.payload))
      .File("other", Format("{}.{}x", text.header, text.payload));
  const auto verifies = [&](const std::string& file) {
    const std::string command = Format(
        "cd {} && openssl pkeyutl -verify -rawin -pubin -inkey key.pem -in {} -sigfile signature "
        ">/dev/null 2>&1",
        files.path(), file);
    return std::system(command.c_str()) == 0;
  };
  EXPECT_TRUE(verifies("text"));
  EXPECT_FALSE(verifies("other"));
}

}  // namespace
}  // namespace fabric
