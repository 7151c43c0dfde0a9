// What is common to all commands: the command line, errors, colours, help.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "base/command_line.h"
#include "base/text.h"
#include "ctl/help.h"
#include "tests/testing/golden.h"
#include "tests/testing/paths.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;

struct Mistake {
  std::string_view words;
  std::string_view err;
};

void ExpectErrors(std::span<const Mistake> mistakes) {
  for (const Mistake& mistake : mistakes) {
    FakeController controller;
    const Said said = RunWords(mistake.words, controller);
    EXPECT_EQ(said.err, "fabricctl: " + std::string(mistake.err) + "\n") << mistake.words;
    EXPECT_EQ(said.status, kExitUsage) << mistake.words;
    EXPECT_EQ(said.out, "") << mistake.words;
  }
}

TEST(CommandLine, MistakesNameTheWordAndWhatWasExpected) {
  constexpr Mistake kMistakes[] = {
      {"",
       "expected one of status, diagnose, nodes, node, diff, devices, port, ibdev2netdev, "
       "top, topology, nccl-env, findings, finding, silence, remedy, rules, validate, check, "
       "explain, "
       "profile, probe, schedule, matrix, certify, mesh, backup, reload, settings, support-bundle, "
       "whoami, login, token, join-token, join-request, join-certificates, audit, pki, "
       "events, completion, config, explain-log, subnet, version; see fabricctl --help"},
      {"ndoes", "unknown command 'ndoes'; did you mean 'nodes'?"},
      {"frobnicate", "unknown command 'frobnicate'; see fabricctl --help"},
      {"probe",
       "expected one of plan, run, recheck, list, cancel, show; see fabricctl probe --help"},
      {"probe rn", "unknown command 'probe rn'; did you mean 'run'?"},
      {"nodes extra", "unexpected argument 'extra'; did you mean 'node extra'?"},
      {"node", "NAME is required; see fabricctl node --help"},
      {"findings --nod n1", "unknown option '--nod'; did you mean '--node'?"},
      {"findings --frobnicate", "unknown option '--frobnicate'; see fabricctl findings --help"},
      {"nodes -x", "unknown option '-x'; see fabricctl nodes --help"},
      {"findings --node", "--node needs a value: LIST|SELECTOR|@FILE|-"},
      {"findings --all=maybe", "--all: expected true or false, saw 'maybe'"},
      {"findings --node=", "--node: expected LIST|SELECTOR|@FILE|-, saw ''"},
      {"nodes -o jsn",
       "--output: expected one of table, wide, json, yaml, name, jsonl, csv, saw 'jsn'; did you "
       "mean 'json'?"},
      {"nodes --timeout 10", "--timeout: expected a duration such as 500ms, 10s or 1.5h, saw '10'"},
      {"nodes --timeout 0s", "--timeout: expected at least 1ms, saw '0s'"},
      {"probe run --rails 0,x", "--rails: expected a number, saw 'x'"},
      {"probe run --iterations 5000000000", "--iterations: expected a number, saw '5000000000'"},
      {"probe run --bytes 5000000000", "--bytes: expected at most 1GiB, saw '5000000000'"},
      {"probe run --bytes 2G", "--bytes: expected at most 1GiB, saw '2G'"},
      {"probe run --bytes 64KB",
       "--bytes: expected a size in bytes such as 4096, 64KiB or 8M, saw '64KB'"},
      {"probe run --iterations 0", "--iterations: expected at least 1, saw '0'"},
      {"probe run --kind latency,,ping",
       "--kind: expected names between commas, saw 'latency,,ping'"},
      {"probe run --nodes n1,[",
       "--nodes: expected a list of nodes such as n1,n2 or gpu[001-016,20], saw '[': the bracket "
       "is not closed"},
      {"nodes --controller http://h:9419",
       "--controller: expected HOST:PORT of the gRPC listener (port 9418), without a scheme, saw "
       "'http://h:9419'"},
      {"nodes --controller h:0", "--controller: expected a port from 1 to 65535, saw 0"},
      {"nodes --controller h:99999",
       "--controller: expected HOST:PORT such as 127.0.0.1:9418 or [::1]:9418, saw 'h:99999': the "
       "port is not a number from 0 to 65535"},
      {"nodes --controller ::1:9418",
       "--controller: expected HOST:PORT such as 127.0.0.1:9418 or [::1]:9418, saw '::1:9418': an "
       "IPv6 address needs brackets"},
  };
  ExpectErrors(kMistakes);
}

TEST(CommandLine, HabitsFromOtherProgramsGetTheCommandHere) {
  constexpr Mistake kHabits[] = {
      {"get nodes", "unknown command 'get'; did you mean 'nodes'?"},
      {"get silences", "unknown command 'get'; did you mean 'silence list'?"},
      {"help findng", "unknown command 'findng'; did you mean 'finding'?"},
      {"help probe rn", "unknown command 'probe rn'; did you mean 'run'?"},
      {"get finding 6d1f", "unknown command 'get'; did you mean 'finding show'?"},
      {"describe node n1", "unknown command 'describe'; did you mean 'node'?"},
      {"delete nodes n1", "unknown command 'delete'; did you mean 'node remove'?"},
      {"create silence", "unknown command 'create'; did you mean 'silence add'?"},
      {"cancel probe c1", "unknown command 'cancel'; did you mean 'probe cancel'?"},
      {"get pods", "unknown command 'get'; see fabricctl --help"},
      {"certify n1", "unexpected argument 'n1'; did you mean --nodes n1?"},
      {"schedule add --cron x",
       "unknown option '--cron'; CRON has no option name: fabricctl schedule add CRON"},
      {"silence add", "--for and --reason are required; see fabricctl silence add --help"},
      {"diff n1", "expected --since DURATION or a second node or file, saw only 'n1'"},
  };
  ExpectErrors(kHabits);
}

TEST(CommandLine, OptionsStandAnywhere) {
  for (const std::string_view words :
       {"--controller [::1]:1 node n1 --timeout=500ms",
        "node --timeout 500ms --controller=[::1]:1 n1",
        "node n1 --timeout 1s --controller h:2 --timeout 500ms --controller [::1]:1",
        "node --timeout 500ms --controller [::1]:1 -- n1"}) {
    FakeController controller;
    EXPECT_EQ(RunWords(words, controller).status, kExitOk) << words;
    EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n1") << words;
    EXPECT_EQ(controller.options.controller, "[::1]:1") << words;
    EXPECT_EQ(controller.options.timeout, std::chrono::milliseconds(500)) << words;
  }
}

TEST(Controller, ComesFromTheOptionThenTheEnvironmentThenTheDefault) {
  FakeController controller;
  RunWords("nodes", controller);
  EXPECT_EQ(controller.options.controller, "127.0.0.1:9418");
  EXPECT_EQ(controller.options.timeout, std::chrono::seconds(10));
  RunWords("nodes", controller, {.controller = "env:1"});
  EXPECT_EQ(controller.options.controller, "env:1");
  RunWords("nodes --controller flag:1", controller, {.controller = "env:1"});
  EXPECT_EQ(controller.options.controller, "flag:1");
  EXPECT_EQ(RunWords("nodes", controller, {.controller = "env:"}).err,
            "fabricctl: FABRICCTL_CONTROLLER: expected HOST:PORT such as 127.0.0.1:9418 or "
            "[::1]:9418, saw 'env:': the port is not a number from 0 to 65535\n");
  RunWords("nodes --controller localhost", controller);
  EXPECT_EQ(controller.options.controller, "localhost:9418");
}

struct Failure {
  Code code;
  int status;
};

// As it stands on a command line.
std::string Required(const Option& option) {
  const std::string_view choice = option.choices.substr(0, option.choices.find('|'));
  if (IsOperand(option)) return Format(" {}", choice.empty() ? "x" : choice);
  if (!choice.empty()) return Format(" --{} {}", option.name, choice);
  return Format(" --{} {}", option.name, option.type == OptionType::kDuration ? "2h" : "x");
}

TEST(Failures, HaveTheirExitStatus) {
  constexpr Failure kFailures[] = {
      {Code::kUnavailable, kExitUnreachable},
      {Code::kDeadlineExceeded, kExitUnreachable},
      {Code::kPermissionDenied, kExitNotAllowed},
      {Code::kUnauthenticated, kExitNotAllowed},
      {Code::kInvalidArgument, kExitUsage},
      {Code::kNotFound, kExitError},
      {Code::kInternal, kExitError},
  };
  for (const Failure& failure : kFailures) {
    FakeController controller;
    controller.failure = Status(failure.code, "why");
    for (const Command* command : AllCommands()) {
      if (command->offline) continue;
      std::string words(command->path);
      for (const Option& option : command->options)
        if (option.required) words += Required(option);
      if (command->path == "diagnose") words += " n1";
      if (command->path == "node label") words += " n1";
      if (command->path == "port") words = "port n1/x";
      if (command->path == "schedule add") words += " 30";
      if (command->path == "silence add") words += " --node x";
      if (command->path == "node maintenance") words += " --end";
      if (command->path == "profile apply")
        words = Format("profile apply {}/deploy/profiles/iwarp.yaml", testing::kSourceDir);
      if (command->path == "subnet plan compare")
        words = Format("subnet plan compare {}/tests/fuzz/corpus/subnet_topology/small_tree",
                       testing::kSourceDir);
      controller.Answers<v1::Campaign>() = {v1::Campaign()};
      const Said said = RunWords(words, controller);
      EXPECT_EQ(said.status, failure.status) << words << CodeName(failure.code);
      EXPECT_TRUE(said.err.starts_with("fabricctl: why")) << said.err;
      EXPECT_EQ(said.out, "");
    }
  }
}

TEST(Failures, OfWritingAreSaid) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>().add_nodes()->set_name("n1");
  const Said said = RunWords("nodes", controller, {.writable = false});
  EXPECT_EQ(said.err, "fabricctl: cannot write to standard output\n");
  EXPECT_EQ(said.status, kExitError);
}

TEST(Failures, FromAfarCannotDriveTheTerminal) {
  FakeController controller;
  controller.failure = Status(Code::kNotFound, "no \x1b[2Jnode");
  EXPECT_EQ(RunWords("nodes", controller).err, "fabricctl: no  [2Jnode\n");
}

TEST(Colours, AreForTerminalsAndCanBeRefused) {
  FakeController controller;
  v1::NodeSummary& summary = *controller.Answer<v1::ListNodesResponse>().add_nodes();
  summary.set_name("n1");
  summary.set_state(v1::NODE_STATE_CONNECTED);
  const auto coloured = [](const Said& said) { return said.out.find('\x1b') != std::string::npos; };
  EXPECT_FALSE(coloured(RunWords("nodes", controller)));
  EXPECT_TRUE(coloured(RunWords("nodes", controller, {.colour = true})));
  EXPECT_FALSE(coloured(RunWords("nodes --no-color", controller, {.colour = true})));
  EXPECT_FALSE(coloured(RunWords("nodes -o json", controller, {.colour = true})));
}

TEST(Help, OfTheProgramAGroupAndACommand) {
  FakeController controller;
  EXPECT_TRUE(MatchesGolden("ctl/help", RunWords("--help", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/help_probe", RunWords("probe --help", controller).out));
  EXPECT_TRUE(MatchesGolden("ctl/help_matrix", RunWords("matrix -h", controller).out));
  EXPECT_EQ(RunWords("help matrix", controller).out, RunWords("matrix --help", controller).out);
  EXPECT_EQ(RunWords("help", controller).status, kExitOk);
}

// As a shell splits it.
std::vector<std::string> ShellWords(std::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : line) {
    if (quote == 0 && c == ' ') {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST(Help, EveryCommandHasASentenceAndTwoExamplesThatParse) {
  const std::vector<CommandSpec> specs = SpecsOf(AllCommands());
  for (const Command* command : AllCommands()) {
    EXPECT_TRUE(command->summary.ends_with(".")) << command->path;
    const std::vector<std::string_view> examples = Split(command->example, '\n');
    EXPECT_GE(examples.size(), 2u) << command->path;
    for (const std::string_view example : examples) {
      EXPECT_TRUE(example.starts_with("fabricctl ")) << example;
      const std::vector<std::string> kept = ShellWords(example.substr(0, example.find(" > ")));
      const std::vector<std::string_view> words(kept.begin() + 1, kept.end());
      const auto parsed = ParseCommandLine(Program(specs), words);
      ASSERT_TRUE(parsed.ok()) << example << ": " << parsed.status().message();
      EXPECT_EQ(parsed->command->path, command->path) << example;
    }
  }
}

// A number that is not given has a meaning: 0 and "set elsewhere" are none.
TEST(Help, SaysTheDefaultOfEveryNumber) {
  for (const CommandSpec& command : SpecsOf(AllCommands()))
    for (const Option& option : command.options) {
      const bool number = option.type == OptionType::kNumber ||
                          option.type == OptionType::kNumber64 ||
                          option.type == OptionType::kSize || option.type == OptionType::kDuration;
      if (!number || option.required || !option.fallback.empty()) continue;
      const bool said = option.doc.find("Default: ") != option.doc.npos ||
                        option.doc.find("Required without") != option.doc.npos;
      EXPECT_TRUE(said) << command.path << " --" << option.name << ": " << option.doc;
      EXPECT_EQ(option.doc.find("set by the agent"), option.doc.npos) << option.name;
    }
}

TEST(Help, SaysTheDefaultsOfTheKinds) {
  FakeController controller;
  const Said said = RunWords("probe run --help", controller);
  std::string help;
  for (const std::string_view word : Words(said.out))
    help.append(help.empty() ? "" : " ").append(word);
  EXPECT_NE(help.find("Messages per probe. Default: 1000; 200 for gpu_memory."), help.npos) << help;
  EXPECT_NE(help.find("Interval between pings. Default: 1ms."), help.npos) << help;
  EXPECT_NE(help.find("8M. Default: 64KiB; 8 for rc_write_latency, rc_read_latency, "
                      "rc_send_latency; 64 for ud_ping; 1MiB for gpu_memory."),
            help.npos)
      << help;
}

TEST(Reference, PageIsCurrent) {
  const auto path = std::filesystem::path(testing::kSourceDir) / "docs/reference/CLI.md";
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_TRUE(page.str() == ReferencePage(AllCommands()))
      << path << " is stale; write it again: fabricctl reference > docs/reference/CLI.md";
}

}  // namespace
}  // namespace fabric::ctl
