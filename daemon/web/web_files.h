// Files that are part of the program: cmake/FabricEmbed.cmake.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace fabric::web {

struct File {
  std::string_view path;  // "/index.html", "/assets/index-1a2b3c.js"
  std::string_view body;
  std::string_view gzip_body;
};

// The web page: folder web/dist.
std::vector<File> Files();

// docs/reference/openapi.json, which api_reference generates.
std::vector<File> ApiDescription();

}  // namespace fabric::web
