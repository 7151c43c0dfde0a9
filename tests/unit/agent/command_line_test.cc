#include "agents/command_line.h"

#include <gtest/gtest.h>

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
  EXPECT_NE(Parse({"--help"})->help.find("ibdev2netdev"), std::string::npos);
}

TEST(CommandLine, LeavesTheWordsAfterRunToTheSettings) {
  const auto line = Parse({"run", "--controller", "a:1", "--help"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->command, Command::kRun);
  EXPECT_EQ(line->rest, (std::vector<std::string>{"--controller", "a:1", "--help"}));
}

TEST(CommandLine, WhatCannotBeMeantIsOneLineThatNamesIt) {
  for (const auto& [words, named] : std::vector<std::pair<std::vector<const char*>, const char*>>{
           {{}, "expected a command: run, inspect"},
           {{"inspekt"}, "did you mean inspect?"},
           {{"-x"}, "'-x': no such command"},
           {{"inspect", "--rot", "x"}, "--rot"},
           {{"inspect", "-o", "xml"}, "xml"},
           {{"inspect", "--netns", ""}, "--netns: must not be empty"},
           {{"inspect", "--pod", ""}, "--pod: must not be empty"},
           {{"inspect", "--root"}, "--root"}}) {
    const auto line = Parse(words);
    ASSERT_FALSE(line.ok());
    EXPECT_NE(line.status().message().find(named), std::string::npos) << line.status().message();
    EXPECT_EQ(line.status().message().find('\n'), std::string::npos) << line.status().message();
  }
}

}  // namespace
}  // namespace fabric::agent
