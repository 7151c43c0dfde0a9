#include "base/https/oidc_issuer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::https {
namespace {

using ::testing::HasSubstr;

Fetch Answering(int status, std::string body) {
  return [=](const std::string& url) -> Result<Answer> {
    EXPECT_EQ(url, "https://login.example.org/.well-known/openid-configuration");
    return Answer{.status = status, .body = body};
  };
}

std::string DiscoverError(int status, const std::string& body) {
  return Discover("https://login.example.org", Answering(status, body)).status().message();
}

TEST(Discovery, NamesKeysAndTokens) {
  const auto found = Discover("https://login.example.org/",
                              Answering(200, R"({"issuer": "https://login.example.org/",
                                  "jwks_uri": "https://login.example.org/keys",
                                  "token_endpoint": "https://login.example.org/token"})"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->keys_url, "https://login.example.org/keys");
  EXPECT_EQ(found->token_url, "https://login.example.org/token");
  EXPECT_EQ(found->device_url, "");
}

TEST(Discovery, WrongDocumentsAreRefused) {
  EXPECT_THAT(DiscoverError(404, ""), HasSubstr("expected HTTP status 200, saw 404"));
  EXPECT_THAT(DiscoverError(200, "<html>"), HasSubstr("expected a discovery document in JSON"));
  EXPECT_THAT(DiscoverError(200, R"({"issuer": "https://evil.example"})"),
              HasSubstr("expected the issuer https://login.example.org, saw 'https://evil"));
  EXPECT_THAT(DiscoverError(200, R"({"issuer": "https://login.example.org"})"),
              HasSubstr("expected jwks_uri, saw none"));
  EXPECT_THAT(DiscoverError(200, R"({"issuer": "https://login.example.org",
                                     "jwks_uri": "http://login.example.org/keys"})"),
              HasSubstr("expected URLs with https://, saw 'http://login"));
  EXPECT_THAT(DiscoverError(200, R"({"issuer": 7, "jwks_uri": []})"),
              HasSubstr("expected the issuer"));
}

}  // namespace
}  // namespace fabric::https
