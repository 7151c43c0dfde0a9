#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/log_settings.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr Option kSettings[] = {kLogLevelSetting, kLogFormatSetting};

// The log of a program with this format: an info line that is not printed, and a warning.
std::string Logged(const std::string& format, std::string_view line, const log::Fields& fields) {
  static int programs = 0;
  Values settings(kSettings);
  EXPECT_TRUE(settings.Set("log-level", "warning").ok());
  EXPECT_TRUE(settings.Set("log-format", format).ok());
  ::testing::internal::CaptureStderr();
  log::Init("program" + std::to_string(++programs), settings);
  log::Info("not printed");
  log::Write(log::Level::kWarning, line, fields);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, TextIsOneLineWithoutFields) {
  EXPECT_THAT(
      Logged("text", "node n1 lost", {{"node", "n1"}}),
      MatchesRegex("[0-9]+-..-..T..:..:......[-+]..:.. program[0-9]+ warning node n1 lost\n"));
}

TEST(Log, JsonIsOneObjectOnALine) {
  const std::string text =
      Logged("json", "100 % of \"n1\"\nis\xff lost\\ {}", {{"node", "n\"1"}, {"rule", "a\nb"}});
  ASSERT_EQ(text.find('\n'), text.size() - 1) << text;
  const json line = json::parse(text);
  EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex("[0-9]+-..-..T..:..:......[-+]..:.."));
  EXPECT_EQ(line["level"], "warning");
  EXPECT_THAT(line["program"].get<std::string>(), HasSubstr("program"));
  EXPECT_EQ(line["message"], "100 % of \"n1\"\nis\uFFFD lost\\ {}");
  EXPECT_EQ(line["fields"], json({{"node", "n\"1"}, {"rule", "a\nb"}}));
}

TEST(Log, JsonWithoutFieldsHasNone) {
  const json line = json::parse(Logged("json", "started", {}));
  EXPECT_EQ(line["message"], "started");
  EXPECT_FALSE(line.contains("fields"));
}

// What journald gets from a unit: standard error is a stream to its socket.
std::string LoggedToTheJournal(const std::string& format) {
  testing::TempTree tree;
  tree.Directory("run/systemd/journal");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (tree.path() + "/run/systemd/journal/stdout")
      .copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  const int journal = socket(AF_UNIX, SOCK_STREAM, 0);
  const int unit = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(journal, at, sizeof(address)), 0);
  EXPECT_EQ(listen(journal, 1), 0);
  EXPECT_EQ(connect(unit, at, sizeof(address)), 0);
  const int accepted = accept(journal, nullptr, nullptr);
  const int before = dup(STDERR_FILENO);
  dup2(unit, STDERR_FILENO);
  Values settings(kSettings);
  EXPECT_TRUE(settings.Set("log-level", "debug").ok());
  EXPECT_TRUE(settings.Set("log-format", format).ok());
  log::Init("unit-" + format, settings);
  for (const log::Level level :
       {log::Level::kDebug, log::Level::kInfo, log::Level::kWarning, log::Level::kError})
    log::Write(level, "line");
  log::Plain(stderr, log::Level::kError, "plain");
  dup2(before, STDERR_FILENO);
  char text[4096];
  const ssize_t size = read(accepted, text, sizeof(text));
  for (const int file : {journal, unit, accepted, before}) close(file);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

TEST(Log, LinesToTheJournalBeginWithTheirPriority) {
  EXPECT_THAT(LoggedToTheJournal("text"),
              MatchesRegex("<7>2[^\n]+ debug line\n<6>2[^\n]+ info line\n<4>2[^\n]+ warning "
                           "line\n<3>2[^\n]+ error line\n<3>plain\n"));
  EXPECT_THAT(LoggedToTheJournal("json"),
              MatchesRegex("<7>\\{[^\n]+\n<6>\\{[^\n]+\n<4>\\{[^\n]+\n<3>\\{[^\n]+line\"\\}\n"
                           "<3>\\{[^\n]+plain\"\\}\n"));
}

TEST(Log, PlainLinesAreObjectsWithJsonOnly) {
  Logged("text", "first", {});
  ::testing::internal::CaptureStdout();
  log::Plain(stdout, log::Level::kError, "listening");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "listening\n");
  Logged("json", "first", {});
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  log::Plain(stdout, log::Level::kError, "listening");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(json::parse(::testing::internal::GetCapturedStderr())["message"], "listening");
}

}  // namespace
}  // namespace fabric
