// Content types of files by the end of their name.
#pragma once

#include <string_view>
#include <utility>

namespace fabric::web {

inline constexpr std::pair<std::string_view, std::string_view> kContentTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
};

// Empty for other files.
constexpr std::string_view ContentTypeOf(std::string_view path) {
  for (const auto& [end, type] : kContentTypes)
    if (path.ends_with(end)) return type;
  return {};
}

}  // namespace fabric::web
