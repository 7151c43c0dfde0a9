#include "daemon/access/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/secret.h"

namespace fabric::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// printf secret | sha256sum
constexpr std::string_view kSecretHash =
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

std::string Line(std::string_view fields) {
  return "- {name: ci, sha256: \"" + std::string(kSecretHash) + "\", " + std::string(fields) +
         "}\n";
}

TEST(Tokens, AreFoundByTheirHash) {
  EXPECT_EQ(HashOfSecret("secret"), kSecretHash);
  const auto list = TokenList::Parse(Line("roles: [operator, metrics]"), "tokens.yaml");
  ASSERT_TRUE(list.ok()) << list.status().message();
  const Token* const token = list->Find("secret");
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->name, "ci");
  EXPECT_THAT(token->roles, ElementsAre(v1::ROLE_OPERATOR, v1::ROLE_METRICS));
  EXPECT_FALSE(token->expires_at.has_value());
  EXPECT_EQ(list->Find("Secret"), nullptr);
  EXPECT_EQ(list->Find(""), nullptr);
  EXPECT_EQ(list->Find(kSecretHash), nullptr) << "a hash is not a token";
}

TEST(Tokens, AreLongAndRandom) {
  const auto a = MakeSecret("fabric_");
  const auto b = MakeSecret("fabric_");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(*a, *b);
  EXPECT_EQ(a->size(), 7u + 43u);
  EXPECT_TRUE(a->starts_with("fabric_"));
}

TEST(Tokens, TheLineIsReadBack) {
  const Token token{.name = "ci@example.org",
                    .hash = HashOfSecret("t"),
                    .roles = {v1::ROLE_VIEWER, v1::ROLE_METRICS},
                    .expires_at = WallTime(std::chrono::seconds(1'800'000'000))};
  const std::string line = TokenLine(token);
  EXPECT_THAT(line, HasSubstr("roles: [viewer, metrics], expires: \"2027-01-15T08:00:00Z\"}\n"));
  const auto list = TokenList::Parse("# comment\n" + line, "f");
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_NE(list->Find("t"), nullptr);
  EXPECT_EQ(list->Find("t")->name, token.name);
  EXPECT_EQ(list->Find("t")->expires_at, token.expires_at);
}

TEST(Tokens, AnEmptyFileHasNone) {
  for (const char* text : {"", "# nothing\n", "[]\n"}) {
    const auto list = TokenList::Parse(text, "f");
    ASSERT_TRUE(list.ok()) << list.status().message();
    EXPECT_EQ(list->size(), 0u);
  }
}

TEST(Tokens, BadFilesAreRefusedWithThePlace) {
  const std::string good = Line("roles: [viewer]");
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"a: b\n", "f:1:1: expected a list of entries, saw a map"},
      {"- x\n", "f:1:3: expected keys and values, saw 'x'"},
      {"- {name: ci}\n", "expected a value of 'sha256', saw none"},
      {"- {name: \"a b\"}\n", "f:1:10: name: expected 1 to 64 letters"},
      {"- {name: ci, sha256: abc, roles: [viewer]}\n", "sha256: expected 64 hexadecimal digits"},
      {Line("roles: []"), "roles: expected a list of roles, saw a list"},
      {Line("roles: viewer"), "roles: expected a list of roles, saw 'viewer'"},
      {Line("roles: [viewr]"), "unknown role 'viewr'; did you mean 'viewer'?"},
      {Line("roles: [agent]"), "saw agent: agents need a certificate"},
      {Line("roles: [viewer], expires: tomorrow"), "expires: expected a time such as"},
      {Line("roles: [viewer], role: x"), "unknown key 'role'; did you mean 'roles'?"},
      {Line("roles: [viewer], name: x"), "'name': expected it once"},
      {good + good, "f:2:10: name: expected each name once, saw 'ci' twice"},
      {good + "- {name: b, sha256: \"" + std::string(kSecretHash) + "\", roles: [viewer]}\n",
       "expected each hash once, saw that of 'ci' again"},
      {"- {name: [\n", "f:"},
  };
  for (const auto& [text, message] : cases) {
    const auto list = TokenList::Parse(text, "f");
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_THAT(list.status().message(), HasSubstr(message)) << text;
    EXPECT_THAT(list.status().message(), Not(HasSubstr(std::string(kSecretHash)))) << text;
  }
}

TEST(Tokens, TheNumberIsBounded) {
  std::string many;
  for (int i = 0; i < 1'001; ++i) many += "- {name: t" + std::to_string(i) + "}\n";
  EXPECT_THAT(TokenList::Parse(many, "f").status().message(),
              HasSubstr("expected at most 1000 entries, saw 1001"));
}

}  // namespace
}  // namespace fabric::access
