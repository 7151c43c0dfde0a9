// Loads files of custom rules.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/custom/rule_file.h"

namespace fabric {

// Reads a file, or all *.yaml and *.yml of a directory in the order of their names; an empty path
// gives none. Problems in a file are in its RuleFile. Fails when the path cannot be read.
Result<std::vector<custom::RuleFile>> ReadRuleFiles(const std::string& path);

}  // namespace fabric
