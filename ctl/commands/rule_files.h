// What "rules check" and "rules test" share: reading files of custom rules.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <string>
#include <vector>

#include "ctl/command.h"
#include "daemon/custom/rule_file.h"

namespace fabric::ctl {

struct RuleFiles {
  std::vector<custom::RuleFile> files;  // One for each path; what cannot be read is a problem of it
  std::string problems;                 // A line for each, "FILE:LINE:COLUMN: what is wrong"
};

// Ids must differ from those of the built-in rules and of the files before.
RuleFiles LoadRuleFiles(const std::vector<std::string>& paths);

// {"file": ..., "rules": [ids], "problems": [{"line", "column", "message"}]}
google::protobuf::Struct Described(const custom::RuleFile& file);

}  // namespace fabric::ctl
