#include "tests/testing/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "tests/testing/paths.h"

namespace fabric::testing {
namespace {

std::string FirstDifference(std::string_view expected, std::string_view seen) {
  const auto want = Split(expected, '\n');
  const auto have = Split(seen, '\n');
  for (std::size_t line = 0; line < std::max(want.size(), have.size()); ++line) {
    const std::string_view a = line < want.size() ? want[line] : "(end of the file)";
    const std::string_view b = line < have.size() ? have[line] : "(end of the text)";
    if (a != b || line >= want.size() || line >= have.size())
      return Format("line {}:\n  expected |{}|\n  seen     |{}|", line + 1, a, b);
  }
  return "no line differs";
}

}  // namespace

bool UpdatesGoldens() {
  const char* const update = std::getenv("FABRIC_GOLDEN_UPDATE");  // NOLINT(concurrency-mt-unsafe)
  return update != nullptr && std::string_view(update) == "1";
}

::testing::AssertionResult MatchesGolden(const std::string& name, std::string_view text) {
  const auto path = std::filesystem::path(kSourceDir) / "tests/golden" / (name + ".txt");
  if (UpdatesGoldens()) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return ::testing::AssertionSuccess();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return ::testing::AssertionFailure()
           << path.string() << ": cannot be opened; FABRIC_GOLDEN_UPDATE=1 writes it";
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() == text) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << path.string() << ": " << FirstDifference(expected.str(), text)
         << "\nFABRIC_GOLDEN_UPDATE=1 accepts the new text";
}

}  // namespace fabric::testing
