#include "daemon/web/web_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/web/manual.h"
#include "tests/testing/temp_tree.h"

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

using testing::TempTree;

class Manual : public ::testing::Test {
 protected:
  Manual() {
    tree_.File("manual/index.html", "<html>")
        .File("manual/style.css", "a {}")
        .File("manual/runbooks/A.html", "<p>")
        .File("manual/.git/config.html", "hidden")
        .File("manual/build.py", "print()")
        .File("secret.html", "secret")
        .Link("manual/link.html", "../secret.html")
        .Link("manual/up", "..");
  }

  api::HttpResponse GetDocs(std::string_view target) const {
    const api::RestService service({}, {}, *ReadManual(tree_.path() + "/manual"));
    return std::get<api::HttpResponse>(service.Handle({.verb = "GET", .target = target}));
  }

  TempTree tree_;
};

TEST_F(Manual, IsServedBelowDocs) {
  EXPECT_EQ(GetDocs("/docs/").body, "<html>");
  EXPECT_EQ(GetDocs("/docs/index.html").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(GetDocs("/docs/runbooks/A.html").body, "<p>");
  EXPECT_EQ(GetDocs("/docs/style.css").content_type, "text/css; charset=utf-8");
  EXPECT_EQ(GetDocs("/docs").status, 301);
  EXPECT_THAT(GetDocs("/docs").headers, HasSubstr("Location: /docs/\r\n"));
  EXPECT_THAT(GetDocs("/docs/").headers,
              HasSubstr("Content-Security-Policy: default-src 'none'; style-src 'self'; "));
}

TEST_F(Manual, HasNothingElse) {
  for (const char* path :
       {"/docs/link.html", "/docs/up/secret.html", "/docs/../secret.html",
        "/docs/%2e%2e/secret.html", "/docs/..%2fsecret.html", "/docs//etc/passwd",
        "/docs/.git/config.html", "/docs/build.py", "/docs/runbooks/", "/secret.html"})
    EXPECT_EQ(GetDocs(path).status, 404) << path;
}

TEST_F(Manual, IsOptionalButMustBeAManual) {
  const api::RestService without({}, {}, *ReadManual(""));
  const auto answer =
      std::get<api::HttpResponse>(without.Handle({.verb = "GET", .target = "/docs/"}));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("setting 'manual'"));
  EXPECT_THAT(ReadManual(tree_.path()).status().message(), HasSubstr("expected an index.html"));
  EXPECT_FALSE(ReadManual(tree_.path() + "/missing").ok());
}

}  // namespace
}  // namespace fabric::web
