// The first cause of real lines of drivers and libraries, each alone: healthy lines have none, and
// an error that no table knows is said to be unknown.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/paths.h"
#include "tests/unit/explain/explained.h"

namespace fabric::explain {
namespace {

std::string VerdictOn(std::string_view log) {
  const v1::LogExplanation explanation = Explained(log);
  if (!explanation.causes().empty()) return explanation.causes(0).id();
  if (!explanation.problems().empty()) return "problem without cause";
  return explanation.notes().empty() ? "none" : "unknown";
}

TEST(Line, AloneHasItsFirstCause) {
  std::ifstream file(std::string(fabric::testing::kSourceDir) + "/tests/fixtures/logs/lines.tsv");
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (line.starts_with('#') || tab == std::string::npos) continue;
    ++lines;
    EXPECT_EQ(VerdictOn(line.substr(tab + 1) + "\n"), line.substr(0, tab)) << line.substr(tab + 1);
  }
  EXPECT_GT(lines, 100);
}

TEST(Line, UnknownErrorsAreCountedAndTheFirstIsQuoted) {
  const v1::LogExplanation explanation = Explained(
      "healthy\n[ 1.1] mlx5_core 0000:08:00.0: new thing failed\nNCCL WARN another new thing\n");
  ASSERT_EQ(explanation.notes_size(), 1);
  EXPECT_EQ(explanation.notes(0),
            "Lines that look like errors and are not known to this program, so that no cause is "
            "named for them: 2. The first is job.log:2: [ 1.1] mlx5_core 0000:08:00.0: new thing "
            "failed");
}

// Ports without a cable say "Link down" when a machine starts.
TEST(Line, LinkThatHasNotBeenUpSinceTheBootWasNotLost) {
  constexpr std::string_view kDown = "mlx5_core 0000:1b:00.0 ens1f0np0: Link down\n";
  constexpr std::string_view kUp = "mlx5_core 0000:1b:00.0 ens1f0np0: Link up\n";
  EXPECT_EQ(VerdictOn(std::string("[   20.100000] ").append(kDown)), "none");
  EXPECT_EQ(VerdictOn(std::string("[  900.100000] ").append(kDown)), "link_unstable");
  EXPECT_EQ(
      VerdictOn(std::string("[   20.100000] ").append(kUp).append("[   30.100000] ").append(kDown)),
      "link_unstable");
  const std::string boot = "2026-10-03T05:58:00-0400 h kernel: Linux version 6.1.0\n";
  EXPECT_EQ(VerdictOn(boot + "2026-10-03T05:58:20-0400 h kernel: " + std::string(kDown)), "none");
  EXPECT_EQ(VerdictOn(boot + "2026-10-03T06:58:20-0400 h kernel: " + std::string(kDown)),
            "link_unstable");
  // The link of another host was up.
  EXPECT_EQ(VerdictOn("2026-10-03T05:58:10-0400 g kernel: " + std::string(kUp) + boot +
                      "2026-10-03T05:58:20-0400 h kernel: " + std::string(kDown)),
            "none");
}

}  // namespace
}  // namespace fabric::explain
