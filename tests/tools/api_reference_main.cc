// api_reference DIRECTORY: writes API.md, openapi.json, SETTINGS.md and BOUNDS.md there.
#include <cstdio>
#include <fstream>

#include "tests/testing/paths.h"
#include "tests/tools/api_reference.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: api_reference docs/reference\n", stderr);
    return 2;
  }
  const std::string binary_dir(fabric::testing::kBinaryDir);
  for (const auto& page : fabric::api::ApiReferencePages(binary_dir + "/fabric_api.descriptors")) {
    const std::string path = std::string(argv[1]) + "/" + page.name;
    std::ofstream file(path);
    file << page.text;
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
