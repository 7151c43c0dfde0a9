// docs/reference/API.md, openapi.json and SETTINGS.md, made of the .proto files with their comments
// and of the tables of settings and metrics.
#pragma once

#include <string>
#include <vector>

namespace fabric::api {

struct GeneratedPage {
  std::string name;  // "API.md"
  std::string text;
};

// `descriptors` is a file that protoc wrote with --include_imports and --include_source_info.
// Aborts when it cannot be read, or when tests/tools/api_examples.json lacks an example.
std::vector<GeneratedPage> ApiReferencePages(const std::string& descriptors);

}  // namespace fabric::api
