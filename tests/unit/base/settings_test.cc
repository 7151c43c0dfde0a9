#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Option kTable[] = {
    {.name = "config", .type = OptionType::kPath, .doc = "Configuration file."},
    {.name = "grpc", .type = OptionType::kAddress, .fallback = "127.0.0.1:9418", .doc = "API."},
    {.name = "lost-after",
     .type = OptionType::kDuration,
     .fallback = "3s",
     .min = "100ms",
     .max = "1h",
     .doc = "Silence."},
    {.name = "pairs", .type = OptionType::kNumber, .min = "1", .max = "64", .doc = "At once."},
    {.name = "log-level", .fallback = "info", .choices = "debug|info", .doc = "Log lines."},
    {.name = "quiet", .type = OptionType::kBool, .doc = "Say less."},
    {.name = "state", .type = OptionType::kPath, .doc = "Where state is kept."},
};

Result<Settings> Load(std::vector<const char*> args) {
  return Settings::Load(kTable, args);
}

std::string YamlError(std::string_view yaml) {
  return Settings(kTable).ReadYaml(yaml, "f.yaml").message();
}

TEST(Settings, DefaultsHoldWithoutFlagsAndFile) {
  const auto settings = Load({});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->Address("grpc"), (HostPort{"127.0.0.1", 9418}));
  EXPECT_EQ(settings->Duration("lost-after"), 3s);
  EXPECT_EQ(settings->Text("log-level"), "info");
  EXPECT_FALSE(settings->Bool("quiet"));
  EXPECT_FALSE(settings->Has("pairs"));
  EXPECT_EQ(settings->request(), Request::kRun);
}

TEST(Settings, TheCommandLineWinsOverTheFileWhichWinsOverTheDefault) {
  testing::TempTree tree;
  const std::string path = tree.path() + "/f.yaml";
  tree.File("f.yaml", "lost-after: 5s\ngrpc: '[::1]:7'\nquiet: true\n");
  const auto settings = Load({"--lost-after=7s", "--config", path.c_str(), "--pairs", "9"});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->Duration("lost-after"), 7s);
  EXPECT_EQ(settings->Address("grpc"), (HostPort{"::1", 7}));
  EXPECT_EQ(settings->Number("pairs"), 9);
  EXPECT_TRUE(settings->Bool("quiet"));
}

TEST(Settings, BadFlagsNameTheFlagAndWhatWasExpected) {
  struct Row {
    std::vector<const char*> args;
    const char* message;
  };
  for (const Row& row : std::vector<Row>{
           {{"--los-after", "1s"}, "unknown option '--los-after'; did you mean '--lost-after'?"},
           {{"--zzz"}, "unknown option '--zzz'; see --help"},
           {{"serve"}, "unexpected argument 'serve'; see --help"},
           {{"--lost-after"}, "--lost-after needs a value: DURATION"},
           {{"--lost-after", "50ms"}, "--lost-after: expected at least 100ms, saw '50ms'"},
           {{"--pairs", "65"}, "--pairs: expected at most 64, saw '65'"},
           {{"--pairs", "many"}, "--pairs: expected a number, saw 'many'"},
           {{"--log-level", "loud"}, "--log-level: expected one of debug, info, saw 'loud'"},
           {{"--quiet=perhaps"}, "--quiet: expected true or false, saw 'perhaps'"},
           {{"--state", ""}, "--state: expected FILE, saw ''"},
           {{"--quiet", "--quiet"}, "--quiet is given twice"}}) {
    const auto settings = Load(row.args);
    ASSERT_FALSE(settings.ok()) << row.message;
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(settings.status().message(), row.message);
  }
}

TEST(Settings, BadYamlNamesFileLineAndColumn) {
  EXPECT_EQ(YamlError("grpc: 127.0.0.1:1\nlost_after: 1s\n"),
            "f.yaml:2:1: unknown setting 'lost_after'; did you mean 'lost-after'?");
  EXPECT_EQ(YamlError("pairs: many"), "f.yaml:1:8: pairs: expected a number, saw 'many'");
  EXPECT_EQ(YamlError("\npairs: [1, 2]"), "f.yaml:2:8: pairs: expected NUMBER, saw a list");
  EXPECT_EQ(YamlError("pairs: {a: 1}"), "f.yaml:1:8: pairs: expected NUMBER, saw a map");
  EXPECT_EQ(YamlError("pairs:"), "f.yaml:1:1: pairs: expected NUMBER, saw nothing");
  EXPECT_EQ(YamlError("pairs: 1\npairs: 2"), "f.yaml:2:1: 'pairs' is given twice");
  EXPECT_EQ(YamlError("config: x"), "f.yaml:1:1: 'config' can be given on the command line only");
  EXPECT_EQ(YamlError("just words"), "f.yaml:1:1: expected lines 'name: value', saw 'just words'");
  EXPECT_THAT(YamlError("pairs: 1\n  grpc: x: y"), HasSubstr("f.yaml:2:"));
  EXPECT_THAT(YamlError("[a"), HasSubstr("f.yaml:1:"));
  EXPECT_EQ(YamlError(""), "");
  EXPECT_EQ(YamlError("# nothing\n"), "");
}

TEST(Settings, AMissingFileIsNamed) {
  const auto settings = Load({"--config", "/nowhere/f.yaml"});
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), Code::kNotFound);
  EXPECT_THAT(settings.status().message(), HasSubstr("/nowhere/f.yaml"));
}

TEST(Settings, PrintedConfigurationReadsBack) {
  const auto settings =
      Load({"--lost-after=7s", "--state", "a b: \"c\"", "--quiet", "--print-config"});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->request(), Request::kPrintConfig);
  const std::string printed = settings->Print();
  EXPECT_THAT(printed, HasSubstr("# Silence.\nlost-after: 7s  # command line\n"));
  EXPECT_THAT(printed, HasSubstr("grpc: 127.0.0.1:9418  # default\n"));
  Settings again(kTable);
  const Status status = again.ReadYaml(printed, "printed");
  ASSERT_TRUE(status.ok()) << status.message() << "\n" << printed;
  EXPECT_EQ(again.Duration("lost-after"), 7s);
  EXPECT_EQ(again.Text("state"), "a b: \"c\"");
  EXPECT_TRUE(again.Bool("quiet"));
  EXPECT_FALSE(again.Has("pairs"));
}

TEST(Settings, HelpAndVersionNeedNothingElse) {
  EXPECT_EQ(Load({"--help", "--nonsense"})->request(), Request::kHelp);
  EXPECT_EQ(Load({"-h"})->request(), Request::kHelp);
  EXPECT_EQ(Load({"--version"})->request(), Request::kShowVersion);
  EXPECT_THAT(SettingsHelp("fabricd", "", kTable), HasSubstr("--lost-after DURATION"));
}

TEST(Settings, ARequiredOneIsAskedFor) {
  constexpr Option kNeeds[] = {{.name = "controller",
                                .type = OptionType::kAddress,
                                .doc = "The controller.",
                                .required = true}};
  const auto settings = Settings::Load(kNeeds, {});
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message(), "--controller HOST:PORT is required: The controller.");
}

}  // namespace
}  // namespace fabric
