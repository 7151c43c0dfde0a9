#include "daemon/api/rest/negotiation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "daemon/api/rest/gzip.h"

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
  EXPECT_TRUE(MatchesTag("W/\"a\"", "W/\"a\""));
  EXPECT_TRUE(MatchesTag("\"a\"", "W/\"a\""));
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

// The text, by zlib. Empty unless `zipped` is one complete gzip file.
std::string Unzipped(const std::string& zipped) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zipped.data()));
  stream.avail_in = static_cast<uInt>(zipped.size());
  std::string text;
  std::array<char, 4096> block;
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = block.size();
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(block.data(), block.size() - stream.avail_out);
  }
  const bool complete = state == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return complete ? text : "";
}

// 100 kB that compress badly.
std::string Noise() {
  std::string noise;
  for (std::uint32_t n = 1; noise.size() < 100'000; n = n * 1664525 + 1013904223)
    noise += static_cast<char>(n >> 24);
  return noise;
}

TEST(Gzip, IsReadByZlib) {
  for (const std::string& text : {std::string("x"), std::string(200'000, 'a'), Noise()})
    EXPECT_EQ(Unzipped(Gzipped(text)), text);
  EXPECT_LT(Gzipped(std::string(200'000, 'a')).size(), 2'000u);
}

HttpResponse Json(std::string body) {
  const std::string tag = WeakTag(body);
  return {.body = std::move(body), .etag = tag, .compress = true};
}

TEST(Negotiate, CompressesLongAnswers) {
  const std::string body(5'000, 'n');
  const HttpResponse zipped = Negotiate(Json(body), {.accept_encoding = "gzip"});
  EXPECT_EQ(Unzipped(zipped.body), body);
  EXPECT_THAT(zipped.headers, HasSubstr("Content-Encoding: gzip\r\n"));
  const HttpResponse plain = Negotiate(Json(body), {});
  EXPECT_EQ(plain.body, body);
  EXPECT_THAT(plain.headers, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_EQ(Negotiate(Json("{}"), {.accept_encoding = "gzip"}).body, "{}");
}

class Pieces : public BodyStream {
 public:
  Result<bool> Next(std::string& out) override {
    if (count_ == 3) return Status(Code::kUnavailable, "the disk is full");
    out += Format("piece {}, ", ++count_);
    return count_ < last;
  }
  int last = 3;

 private:
  int count_ = 0;
};

TEST(Negotiate, CompressesStreams) {
  StreamedResponse answer =
      Negotiate(StreamedResponse{.body = std::make_unique<Pieces>()}, {.accept_encoding = "gzip"});
  EXPECT_THAT(answer.head.headers, HasSubstr("Content-Encoding: gzip\r\n"));
  std::string zipped;
  while (*answer.body->Next(zipped)) {
  }
  EXPECT_EQ(Unzipped(zipped), "piece 1, piece 2, piece 3, ");
  auto failing = std::make_unique<Pieces>();
  failing->last = 4;
  answer = Negotiate(StreamedResponse{.body = std::move(failing)}, {.accept_encoding = "gzip"});
  Result<bool> more = true;
  for (int n = 0; n < 4 && more.ok(); ++n) more = answer.body->Next(zipped);
  EXPECT_EQ(more.status().message(), "the disk is full");
  EXPECT_THAT(Negotiate(StreamedResponse{.body = std::make_unique<Pieces>()}, {}).head.headers,
              Not(HasSubstr("Content-Encoding")));
}

}  // namespace
}  // namespace fabric::api
