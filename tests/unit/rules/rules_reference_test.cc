#include "tests/tools/rules_reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/testing/paths.h"

namespace fabric::rules {
namespace {

TEST(RulesReference, IsWhatTheCatalogSays) {
  std::ifstream file(std::string(testing::kSourceDir) + "/docs/reference/RULES.md");
  ASSERT_TRUE(file) << "docs/reference/RULES.md is missing";
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), RulesReference())
      << "run: build/<preset>/bin/rules_reference > docs/reference/RULES.md";
}

}  // namespace
}  // namespace fabric::rules
