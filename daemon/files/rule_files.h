// Files of operators' rules, as fabricd finds them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/custom/rule_file.h"

namespace fabric {

// A file, or all of *.yaml and *.yml in a folder, by name; without a path none. What is wrong in
// them is in their problems. Fails when the path or a file in the folder cannot be read.
Result<std::vector<custom::RuleFile>> ReadRuleFiles(const std::string& path);

}  // namespace fabric
