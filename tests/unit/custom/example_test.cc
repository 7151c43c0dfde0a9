// The shipped example loads, and its tests pass.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "daemon/custom/rule_file.h"
#include "proto/json.h"
#include "tests/testing/paths.h"

namespace fabric::custom {
namespace {

std::string Read(const std::string& name) {
  std::ifstream in(std::string(testing::kSourceDir) + "/deploy/rules/" + name);
  EXPECT_TRUE(in.good()) << name;
  return (std::ostringstream() << in.rdbuf()).str();
}

TEST(Example, ItsTestsPass) {
  const RuleFile file = LoadRules(Read("example.yaml"), "example.yaml", {});
  for (const yaml::Problem& problem : file.problems) ADD_FAILURE() << ToString(problem);
  const auto results = RunTests(file, [](const std::string& name) -> Result<v1::NodeSnapshot> {
    v1::NodeSnapshot node;
    RETURN_IF_ERROR(FromJson(Read(name), node));
    return node;
  });
  EXPECT_GE(results.size(), 5U);
  for (const TestResult& result : results)
    for (const std::string& failure : result.failures)
      ADD_FAILURE() << result.test->name << ": " << failure;
  for (const Rule& rule : file.rules) {
    bool tested = false;
    for (const RuleTest& test : file.tests)
      for (const std::string& id : test.rules) tested = tested || id == rule.id;
    EXPECT_TRUE(tested) << rule.id;
  }
}

}  // namespace
}  // namespace fabric::custom
