// Runner of the tests in rule files.
#include <algorithm>

#include "base/text.h"
#include "daemon/custom/rule_file.h"

namespace fabric::custom {
namespace {

std::string_view Word(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    case v1::VERDICT_UNKNOWN: return "unknown";
    default: return "none";
  }
}

void JudgeTarget(const Rule& rule, const RuleTest& test, const v1::NodeSnapshot& node,
                 const Past& past, const Target& target, std::vector<std::string>& failures) {
  const std::string name = TargetName(target);
  const auto expectation =
      std::find_if(test.expectations.begin(), test.expectations.end(),
                   [&](const Expectation& e) { return e.rule == rule.id && e.subject == name; });
  const Judgement judgement = Judge(rule, node, target, past);
  const std::string said =
      judgement.finding ? Format(" ({})", judgement.finding->title()) : std::string();
  if (expectation != test.expectations.end()) {
    if (expectation->verdict != judgement.verdict)
      failures.push_back(Format("{} on {}: expected {}, saw {}{}", rule.id, name,
                                Word(expectation->verdict), Word(judgement.verdict), said));
  } else if (judgement.finding) {
    failures.push_back(Format("{} on {}: {}, which the test does not expect{}", rule.id, name,
                              Word(judgement.verdict), said));
  }
}

TestResult RunTest(const RuleFile& file, const RuleTest& test, const SnapshotReader& read) {
  TestResult result{.test = &test, .failures = {}};
  v1::NodeSnapshot from_file;
  if (!test.file.empty()) {
    auto loaded = read(test.file);
    if (!loaded.ok()) {
      result.failures.push_back(loaded.status().message());
      return result;
    }
    from_file = *std::move(loaded);
  }
  const v1::NodeSnapshot& node = test.file.empty() ? test.snapshot : from_file;
  const fleet::CounterRates rates =
      test.before ? fleet::CounterRates::Between(*test.before, node) : fleet::CounterRates();
  for (const Rule& rule : file.rules) {
    if (!std::binary_search(test.rules.begin(), test.rules.end(), rule.id)) continue;
    History history;
    if (test.before) (void)Evaluate(rule, *test.before, {.rates = nullptr, .history = &history});
    const std::vector<Target> targets = Targets(rule.scope, node);
    for (const Target& target : targets)
      JudgeTarget(rule, test, node, {.rates = &rates, .history = &history}, target,
                  result.failures);
    for (const Expectation& expectation : test.expectations) {
      const bool there = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
        return TargetName(target) == expectation.subject;
      });
      if (expectation.rule == rule.id && !there)
        result.failures.push_back(
            Format("{}: the snapshot has no {}", rule.id, Quoted(expectation.subject)));
    }
  }
  return result;
}

}  // namespace

std::vector<TestResult> RunTests(const RuleFile& file, const SnapshotReader& read) {
  std::vector<TestResult> results;
  for (const RuleTest& test : file.tests) results.push_back(RunTest(file, test, read));
  return results;
}

}  // namespace fabric::custom
