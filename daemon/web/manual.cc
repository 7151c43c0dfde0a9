#include "daemon/web/manual.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/input.h"
#include "base/text.h"
#include "daemon/api/rest/negotiation.h"
#include "daemon/web/content_types.h"

namespace fabric::web {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRoot = "/docs/";
constexpr std::size_t kBytesMax = 16 << 20;
constexpr std::size_t kFilesMax = 4096;

// No scripts; styles and images of this server only.
constexpr std::string_view kHeaders =
    "Content-Security-Policy: default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n";

// Paths relative to the folder: "runbooks/FabricNodeLost.html".
Result<std::vector<std::string>> FilesOf(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(folder, error);
  for (const auto end = fs::recursive_directory_iterator(); !error && entries != end;
       entries.increment(error)) {
    const bool hidden = entries->path().filename().string().starts_with(".");
    if (hidden && entries->is_directory(error)) entries.disable_recursion_pending();
    if (hidden || entries->symlink_status(error).type() != fs::file_type::regular) continue;
    if (ContentTypeOf(entries->path().native()).empty()) continue;
    if (files.size() == kFilesMax)
      return Status(Code::kResourceExhausted,
                    Format("{}: expected at most {} files", folder, kFilesMax));
    files.push_back(entries->path().lexically_relative(folder).generic_string());
  }
  if (error) return FromErrno(error.value(), folder);
  std::ranges::sort(files);
  return files;
}

api::Page PageOf(std::string path, std::string_view file, std::string body) {
  api::HttpResponse response{.content_type = std::string(ContentTypeOf(file)),
                             .cache_control = "no-cache",
                             .headers = std::string(kHeaders),
                             .etag = api::WeakTag(body),
                             .compress = !file.ends_with(".png")};
  response.body = std::move(body);
  return {std::move(path), [response = std::move(response)] { return response; }};
}

// Links of the manual are relative, so the path of the index must end with a slash.
api::Page Redirect() {
  return {"/docs", [] {
            return api::HttpResponse{
                .status = 301, .content_type = {}, .headers = Format("Location: {}\r\n", kRoot)};
          }};
}

// The web page links to the manual, also where there is none.
api::Page NoManual() {
  return {std::string(kRoot), [] {
            return api::HttpResponse{
                .status = 404,
                .content_type = "text/plain; charset=utf-8",
                .body = "This controller has no manual: its setting 'manual' is not set.\n"};
          }};
}

}  // namespace

Result<std::vector<api::Page>> ReadManual(const std::string& folder) {
  std::vector<api::Page> pages;
  if (folder.empty()) {
    pages.push_back(NoManual());
    pages.push_back(Redirect());
    return pages;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(folder));
  if (!std::ranges::binary_search(files, "index.html"))
    return Status(
        Code::kInvalidArgument,
        Format("{}: expected an index.html, as deploy/manual/build.py writes it", folder));
  std::size_t left = kBytesMax;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(std::string body, ReadFile(Format("{}/{}", folder, file), left));
    left -= body.size();
    if (file == "index.html") pages.push_back(PageOf(std::string(kRoot), file, body));
    pages.push_back(PageOf(std::string(kRoot) + file, file, std::move(body)));
  }
  pages.push_back(Redirect());
  return pages;
}

}  // namespace fabric::web
