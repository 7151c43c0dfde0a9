#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/log_settings.h"

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
