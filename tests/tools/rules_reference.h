// docs/reference/RULES.md, made of the catalog of rules.
#pragma once

#include <string>

namespace fabric::rules {

std::string RulesReference();

}  // namespace fabric::rules
