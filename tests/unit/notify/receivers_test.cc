#include "daemon/notify/receivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "proto/timestamps.h"
#include "tests/testing/temp_tree.h"

namespace fabric::notify {
namespace {

using ::testing::HasSubstr;

Notification Example() {
  Notification notification{.event = "finding_opened",
                            .finding = {},
                            .at = WallTime(std::chrono::seconds(1'800'000'000))};
  v1::Finding& finding = notification.finding;
  finding.set_id("f1");
  finding.set_rule("port_active");
  finding.set_title("port is DOWN\nand a second line");
  finding.set_severity(v1::SEVERITY_CRITICAL);
  finding.mutable_subject()->set_scope(v1::SCOPE_NODE);
  finding.mutable_subject()->set_node("n1");
  return notification;
}

class Webhooks : public ::testing::Test {
 protected:
  Result<std::vector<Webhook>> Read(const std::string& text) {
    tree_.File("hooks.yaml", text);
    return ReadWebhooks(tree_.path() + "/hooks.yaml");
  }
  std::string Secret(std::string_view content, mode_t mode = 0600) {
    tree_.File("secret", content);
    ::chmod((tree_.path() + "/secret").c_str(), mode);
    return tree_.path() + "/secret";
  }
  testing::TempTree tree_;
};

TEST_F(Webhooks, AreReadWithTheirSecrets) {
  const auto hooks = Read("- name: ops\n  url: https://hooks.example.org/x\n  secret-file: " +
                          Secret("0123456789abcdef\n") + "\n  min-severity: critical\n");
  ASSERT_TRUE(hooks.ok()) << hooks.status().message();
  ASSERT_EQ(hooks->size(), 1u);
  EXPECT_EQ((*hooks)[0].secret, "0123456789abcdef");
  EXPECT_EQ((*hooks)[0].min_severity, v1::SEVERITY_CRITICAL);
  EXPECT_TRUE(ReadWebhooks("")->empty());
}

TEST_F(Webhooks, ErrorsNameFileLineAndKey) {
  const std::string secret = Secret("0123456789abcdef");
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"- url: http://x\n", "hooks.yaml:1:3: expected a value of 'name', saw none"},
           {"- name: a\n  url: x\n  secret-file: " + secret + "\n",
            "hooks.yaml:2:8: url: expected"},
           {"- name: a\n  url: http://x\n  secret: y\n", "unknown key 'secret'"},
           {"- name: a\n  url: http://x\n  secret-file: /nowhere\n", "secret-file: /nowhere"},
           {"- name: a\n  url: http://x\n  secret-file: " + secret + "\n  min-severity: bad\n",
            "expected info, warning, error or critical, saw 'bad'"}}) {
    const auto hooks = Read(text);
    ASSERT_FALSE(hooks.ok()) << text;
    EXPECT_THAT(hooks.status().message(), HasSubstr(expected));
    EXPECT_EQ(hooks.status().message().find('\n'), std::string::npos);
  }
}

TEST_F(Webhooks, ASecretThatOthersCanReadOrThatIsShortIsRefused) {
  const std::string entry = "- name: a\n  url: http://x\n  secret-file: ";
  EXPECT_FALSE(Read(entry + Secret("0123456789abcdef", 0644)).ok());
  const auto hooks = Read(entry + Secret("hunter2"));
  ASSERT_FALSE(hooks.ok());
  EXPECT_THAT(hooks.status().message(), HasSubstr("expected at least 16 bytes, saw 7"));
  EXPECT_THAT(hooks.status().message(), ::testing::Not(HasSubstr("hunter2")));
}

TEST(Signature, IsHmacSha256OfTimeAndBody) {
  // printf '1800000000.{}' | openssl dgst -sha256 -hmac key
  EXPECT_EQ(SignatureOf("key", 1'800'000'000, "{}"),
            "t=1800000000,v1="
            "7321475872b03ff21bdc2dfd86ea2d99ec29c479fbe4a77aa6acf4509505493f");
}

TEST(Body, HasTheEventAndTheFinding) {
  const std::string body = BodyOf(Example(), "fabricd \"x\"");
  EXPECT_THAT(body, HasSubstr(R"({"event":"finding_opened","at":"2027-01-15T08:00:00Z",)"));
  EXPECT_THAT(body, HasSubstr(R"("controller":"fabricd \"x\"","finding":{"id":"f1")"));
}

TEST(Answer, OnlySomeStatusesAreWorthARepetition) {
  EXPECT_TRUE(StatusOfAnswer(200).ok());
  EXPECT_TRUE(StatusOfAnswer(204).ok());
  EXPECT_EQ(StatusOfAnswer(404).code(), Code::kInvalidArgument);
  for (const int status : {302, 408, 429, 500, 599})
    EXPECT_EQ(StatusOfAnswer(status).code(), Code::kUnavailable) << status;
}

TEST(Syslog, HasThePriorityOfTheSeverityOnOneLine) {
  EXPECT_EQ(SyslogLine(Example(), "head1", false),
            "<26>1 2027-01-15T08:00:00Z head1 fabricd - finding_opened - opened f1 critical n1: "
            "port is DOWN and a second line (port_active)");
  EXPECT_THAT(SyslogLine(Example(), "", true), HasSubstr("<26>fabricd: opened f1 critical n1"));
  Notification resolved = Example();
  resolved.event = "finding_resolved";
  EXPECT_THAT(SyslogLine(resolved, "h", false), HasSubstr("<30>1 "));
}

TEST(Syslog, AcceptsPathsAndAddresses) {
  EXPECT_TRUE(SyslogReceiver("/dev/log", "h").ok());
  EXPECT_TRUE(SyslogReceiver("127.0.0.1:514", "h").ok());
  const auto wrong = SyslogReceiver("journal", "h");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().message(), HasSubstr("expected a path such as /dev/log or HOST:PORT"));
  EXPECT_FALSE(SyslogReceiver("/" + std::string(200, 'x'), "h").ok());
}

}  // namespace
}  // namespace fabric::notify
