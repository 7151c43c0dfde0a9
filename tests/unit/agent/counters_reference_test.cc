#include "tests/tools/counters_reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/testing/paths.h"

namespace fabric::inspect {
namespace {

TEST(CountersReference, IsWhatTheTablesSay) {
  std::ifstream file(std::string(testing::kSourceDir) + "/docs/reference/COUNTERS.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), CountersReference())
      << "run: build/<preset>/bin/counters_reference > docs/reference/COUNTERS.md";
}

}  // namespace
}  // namespace fabric::inspect
