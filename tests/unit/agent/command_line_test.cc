#include "agents/command_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "base/version.h"

namespace fabric::agent {
namespace {

Result<CommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "fabric-agent");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

TEST(CommandLine, KnowsTheCommandsAndTheirOptions) {
  EXPECT_EQ(Parse({"inspect"})->command, Command::kInspect);
  EXPECT_EQ(Parse({"inspect"})->root, "/");
  EXPECT_EQ(Parse({"inspect", "-o", "json", "--root", "tree"})->output, "json");
  EXPECT_EQ(Parse({"inspect"})->output, "table");
  EXPECT_EQ(Parse({"nccl-env"})->output, "env");
  EXPECT_EQ(Parse({"nccl-env"})->command, Command::kNcclEnv);
  EXPECT_EQ(Parse({"inspect", "-o", "json", "--root", "tree"})->root, "tree");
  EXPECT_TRUE(Parse({"ibdev2netdev", "-v"})->verbose);
  EXPECT_EQ(Parse({"metrics"})->command, Command::kMetrics);
  EXPECT_EQ(Parse({"version"})->command, Command::kVersion);
  for (const auto& words : {std::vector<const char*>{"--version"}, {"inspect", "--version"}}) {
    const auto line = Parse(words);
    ASSERT_TRUE(line.ok()) << line.status().message();
    EXPECT_EQ(line->command, Command::kHelp);
    EXPECT_EQ(line->help, Format("fabric-agent {}\n", kVersion));
  }
  EXPECT_NE(Parse({"--help"})->help.find("ibdev2netdev"), std::string::npos);
}

TEST(CommandLine, HelpNamesEveryOptionWithItsDefault) {
  const std::string help = Parse({"inspect", "--help"})->help;
  EXPECT_NE(help.find("Usage: fabric-agent inspect [options]"), std::string::npos) << help;
  EXPECT_NE(help.find("-o, --output table|json|yaml"), std::string::npos) << help;
  EXPECT_NE(help.find("Default: table."), std::string::npos) << help;
}

TEST(CommandLine, LeavesTheWordsAfterRunToTheSettings) {
  const auto line = Parse({"run", "--controller", "a:1", "--help"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->command, Command::kRun);
  EXPECT_EQ(line->rest, (std::vector<std::string>{"--controller", "a:1", "--help"}));
}

TEST(CommandLine, WhatCannotBeMeantIsOneLineThatNamesIt) {
  for (const auto& [words, named] : std::vector<std::pair<std::vector<const char*>, const char*>>{
           {{},
            "expected one of run, inspect, ibdev2netdev, metrics, nccl-env, subnet, doctor, "
            "version"},
           {{"inspekt"}, "unknown command 'inspekt'; did you mean 'inspect'?"},
           {{"-x"}, "unknown option '-x'; see fabric-agent --help"},
           {{"inspect", "--rot", "x"}, "unknown option '--rot'; did you mean '--root'?"},
           {{"inspect", "--netns", "1", "--pod", "x"}, "expected either --netns or --pod"},
           {{"inspect", "--lldp-wait", "601"}, "--lldp-wait: expected at most 600, saw '601'"},
           {{"inspect", "-o", "xml"}, "xml"},
           {{"inspect", "--netns", ""}, "--netns: expected PID|NAME|FILE, saw ''"},
           {{"inspect", "--pod", ""}, "--pod: expected UID|NAMESPACE/NAME, saw ''"},
           {{"inspect", "--pod", "ml/train-0"},
            "--cri-socket: expected a socket, because --pod 'ml/train-0' is a name, saw none"},
           {{"inspect", "--root"}, "--root"}}) {
    const auto line = Parse(words);
    ASSERT_FALSE(line.ok());
    EXPECT_NE(line.status().message().find(named), std::string::npos) << line.status().message();
    EXPECT_EQ(line.status().message().find('\n'), std::string::npos) << line.status().message();
  }
}

}  // namespace
}  // namespace fabric::agent
