// Parser of rule files (format: docs/CUSTOM_RULES.md) and runner of their tests.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/custom/rule.h"

namespace fabric::custom {

inline constexpr std::size_t kFileBytesMax = yaml::Limits().bytes;
inline constexpr std::size_t kRulesMax = 500;  // Per file

struct Expectation {
  std::string rule;
  std::string subject;                            // As TargetName() writes it
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;  // UNSPECIFIED: does not apply
};

struct RuleTest {
  std::string name;
  yaml::Position position;
  std::string file;           // Snapshot file, as written; empty: the snapshot is in the test
  v1::NodeSnapshot snapshot;  // Used if `file` is empty
  // Snapshot of the same node before, at least 10 s earlier: for rate() and delta().
  std::optional<v1::NodeSnapshot> before;
  std::vector<std::string> rules;  // Rules to evaluate: those that the expectations name
  std::vector<Expectation> expectations;
};

struct RuleFile {
  std::string name;
  std::vector<Rule> rules;              // Valid rules, in the order of the file
  std::vector<RuleTest> tests;          // Valid tests of valid rules
  std::vector<yaml::Problem> problems;  // By line
};

// Loads all valid rules, and reports the problems of the others. `taken`: ids in use by built-in
// rules and other files. `file`: name for messages.
RuleFile LoadRules(std::string_view yaml, std::string_view file,
                   std::span<const std::string_view> taken);

struct TestResult {
  const RuleTest* test = nullptr;
  std::vector<std::string> failures;  // One line each; none: passed
};
// Reads the snapshot that a test names.
using SnapshotReader = std::function<Result<v1::NodeSnapshot>(const std::string& file)>;

// A test passes if each expectation holds and no other subject is FAIL or UNKNOWN.
std::vector<TestResult> RunTests(const RuleFile& file, const SnapshotReader& read);

}  // namespace fabric::custom
