// Operators' rules as the engine takes them, beside the built-in ones. Pure.
#pragma once

#include <span>
#include <vector>

#include "daemon/custom/rule_file.h"
#include "daemon/rules/rule.h"

namespace fabric::custom {

// The good rules of the files, which are borrowed: they must outlive what is made of them, and stay
// where they are.
std::vector<rules::NodeRule> NodeRules(std::span<const RuleFile> files);

std::vector<v1::RuleInfo> Infos(std::span<const RuleFile> files);

// Loads files in their order: (name, text). Ids must differ from those of the built-in rules and of
// the files before.
struct RuleText {
  std::string name;
  std::string text;
};
std::vector<RuleFile> LoadAll(std::span<const RuleText> texts);

}  // namespace fabric::custom
