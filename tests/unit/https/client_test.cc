#include "base/https/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/https/form.h"

namespace fabric::https {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Url, HasHostPortAndTarget) {
  const auto plain = ParseUrl("https://login.example.org");
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->host, "login.example.org");
  EXPECT_EQ(plain->port, 443);
  EXPECT_EQ(plain->target, "/");
  const auto full = ParseUrl("https://[2001:db8::1]:8443/keys?a=b");
  ASSERT_TRUE(full.ok()) << full.status().message();
  EXPECT_EQ(full->host, "2001:db8::1");
  EXPECT_EQ(full->port, 8443);
  EXPECT_EQ(full->target, "/keys?a=b");
  EXPECT_EQ(ParseUrl("https://a?b=c")->target, "/?b=c");
  EXPECT_EQ(ToString(*ParseUrl("https://a:444/x")), "https://a:444/x");
}

TEST(Url, OtherFormsAreRefused) {
  for (const std::string& wrong :
       {std::string(), std::string("http://a"), std::string("https://"), std::string("https:///x"),
        std::string("https://a:0"), std::string("https://a:99999"), std::string("https://u@a"),
        std::string("https://a/x#y"), std::string("https://a/ b"),
        std::string("https://a\r\nHost: b"), std::string("file:///etc/passwd")})
    EXPECT_THAT(ParseUrl(wrong).status().message(),
                HasSubstr("expected https://HOST[:PORT][/PATH], saw "))
        << wrong;
}

TEST(Url, HttpWherePermitted) {
  const auto address = ParseHttpUrl("http://[2001:db8::1]:8080");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_FALSE(address->tls);
  EXPECT_EQ(address->host, "2001:db8::1");
  EXPECT_EQ(address->port, 8080);
  EXPECT_EQ(ParseHttpUrl("http://10.0.0.1")->port, 80);
  EXPECT_TRUE(ParseHttpUrl("https://hooks.example.org/fabric?team=net")->tls);
  EXPECT_EQ(ToString(*ParseHttpUrl("http://[::1]/x")), "http://[::1]/x");
  for (const char* wrong : {"", "ftp://x", "http://", "http://:80/", "http://user:secret@x/",
                            "http://x/a b", "http://x/\r\nHost: y", "http://x:0/"})
    EXPECT_THAT(ParseHttpUrl(wrong).status().message(),
                HasSubstr("expected http[s]://HOST[:PORT][/PATH], saw "))
        << wrong;
}

TEST(Form, EscapesWhatAFormCannotHave) {
  EXPECT_EQ(Form({{"grant", "urn:a b"}, {"id", "x&y=z"}}), "grant=urn%3Aa%20b&id=x%26y%3Dz");
}

TEST(Client, AClosedPortIsAReasonWithoutThePath) {
  const Limits limits{.patience = 5s};
  const auto answer = Get({.host = "127.0.0.1", .port = 1, .target = "/secret"}, limits);
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_EQ(answer.status().message(), "https://127.0.0.1:1: Connection refused");
  const auto plain = Post(*ParseHttpUrl("http://127.0.0.1:1/secret"),
                          {.type = "application/json", .body = "{}"}, limits);
  EXPECT_EQ(plain.status().code(), Code::kUnavailable);
  EXPECT_EQ(plain.status().message(), "http://127.0.0.1:1: Connection refused");
}

TEST(Client, CasThatAreNoneAreNamed) {
  const auto answer = Get({.host = "127.0.0.1", .port = 1, .target = "/"}, {.ca_pem = "text"});
  EXPECT_EQ(answer.status().message(), "expected CAs in PEM, saw text that is not PEM");
}

}  // namespace
}  // namespace fabric::https
