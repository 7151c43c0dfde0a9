// Inputs of rules are names of inspectors, in a list of constants.
#include "daemon/rules/inputs.h"

#include <gtest/gtest.h>

#include <set>

#include "agents/inspect/inspector.h"

namespace fabric::rules {
namespace {

TEST(RuleInputs, AreNamesOfInspectors) {
  std::set<std::string_view> names = {"any inspector", "counters", "job_view"};
  for (const inspect::Inspector* inspector : inspect::AllInspectors())
    names.insert(inspector->name);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::string_view name = InputName(static_cast<Input>(i));
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(RuleInputs, KeepTheirOrder) {
  constexpr ConstantList<Input> kList = {Input::kLldp, Input::kDcb};
  EXPECT_EQ(*kList.begin(), Input::kLldp);
  EXPECT_EQ(kList.end() - kList.begin(), 2);
  EXPECT_TRUE(kList.contains(Input::kDcb));
  EXPECT_FALSE(kList.contains(Input::kGids));
  EXPECT_TRUE(ConstantList<Input>().empty());
}

}  // namespace
}  // namespace fabric::rules
