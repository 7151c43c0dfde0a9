#include "base/input.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/commands/rule_files.h"
#include "ctl/tables/cells.h"
#include "proto/json.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kSnapshotBytesMax = 64 << 20;

constexpr Option kRulesTestOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "File of custom rules with tests; - is standard input.",
     .required = true,
     .repeated = true},
};

// A path in a file of rules is relative to the directory of the file.
std::string PathFrom(const std::string& file, const std::string& named) {
  const std::size_t slash = file.rfind('/');
  if (named.starts_with("/") || slash == std::string::npos) return named;
  return file.substr(0, slash + 1) + named;
}

Result<v1::NodeSnapshot> ReadSnapshot(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kSnapshotBytesMax));
  v1::NodeSnapshot snapshot;
  RETURN_IF_ERROR(FromJson(text, snapshot).In(path));
  return snapshot;
}

// Runs the tests of a file; adds a row and an entry of `tests` for each. False if one failed.
bool RunFile(const custom::RuleFile& file, Output& output, google::protobuf::ListValue& tests) {
  bool passed = true;
  const auto results = RunTests(
      file, [&](const std::string& named) { return ReadSnapshot(PathFrom(file.name, named)); });
  for (const custom::TestResult& result : results) {
    const bool ok = result.failures.empty();
    passed = passed && ok;
    output.tables[0].rows.push_back({Cell(result.test->name), ok ? "passed" : "FAILED",
                                     Format("{}:{}", file.name, result.test->position.line)});
    output.names.push_back(result.test->name);
    auto& entry = *tests.add_values()->mutable_struct_value()->mutable_fields();
    entry["name"].set_string_value(result.test->name);
    entry["passed"].set_bool_value(ok);
    auto& failures = *entry["failures"].mutable_list_value();
    for (const std::string& failure : result.failures) {
      failures.add_values()->set_string_value(failure);
      output.after += Format("{}:{}: {}: {}\n", file.name, result.test->position.line,
                             result.test->name, failure);
    }
  }
  return passed;
}

Result<Output> RunRulesTest(Client&, const Arguments& arguments, Stream&) {
  const RuleFiles loaded = LoadRuleFiles(arguments.All("FILE"));
  Output output;
  output.before = loaded.problems;
  output.tables.push_back({.columns = {{.title = "TEST"}, {.title = "RESULT"}, {.title = "WHERE"}},
                           .empty_note = "No tests."});
  auto message = std::make_unique<google::protobuf::Struct>();
  auto& files = *(*message->mutable_fields())["files"].mutable_list_value();
  bool passed = true;
  for (const custom::RuleFile& file : loaded.files) {
    auto& described = *files.add_values()->mutable_struct_value();
    described = Described(file);
    auto& tests = *(*described.mutable_fields())["tests"].mutable_list_value();
    passed = RunFile(file, output, tests) && passed;
  }
  output.message = std::move(message);
  output.exit_status = !loaded.problems.empty() ? kExitUsage : passed ? kExitOk : kExitFindings;
  return output;
}

}  // namespace

extern const Command rules_test = {
    .path = "rules test",
    .summary = "Run the tests in files of custom rules.",
    .description =
        "Each test evaluates a rule on a snapshot and compares the verdicts with the expected "
        "ones. Snapshots are the output of `fabric-agent inspect -o json`. Exits with 1 if a test "
        "fails, and with 2 if a file has an error; the tests of valid rules still run. Works "
        "without a controller.",
    .example =
        "fabricctl rules test site.yaml\n"
        "fabricctl rules test - -o json",
    .options = kRulesTestOptions,
    .run = RunRulesTest,
    .offline = true,
};

}  // namespace fabric::ctl
