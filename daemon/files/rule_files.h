// Reader of custom rule files.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/custom/rule_file.h"

namespace fabric {

// Loads a file, or all *.yaml and *.yml of a directory, sorted by name. An empty path gives no
// files. Problems in a file are in its RuleFile. Fails when the path or a file cannot be read.
Result<std::vector<custom::RuleFile>> ReadRuleFiles(const std::string& path);

}  // namespace fabric
