// A file of rules and of their tests. docs/CUSTOM_RULES.md says what stands in it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/custom/rule.h"

namespace fabric::custom {

inline constexpr std::size_t kRulesMax = 500;  // Of one file

struct Expectation {
  std::string rule;
  std::string subject;                            // As TargetName() writes it
  v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;  // UNSPECIFIED: does not apply
};

struct RuleTest {
  std::string name;
  Place place;
  std::string file;                // The snapshot's, as written; empty: it stands in the test
  v1::NodeSnapshot snapshot;       // Then this
  std::vector<std::string> rules;  // That are judged: those that the expectations name
  std::vector<Expectation> expectations;
};

struct RuleFile {
  std::string name;
  std::vector<Rule> rules;        // The good ones, in the file's order
  std::vector<RuleTest> tests;    // The good ones of good rules
  std::vector<Problem> problems;  // By line
};

// Every rule that can be loaded is, whatever is wrong with the others. `taken`: ids that may not be
// used, those of the built-in rules and of other files. `file` stands in messages.
RuleFile LoadRules(std::string_view yaml, std::string_view file,
                   std::span<const std::string_view> taken);

struct TestResult {
  const RuleTest* test = nullptr;
  std::vector<std::string> failures;  // One line each; none: passed
};
// The snapshot that a test names, by what is written there.
using SnapshotReader = std::function<Result<v1::NodeSnapshot>(const std::string& file)>;

// Each expectation must hold; a subject that no expectation names must neither fail nor be unknown.
std::vector<TestResult> RunTests(const RuleFile& file, const SnapshotReader& read);

}  // namespace fabric::custom
