#include "ctl/device_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace fabric::ctl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// An issuer that answers POSTs in turn.
class FakeIssuer {
 public:
  LoginCalls Calls() {
    return {
        .get = [this](const std::string&) -> Result<https::Answer> {
          return https::Answer{.status = 200, .body = discovery};
        },
        .post = [this](const std::string& url, const std::string& form) -> Result<https::Answer> {
          posts.push_back(url + " " + form);
          if (answers.empty()) return Status(Code::kUnavailable, "gone");
          const https::Answer answer = answers.front();
          answers.pop_front();
          return answer;
        }};
  }
  std::string discovery = R"({"issuer": "https://i", "jwks_uri": "https://i/keys",
      "token_endpoint": "https://i/token", "device_authorization_endpoint": "https://i/device"})";
  std::deque<https::Answer> answers;
  std::vector<std::string> posts;
};

const DeviceLoginOptions kOptions = {
    .issuer = "https://i", .client_id = "ctl", .scope = "openid groups"};
const https::Answer kCode = {200, R"({"device_code": "SECRET", "user_code": "ABCD-EFGH",
    "verification_uri": "https://i/d", "interval": 2, "expires_in": 60})"};

TEST(DeviceLogin, WaitsUntilThePersonHasSignedIn) {
  FakeIssuer issuer;
  issuer.answers = {kCode,
                    {400, R"({"error": "authorization_pending"})"},
                    {400, R"({"error": "slow_down"})"},
                    {200, R"({"id_token": "a.b.c", "access_token": "x"})"}};
  auto code = StartDeviceLogin(kOptions, issuer.Calls());
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->user_code, "ABCD-EFGH");
  EXPECT_EQ(code->page, "https://i/d");
  EXPECT_EQ(code->interval, 2s);
  EXPECT_EQ(issuer.posts[0], "https://i/device client_id=ctl&scope=openid%20groups");
  EXPECT_EQ(*PollDeviceLogin(kOptions, issuer.Calls(), *code), std::nullopt);
  EXPECT_EQ(*PollDeviceLogin(kOptions, issuer.Calls(), *code), std::nullopt);
  EXPECT_EQ(code->interval, 7s);
  EXPECT_EQ(*PollDeviceLogin(kOptions, issuer.Calls(), *code), "a.b.c");
  EXPECT_THAT(issuer.posts.back(), HasSubstr("device_code=SECRET&client_id=ctl"));
}

TEST(DeviceLogin, RefusalsAreNamedWithoutSecrets) {
  struct Case {
    https::Answer answer;
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {{400, R"({"error": "access_denied"})"}, Code::kPermissionDenied, "refused in the browser"},
      {{400, R"({"error": "expired_token"})"}, Code::kDeadlineExceeded, "the code has expired"},
      {{401, R"({"error": "invalid_client", "error_description": "no such client"})"},
       Code::kUnauthenticated,
       "https://i/token: HTTP status 401: invalid_client: no such client"},
      {{401, R"({"error": "bad\u001b[2J"})"}, Code::kUnauthenticated, "HTTP status 401: no reason"},
      {{502, "<html>"}, Code::kUnavailable, "expected an object in JSON, saw HTTP status 502"},
      {{200, R"({"access_token": "x"})"}, Code::kFailedPrecondition, "expected id_token"}};
  for (const Case& each : cases) {
    FakeIssuer issuer;
    issuer.answers = {kCode, each.answer};
    auto code = StartDeviceLogin(kOptions, issuer.Calls());
    const Status status = PollDeviceLogin(kOptions, issuer.Calls(), *code).status();
    EXPECT_EQ(status.code(), each.code) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(each.message));
    EXPECT_THAT(status.message(), Not(HasSubstr("SECRET")));
  }
}

TEST(DeviceLogin, IssuersThatCannotDoItAreNamed) {
  FakeIssuer issuer;
  issuer.answers = {{200, R"({"device_code": "x", "user_code": "y",
                              "verification_uri": "javascript:alert"})"},
                    {403, R"({"error": "unauthorized_client"})"}};
  EXPECT_THAT(StartDeviceLogin(kOptions, issuer.Calls()).status().message(),
              HasSubstr("expected a device code, a user code and an https:// page"));
  EXPECT_THAT(StartDeviceLogin(kOptions, issuer.Calls()).status().message(),
              HasSubstr("https://i/device: HTTP status 403: unauthorized_client"));
  issuer.discovery = R"({"issuer": "https://i", "jwks_uri": "https://i/keys"})";
  EXPECT_THAT(StartDeviceLogin(kOptions, issuer.Calls()).status().message(),
              HasSubstr("expected an issuer with device codes (RFC 8628)"));
}

}  // namespace
}  // namespace fabric::ctl
