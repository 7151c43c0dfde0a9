#include "tests/tools/api_reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/testing/paths.h"

namespace fabric::api {
namespace {

TEST(ApiReference, PagesAreCurrent) {
  const std::string root(testing::kSourceDir);
  const std::string descriptors = std::string(testing::kBinaryDir) + "/fabric_api.descriptors";
  for (const GeneratedPage& page : ApiReferencePages(descriptors)) {
    std::ifstream file(root + "/docs/reference/" + page.name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(text == page.text)
        << "docs/reference/" << page.name
        << " is stale; run: build/<preset>/bin/api_reference docs/reference";
  }
}

}  // namespace
}  // namespace fabric::api
