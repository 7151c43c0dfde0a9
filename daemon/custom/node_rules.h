// Adapter: operators' rules as rules of the engine. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/custom/rule_file.h"
#include "daemon/rules/rule.h"

namespace fabric::custom {

// Copies of the valid rules of the files. A copy of a rule with `for` has its own history.
std::vector<rules::NodeRule> NodeRules(std::span<const RuleFile> files);

std::vector<v1::RuleInfo> Infos(std::span<const RuleFile> files);

// Ids of shipped rules and of checks of InfiniBand subnets, which custom rules cannot take.
std::vector<std::string_view> ShippedRuleIds();

// Loads files in order. Rule ids must differ from those of built-in rules and of earlier files.
struct RuleText {
  std::string name;
  std::string text;
};
std::vector<RuleFile> LoadAll(std::span<const RuleText> texts);

}  // namespace fabric::custom
