#include "daemon/web/web_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::web {
namespace {

using ::testing::HasSubstr;

constexpr File kFiles[] = {{"/assets/a-1.js", "go()", "z1"}, {"/index.html", "<html>", "z2"}};

const api::RestService& Service() {
  static const api::RestService service({}, {}, WebPages(kFiles));
  return service;
}

api::HttpResponse Get(std::string_view target, std::string_view accept_encoding = "") {
  auto answer =
      Service().Handle({.verb = "GET", .target = target, .accept_encoding = accept_encoding});
  return std::get<api::HttpResponse>(std::move(answer));
}

TEST(WebPages, ServesTheIndexAtTheRoot) {
  EXPECT_EQ(Get("/").body, "<html>");
  EXPECT_EQ(Get("/index.html").body, "<html>");
  EXPECT_EQ(Get("/?x=1").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(Get("/", "gzip").body, "z2");
  EXPECT_EQ(Get("/assets/b.js").status, 404);
}

TEST(WebPages, BrowsersKeepFilesWithAHashInTheirName) {
  EXPECT_EQ(Get("/assets/a-1.js").cache_control, "public, max-age=31536000, immutable");
  EXPECT_EQ(Get("/assets/a-1.js").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(Get("/").cache_control, "no-cache");
  EXPECT_NE(Get("/").etag, Get("/assets/a-1.js").etag);
}

TEST(WebPages, ForbidInlineScriptsFramesAndOtherSites) {
  const std::string text = api::ResponseText(Get("/"), {});
  EXPECT_THAT(text, HasSubstr("Content-Security-Policy: default-src 'self'; "));
  EXPECT_THAT(text, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(text, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("unsafe-inline")));
}

// The limit of the files that a browser loads, in gzip.
TEST(WebFiles, AreComplete) {
  constexpr std::size_t kBytesMax = 120'000;
  bool has_index = false;
  std::size_t bytes = 0;
  for (const File& file : Files()) {
    has_index = has_index || file.path == "/index.html";
    EXPECT_FALSE(file.body.empty()) << file.path;
    EXPECT_TRUE(file.gzip_body.starts_with("\x1f\x8b")) << file.path;
    bytes += file.gzip_body.size();
  }
  EXPECT_TRUE(has_index);
  EXPECT_LE(bytes, kBytesMax);
}

}  // namespace
}  // namespace fabric::web
