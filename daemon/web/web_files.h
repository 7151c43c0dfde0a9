// Files of the web page (folder web/dist) as they are part of the program: cmake/FabricEmbed.cmake.
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

std::vector<File> Files();

}  // namespace fabric::web
