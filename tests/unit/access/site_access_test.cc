#include "daemon/site_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/secret.h"
#include "daemon/access/tokens.h"
#include "daemon/config.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using ::testing::HasSubstr;

class SiteAccessTest : public ::testing::Test {
 protected:
  SiteAccessTest() { Set("state", path("state.db")); }
  std::string path(const std::string& name) const { return tree_.path() + "/" + name; }
  void Set(const std::string& name, const std::string& value) {
    const Status status = settings_.Set(name, value);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    tree_.File(name, text);
    EXPECT_EQ(chmod(path(name).c_str(), mode), 0);
  }
  std::unique_ptr<SiteAccess> Open() {
    auto site = SiteAccess::Open(settings_, clock_, {});
    EXPECT_TRUE(site.ok()) << site.status().message();
    return site.ok() ? *std::move(site) : nullptr;
  }
  std::string Refusal() {
    const auto site = SiteAccess::Open(settings_, clock_, {});
    return site.ok() ? "none" : site.status().message();
  }
  static std::string Line(const std::string& token, v1::Role role = v1::ROLE_VIEWER) {
    return TokenLine({.name = token, .hash = HashOfSecret(token), .roles = {role}});
  }
  // "viewer", or how the token is refused.
  static Code Try(SiteAccess& site, const std::string& token) {
    access::Caller caller;
    caller.address = "127.0.0.1:1";
    caller.authorization = "Bearer " + token;
    return site.gate().Admit(caller, {"test", {v1::ROLE_VIEWER}}).status().code();
  }

  testing::TempTree tree_;
  SystemClock clock_;
  Settings settings_{ControllerSettings()};
};

TEST_F(SiteAccessTest, TheDefaultsAreTheLoopbackCallerAndAnAuditLogByTheStateFile) {
  const auto site = Open();
  ASSERT_NE(site, nullptr);
  access::Caller caller;
  caller.address = "127.0.0.1:1";
  for (const v1::Role role : {v1::ROLE_ADMIN, v1::ROLE_AGENT, v1::ROLE_METRICS})
    EXPECT_TRUE(site->gate().Admit(caller, {"test", {role}}).ok());
  struct stat file {};
  ASSERT_EQ(stat(path("state.db.audit").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(SiteAccessTest, LoopbackCallersCanHaveFewerRolesOrNone) {
  access::Caller caller;
  caller.address = "127.0.0.1:1";
  Set("loopback-roles", "viewer");
  {
    const auto site = Open();
    EXPECT_TRUE(site->gate().Admit(caller, {"test", {v1::ROLE_VIEWER}}).ok());
    EXPECT_FALSE(site->gate().Admit(caller, {"test", {v1::ROLE_OPERATOR}}).ok());
    EXPECT_FALSE(site->gate().AdmitAgent(caller, nullptr).ok());
  }
  Set("loopback-roles", "none");
  EXPECT_FALSE(Open()->gate().Admit(caller, {"test", {v1::ROLE_VIEWER}}).ok());
}

TEST_F(SiteAccessTest, LimitsOfRolesAreASetting) {
  Set("loopback-roles", "viewer");
  Set("role-limits", "viewer.per-second=1,viewer.in-flight=0");
  access::Caller caller;
  caller.address = "127.0.0.1:1";
  auto site = Open();
  const auto principal = site->gate().Admit(caller, {"test", {v1::ROLE_VIEWER}});
  ASSERT_TRUE(principal.ok());
  int good = 0;
  while (good < 1'000 && site->gate().Begin(*principal).ok()) ++good;
  EXPECT_LT(good, 1'000);
  EXPECT_EQ(site->gate().counts().limited, 1u);
  site.reset();
  Set("role-limits", "viewer.per-hour=1");
  EXPECT_THAT(Refusal(), HasSubstr("role-limits: expected ROLE.LIMIT=NUMBER"));
}

TEST_F(SiteAccessTest, TokensAreReloadedAndABadFileLeavesTheOldOnes) {
  Write("tokens", Line("one"));
  Set("tokens", path("tokens"));
  const auto site = Open();
  ASSERT_NE(site, nullptr);
  EXPECT_EQ(Try(*site, "one"), Code::kOk);
  const auto replace = [&](const std::string& text, mode_t mode = 0600) {
    Write("new", text, mode);
    ASSERT_EQ(rename(path("new").c_str(), path("tokens").c_str()), 0);
    site->Tick();  // Sees the change
    site->Tick();  // Reads the file, which has not changed further
  };
  replace(Line("one") + Line("two"));
  EXPECT_EQ(Try(*site, "two"), Code::kOk);
  replace("- {name: broken\n");
  EXPECT_EQ(Try(*site, "two"), Code::kOk) << "the previous content";
  ASSERT_EQ(site->refused().count("tokens"), 1U);
  EXPECT_EQ(site->refused().at("tokens").rfind(path("tokens") + ":", 0), 0U)
      << site->refused().at("tokens");
  replace(Line("three"), 0644);
  EXPECT_EQ(Try(*site, "three"), Code::kUnauthenticated) << "others can read it";
  EXPECT_EQ(Try(*site, "two"), Code::kOk);
  replace(Line("three"));
  EXPECT_EQ(Try(*site, "three"), Code::kOk);
  EXPECT_EQ(Try(*site, "two"), Code::kUnauthenticated) << "revoked";
  EXPECT_TRUE(site->refused().empty());
  ASSERT_EQ(unlink(path("tokens").c_str()), 0);
  site->Tick();
  site->Tick();
  EXPECT_EQ(Try(*site, "three"), Code::kOk) << "a missing file is a bad file";
}

// Of P-256: its base point.
constexpr const char* kJwks =
    R"({"keys":[{"kty":"EC","crv":"P-256","kid":"k",
        "x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
        "y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]})";

TEST_F(SiteAccessTest, OidcNeedsAllItsSettingsAndAValidFile) {
  Set("oidc-issuer", "https://login.example.org");
  EXPECT_THAT(Refusal(), HasSubstr("oidc-audience: expected a value"));
  Set("oidc-audience", "fabricd");
  Set("oidc-keys", "http://login.example.org/keys");
  EXPECT_THAT(Refusal(), HasSubstr("oidc-keys: expected https://HOST[:PORT][/PATH], saw "));
  Set("oidc-keys", path("jwks"));
  EXPECT_THAT(Refusal(), HasSubstr("oidc-keys: " + path("jwks")));
  Write("jwks", "{}", 0644);
  EXPECT_THAT(Refusal(), HasSubstr("oidc-keys: " + path("jwks") + ": expected {\"keys\""));
  Write("jwks", kJwks, 0664);
  EXPECT_THAT(Refusal(), HasSubstr("saw mode 0664"));
  Write("jwks", kJwks, 0644);
  EXPECT_EQ(Refusal(), "none");
}

TEST_F(SiteAccessTest, BadSettingsAreRefusedAtTheStart) {
  Set("tokens", path("tokens"));
  EXPECT_THAT(Refusal(), HasSubstr("tokens: " + path("tokens")));
  Write("tokens", Line("one"), 0604);
  EXPECT_EQ(Refusal(), "tokens: " + path("tokens") +
                           ": expected a token file that other users cannot read (mode 0600 or "
                           "0640), saw mode 0604");
  Write("tokens", "- {name: a}\n");
  EXPECT_EQ(Refusal(),
            "tokens: " + path("tokens") + ":1:3: expected a value of 'sha256', saw none");
  Write("tokens", "");
  Write("bindings", "- {identity: a, roles: [viewer]}\n", 0666);
  Set("role-bindings", path("bindings"));
  EXPECT_THAT(Refusal(), HasSubstr("saw mode 0666"));
  Write("bindings", "- {identity: a, roles: [view]}\n", 0644);
  EXPECT_THAT(Refusal(), HasSubstr("role-bindings: " + path("bindings") + ":1:24: roles: unknown"));
  Write("bindings", "- {identity: a, roles: [viewer]}\n", 0644);
  EXPECT_EQ(Refusal(), "none");
  Set("loopback-roles", "root");
  EXPECT_THAT(Refusal(), HasSubstr("loopback-roles: unknown role 'root'"));
  Set("loopback-roles", "viewer");
  Set("trust-domain", "A B");
  EXPECT_THAT(Refusal(), HasSubstr("trust-domain: expected lower case letters"));
  Set("trust-domain", "corp");
  tree_.File("text", "not a database, but long enough to be taken for the header of one.......");
  Set("audit-log", path("text"));
  EXPECT_THAT(Refusal(), HasSubstr("audit-log: " + path("text")));
}

}  // namespace
}  // namespace fabric
