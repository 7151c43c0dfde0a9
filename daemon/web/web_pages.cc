#include "daemon/web/web_pages.h"

#include <string>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "daemon/web/content_types.h"

namespace fabric::web {
namespace {

// Everything comes from this server; no other site may show the page in a frame.
constexpr std::string_view kSecurityHeaders =
    "Content-Security-Policy: default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n";

api::Page PageOf(const File& file, std::string path) {
  const bool hashed = file.path.starts_with("/assets/");
  api::HttpResponse response{
      .content_type = std::string(ContentTypeOf(file.path)),
      .cache_control = hashed ? "public, max-age=31536000, immutable" : "no-cache",
      .headers = std::string(kSecurityHeaders),
      .etag = Format("\"{:016x}\"", Fnv(file.body)),
      .gzip_body = file.gzip_body};
  return {std::move(path), [response, body = file.body] {
            api::HttpResponse answer = response;
            answer.body = body;
            return answer;
          }};
}

}  // namespace

std::vector<api::Page> WebPages(std::span<const File> files) {
  std::vector<api::Page> pages;
  for (const File& file : files) {
    pages.push_back(PageOf(file, std::string(file.path)));
    if (file.path == "/index.html") pages.push_back(PageOf(file, "/"));
  }
  return pages;
}

}  // namespace fabric::web
