// Comparison of texts with files under tests/golden.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fabric::testing {

// FABRIC_GOLDEN_UPDATE=1 is set: tests write expected files instead of comparing them.
bool UpdatesGoldens();

// Compares `text` with tests/golden/<name>.txt; on a difference the message holds the first line
// that differs. With FABRIC_GOLDEN_UPDATE=1 in the environment the file is written instead:
//   EXPECT_TRUE(MatchesGolden("agent/h100_inspect", text));
::testing::AssertionResult MatchesGolden(const std::string& name, std::string_view text);

}  // namespace fabric::testing
