#include "daemon/notify/http_post.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::notify {
namespace {

using ::testing::HasSubstr;

TEST(Url, HasSchemeHostPortAndTarget) {
  const auto url = ParseUrl("https://hooks.example.org/fabric?team=net#part");
  ASSERT_TRUE(url.ok()) << url.status().message();
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "hooks.example.org");
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->target, "/fabric?team=net");
  const auto address = ParseUrl("http://[2001:db8::1]:8080");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_FALSE(address->tls);
  EXPECT_EQ(address->host, "2001:db8::1");
  EXPECT_EQ(address->port, "8080");
  EXPECT_EQ(address->target, "/");
  EXPECT_EQ(ParseUrl("http://10.0.0.1")->port, "80");
}

TEST(Url, RejectsWhatIsNotOne) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"ftp://x", "starts with https:// or http://"},
           {"", "starts with https:// or http://"},
           {"http://", "a URL with a host"},
           {"http://:80/", "a URL with a host"},
           {"http://user:secret@x/", "without a user name"},
           {"http://x/a b", "without blanks"},
           {"http://x/\r\nHost: y", "without blanks"},
           {"http://x:0/", "a port from 1 to 65535"},
           {"http://x:70000/", "a port from 1 to 65535"}}) {
    const auto url = ParseUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(url.status().message(), HasSubstr(expected)) << text;
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument);
  }
}

TEST(Answer, OnlySomeStatusesAreWorthARepetition) {
  EXPECT_TRUE(StatusOfAnswer("HTTP/1.1 200 OK\r\n").ok());
  EXPECT_TRUE(StatusOfAnswer("HTTP/1.1 204 No Content\r\n").ok());
  EXPECT_EQ(StatusOfAnswer("HTTP/1.1 404 Not Found\r\n").code(), Code::kInvalidArgument);
  for (const char* head : {"HTTP/1.1 500 x\r\n", "HTTP/1.1 429 x\r\n", "HTTP/1.1 408 x\r\n",
                           "HTTP/1.1 302 x\r\n", "HTTP/1.1 99999 x\r\n", "SSH-2.0\r\n", "\n", ""})
    EXPECT_EQ(StatusOfAnswer(head).code(), Code::kUnavailable) << head;
}

TEST(Post, FailsWhereNothingListens) {
  const SystemClock clock;
  const HttpPost post{
      .url = *ParseUrl("http://127.0.0.1:1/"), .headers = {}, .body = "{}", .ca_file = {}};
  const Status status = Post(post, clock);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:1: Connection refused"));
}

}  // namespace
}  // namespace fabric::notify
