#include "daemon/api/rest/negotiation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AcceptsCoding, ReadsTheListWithQualities) {
  struct Row {
    const char* header;
    bool accepts;
  };
  for (const Row& row :
       {Row{"gzip", true}, Row{"deflate, gzip;q=0.5", true}, Row{"*", true}, Row{"br", false},
        Row{"", false}, Row{"gzip;q=0", false}, Row{"gzip; q=0.000", false}, Row{"xgzip", false}})
    EXPECT_EQ(AcceptsCoding(row.header, "gzip"), row.accepts) << row.header;
}

TEST(MatchesTag, ReadsTheList) {
  EXPECT_TRUE(MatchesTag("\"a\"", "\"a\""));
  EXPECT_TRUE(MatchesTag("\"b\", W/\"a\"", "\"a\""));
  EXPECT_TRUE(MatchesTag("*", "\"a\""));
  EXPECT_FALSE(MatchesTag("\"ab\"", "\"a\""));
  EXPECT_FALSE(MatchesTag("", "\"a\""));
}

HttpResponse File() {
  return {.content_type = "text/css",
          .body = "body {}",
          .cache_control = "max-age=31536000, immutable",
          .etag = "\"7\"",
          .gzip_body = "zipped"};
}

TEST(Negotiate, SendsGzipToClientsThatAcceptIt) {
  const HttpResponse zipped = Negotiate(File(), {.accept_encoding = "gzip, br"});
  EXPECT_EQ(zipped.body, "zipped");
  const std::string text = ResponseText(zipped, {.keep_alive = true});
  EXPECT_THAT(text, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nVary: Accept-Encoding\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nCache-Control: max-age=31536000, immutable\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nContent-Length: 6\r\n"));
  const HttpResponse plain = Negotiate(File(), {});
  EXPECT_EQ(plain.body, "body {}");
  EXPECT_THAT(ResponseText(plain, {}), Not(HasSubstr("Content-Encoding")));
}

TEST(Negotiate, AKnownTagIsAnswered304WithoutABody) {
  const HttpResponse known = Negotiate(File(), {.if_none_match = "\"7\""});
  EXPECT_EQ(known.status, 304);
  const std::string text = ResponseText(known, {.keep_alive = true});
  EXPECT_THAT(text, HasSubstr("\r\nETag: \"7\"\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(Negotiate(File(), {.if_none_match = "\"8\""}).status, 200);
}

}  // namespace
}  // namespace fabric::api
